package broker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// An agent is a process of the job's user, or of whoever rules over a cluster: it
// may send anything.
func TestAnInvalidMessageFailsItsJobAndNothingElse(t *testing.T) {
	for name, m := range map[string]wire.Message{
		"CPU time beyond a sum": {Kind: wire.Lost, State: &wire.Vitals{CPU: 1.7e308}},
		"host that is a path":   {Kind: wire.Running, Method: "restart", Hosts: []string{"/../../.bashrc"}},
		"negative offset":       {Kind: wire.Output, Stream: 1, Offset: -5, Data: []byte("x")},
		"stream that is none":   {Kind: wire.Output, Stream: 7, Data: []byte("x")},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGrid(t)
			other := g.submit(jobfile.Job{})
			o := g.next()
			o.run()
			bad := g.submit(jobfile.Job{})
			a := g.next()
			a.run()
			a.say(m)
			if v := g.until(bad, core.Failed); !strings.Contains(v.Reason, "invalid message") || len(v.Hosts) > 0 &&
				strings.Contains(v.Hosts[0], "/") {
				t.Errorf("it failed because %q, on %q", v.Reason, v.Hosts)
			}
			o.end(0)
			g.until(other, core.Done)
		})
	}
}

func TestAnInvalidStatusIsPassedOver(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	a.mu.Lock()
	a.write(wire.Message{Kind: wire.Status, State: &wire.Vitals{CPU: 1.7e308, Chance: -1}})
	a.mu.Unlock()
	a.end(0)
	if v := g.until(id, core.Done); v.CPU != 1 {
		t.Errorf("it used %g s", v.CPU)
	}
}

// Whatever the error is: no descriptors, no permission, a folder that is a file.
func TestOutputThatCannotBeWrittenIsKeptByTheAgent(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	a.untilAcknowledged(t) // or the acknowledgement of the start is lost with the connection
	dir := filepath.Join(g.state, "logs", fmt.Sprint(id))
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.say(wire.Message{Kind: wire.Output, Stream: 1, Data: []byte("precious")})
	a.untilCut(t)
	if a.unacknowledged() != 1 {
		t.Fatalf("%d messages are not acknowledged, want the output", a.unacknowledged())
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	a.connect()
	a.end(0)
	g.until(id, core.Done)
	if got := g.logs(id); got != "precious" {
		t.Errorf("it wrote %q", got)
	}
}

func TestNotesOfAnAgentAreBounded(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	for range 3000 {
		a.say(wire.Message{Kind: wire.Note, Entry: &wire.Entry{Kind: "flood", Choice: "x", Why: strings.Repeat("y", 100)}})
	}
	a.end(0)
	g.until(id, core.Done)
	if n := len(g.explained(id, "flood")); n != 1000 {
		t.Errorf("%d notes are kept", n)
	}
}

func TestReportsOfAnAgentAreExplainedUpToALimit(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	for range 12_000 {
		a.say(wire.Message{Kind: wire.NotSaved, Why: "no room"})
	}
	a.end(0)
	g.until(id, core.Done)
	if n := len(g.explained(id, "checkpoint")) + len(g.explained(id, "start")); n != 10_000 {
		t.Errorf("%d reports are explained", n)
	}
}

// Only a program that was to leave can stay on.
func TestAnAgentThatSaysUnaskedThatItsProgramStaysChangesNothing(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{})
	a := g.next()
	a.run()
	before := g.until(id, core.Running).Reason
	a.say(wire.Message{Kind: wire.StaysOn, Why: "as I like"})
	a.untilAcknowledged(t)
	if v := g.view(id); v.Reason != before || len(g.explained(id, "stay")) > 0 {
		t.Errorf("the job is %s (%s): %+v", v.State, v.Reason, g.explained(id, "stay"))
	}
}

func (a *attempt) unacknowledged() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.sent)
}

// untilAcknowledged waits until the broker has acknowledged everything that was said.
func (a *attempt) untilAcknowledged(t *testing.T) {
	t.Helper()
	waitUntil(t, func() bool { return a.unacknowledged() == 0 },
		func() string { return "the broker does not acknowledge what the agent said" })
}

// untilCut waits until the broker has ended the connection.
func (a *attempt) untilCut(t *testing.T) {
	t.Helper()
	a.mu.Lock()
	conn := a.conn
	a.mu.Unlock()
	waitUntil(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		_, err := conn.Write(nil)
		return err != nil
	}, func() string { return "the broker does not end the connection" })
}
