package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
)

func TestWhatAgentsSendPassesTheCheck(t *testing.T) {
	for _, m := range []Message{fullMessage(), {Kind: Status, State: &Vitals{Chance: -1, Done: -1}},
		{Kind: Running, Method: "sandbox", Hosts: []string{"node-01.cluster.example", "10.0.0.7", "[fe80::1%eth0]", "n_1"}},
		{Kind: Ended, Code: 137, Result: strings.Repeat("ab", 32)}} {
		if err := m.CheckFields(); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

func TestMessagesOutOfBoundsAreRefused(t *testing.T) {
	for name, m := range map[string]Message{
		"CPU time that overflows a sum": {Kind: Lost, State: &Vitals{CPU: 1.7e308}},
		"not a number":                  {Kind: Status, State: &Vitals{Used: math.NaN()}},
		"negative offset":               {Kind: Output, Stream: 1, Offset: -1},
		"no stream":                     {Kind: Output, Data: []byte("x")},
		"host with a slash":             {Kind: Running, Hosts: []string{"/../../../.bashrc"}},
		"host of dots":                  {Kind: Running, Hosts: []string{".."}},
		"path as method":                {Kind: Running, Method: "a/b"},
		"tree that is a path":           {Kind: Ended, Result: "../x"},
		"negative checkpoint":           {Kind: Checkpoint, Saved: &Saved{Out: -1}},
		"duration before zero":          {Kind: Ended, Carried: Carried{Took: -1}},
		"inputs without end": {Kind: Note,
			Entry: &Entry{Inputs: map[string]any{"x": strings.Repeat("y", maxInputs)}}},
		"quantile beyond reason": {Kind: Ask, State: &Vitals{Left: []float64{1e300}}},
	} {
		if err := m.CheckFields(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	m := Message{Kind: Note, Why: strings.Repeat("ä", maxTextBytes), Entry: &Entry{Why: strings.Repeat("x", 4<<20)}}
	if err := m.CheckFields(); err != nil {
		t.Fatal(err)
	}
	if len(m.Why) > maxTextBytes || len(m.Entry.Why) > maxTextBytes || !strings.HasSuffix(m.Why, "ä…") {
		t.Errorf("%d and %d bytes are left, ending in %q", len(m.Why), len(m.Entry.Why), m.Why[len(m.Why)-8:])
	}
}

// Whatever passes can be written as JSON, a hundred times over in one sum.
func FuzzCheck(f *testing.F) {
	frame, err := AppendFrame(nil, fullMessage())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame[4:])
	f.Add([]byte(`{"kind":"lost","state":{"cpu_s":1.7e308}}`))
	f.Add([]byte(`{"kind":"running","hosts":["/etc/passwd","..",""]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Message
		if json.NewDecoder(bytes.NewReader(data)).Decode(&m) != nil || m.CheckFields() != nil {
			return
		}
		for _, h := range m.Hosts {
			if strings.Contains(h, "/") || h == ".." {
				t.Fatalf("host %q passed", h)
			}
		}
		if v := m.State; v != nil {
			v.CPU, v.Wall = 100*v.CPU, 100*v.Wall
		}
		if _, err := json.Marshal(&m); err != nil {
			t.Fatal(err)
		}
	})
}

func TestVersionsOfTheLastReleaseAreUnderstoodAndOthersNot(t *testing.T) {
	for version, want := range map[int]string{0: "", OldestVersion: "", Version: "",
		Version + 1: "the agent (release v9) speaks version 3 of the protocol and is too new for this broker, which speaks " +
			"versions 1 to 2"} {
		m := Message{Kind: Hello, Version: version, Release: "v9"}
		err := m.CheckVersion()
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("version %d: %v", version, err)
		}
	}
	for _, m := range []Message{{Kind: Hello, Version: -1}, {Kind: Hello, Version: 1 << 30},
		{Kind: Hello, Release: "a/b"}} {
		if m.CheckFields() == nil {
			t.Errorf("%+v passes", m)
		}
	}
}

func TestWhatPartsTellOfThemselvesIsChecked(t *testing.T) {
	where := func(address string) *rendezvous.Rendezvous {
		return &rendezvous.Rendezvous{Addresses: []string{address}, Certificate: strings.Repeat("ab", 32),
			Token: strings.Repeat("cd", 32)}
	}
	ready := func(m Message) Message {
		m.Kind, m.Hosts = Ready, []string{"n1", "n2"}
		return m
	}
	for _, c := range []struct {
		m     Message
		sound bool
	}{
		{ready(Message{Slots: []int{2, 2}, Meet: where("192.0.2.1:4711")}), true},
		{ready(Message{Meet: where("[2001:db8::1]:4711")}), true},
		{ready(Message{Slots: []int{2, 2, 2}}), false},
		{ready(Message{Slots: []int{0}}), false},
		{ready(Message{Meet: where("no address")}), false},
		{ready(Message{Meet: where("$(id):80")}), false},
		{ready(Message{Meet: &rendezvous.Rendezvous{Addresses: []string{"192.0.2.1:1"}}}), false},
		{ready(Message{Meet: &rendezvous.Rendezvous{Addresses: make([]string, 5000), Certificate: strings.Repeat("ab", 32),
			Token: strings.Repeat("cd", 32)}}), false},
		{Message{Kind: Lost, Cause: Unreachable, Peer: 1}, true},
		{Message{Kind: Lost, Cause: Unreachable, Peer: -1}, false},
		{Message{Kind: Lost, Cause: Unreachable, Peer: MaxParts}, false},
	} {
		if err := c.m.CheckFields(); (err == nil) != c.sound {
			t.Errorf("%+v: %v", c.m, err)
		}
	}
}
