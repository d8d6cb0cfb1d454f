package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

func TestAPlanIsReadWithEverythingItCanSay(t *testing.T) {
	p, err := ReadPlan("x/full.yaml", []byte(`
name: full
users: [alice, bob]
network: {wan: {mbps: 100, ms: 2.5}}
head: {cpus: 1.5, mbps: 900}
clusters:
  - {name: north, manager: slurm, hosts: 2, cores: 4, cpus: 0.25, mbps: 400, memory: 1G, head: {cpus: 0.5}, wan: {ms: 20}}
  - {name: east, cores: 8, keep_free: 5, grow_free: 3}
`))
	if err != nil {
		t.Fatal(err)
	}
	n, e := p.Clusters[0], p.Clusters[1]
	if p.Name != "full" || p.WAN != (Link{100, 2500 * time.Microsecond}) || p.Head.CPUs != 1.5 ||
		n.Manager != "slurm" || n.Cores != 4 || n.Host != (HostPlan{0.25, 400, 1 << 30}) || n.Head.CPUs != 0.5 ||
		n.WAN != (Link{100, 20 * time.Millisecond}) ||
		e.Manager != None || e.Hosts != 1 || e.Cores != 8 || e.Share != (Share{5, 3}) || e.WAN != p.WAN {
		t.Errorf("read as %+v", p)
	}
	if names := strings.Join(p.hostNames(), " "); names != "head north0 north1 north2 east1" || p.TotalHosts() != 5 {
		t.Errorf("%d hosts: %s", p.TotalHosts(), names)
	}
	if p, err := ReadPlan("x/by-file.yaml", []byte("clusters: [{name: a}]")); err != nil || p.Name != "by-file" ||
		p.Clusters[0].Cores != 1 {
		t.Errorf("a plan without a name: %v, %v", p, err)
	}
}

func TestAMistakeInAPlanIsToldWithItsLine(t *testing.T) {
	for plan, want := range map[string]string{
		"":                                    "empty",
		"name: a":                             "clusters",
		"clusters: [{}]":                      "name",
		"clusters: [{name: a1}]":              "does not end in a digit",
		"clusters: [{name: A}]":               "small letters",
		"clusters: [{name: a}, {name: a}]":    "a1",
		"clusters: [{name: a, hosts: 65}]":    "64",
		"clusters: [{name: a, hosts: 64}]":    "65",
		"clusters: [{name: a, cpus: 0.01}]":   "0.05",
		"clusters: [{name: a, head: {}}]":     "only with a manager",
		"clusters: [{name: a, speed: 3}]":     "speed",
		"clusters: [{name: a, keep_free: 1}]": "fewer than the 1 cores of a host",
		"clusters: [{name: a, cores: 4, keep_free: 2, grow_free: 3}]": "at most the 2 cores that keep_free leaves",
		"clusters: [{name: a, manager: slurm, grow_free: 0}]":         "only for plain machines",
		"users: [root]\nclusters: []":                                 "not root",
		"users: [a, a]\nclusters: []":                                 "each user once",
		"users: [a b]\nclusters: []":                                  "small letters",
		"name: ../x\nclusters: []":                                    "small letters",
		"network: {wan: {ms: -1}}":                                    "number",
		"network: {lan: {}}":                                          "lan",
		"clusters: [{name: a, memory: 1K}]":                           "bytes",
		"clusters: [{name: a, wan: {ms: x}}]":                         "number",
		"clusters:\n - name: head\n - name: a\n   hosts: 0\n":         "p.yaml:4",
	} {
		_, err := ReadPlan("p.yaml", []byte(plan))
		if err == nil || !badinput.Is(err) || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "p.yaml") {
			t.Errorf("%q: %v, want something with %q", plan, err, want)
		}
	}
}

const played = `
plan: {name: x, users: [alice], clusters: [{name: north, hosts: 2, cpus: 0.5}, {name: south, cpus: 0.2}]}
steps:
  - {at: 200ms, do: cut south}
  - {at: 100ms, on: north1, as: alice, check: echo hello > f && cat f, says: hello}
  - {at: 100ms, on: north2, as: alice, run: cat f; echo no newline | tr -d '\n'}
  - {on: north1, run: while sleep 0.05; do echo tick; done, stays: true}
  - {at: 250ms, on: south1, check: "false", within: 300ms}
  - {at: 300ms, do: load north1 1}
  - {at: 300ms, on: head, run: sleep 1000, within: 200ms}
  - {at: 300ms, on: head, run: exit 4}
`

func TestMistakesInAScenarioAreToldWithTheirLines(t *testing.T) {
	if s, err := ReadScenario("s.yaml", []byte(played)); err != nil || len(s.Steps) != 8 || s.Steps[0].Run == "" ||
		s.Steps[3].String() != "cut south" {
		t.Fatalf("%+v, %v", s, err)
	}
	plan := "plan: {name: x, users: [alice], clusters: [{name: a}]}\n"
	for text, want := range map[string]string{
		"steps: []":                                       "plan",
		"plan: nowhere.yaml\nsteps: []":                   "nowhere.yaml",
		"plan: {clusters: [{name: a1}]}\nsteps: []":       "digit",
		plan + "policy: [egs]\nsteps: []":                 "policy",
		plan + "policy: {place: [wf]}\nsteps: []":         "its value",
		plan + "steps: [{}]":                              "one of do, run and check",
		plan + "steps: [{run: a, check: b}]":              "one of do, run and check",
		plan + "steps: [{do: dance a1}]":                  "dance",
		plan + "steps: [{do: load a1}]":                   "load HOST LOOPS",
		plan + "steps: [{do: load b1 2}]":                 "b1",
		plan + "steps: [{do: load a1 -1}]":                "-1",
		plan + "before: [load b1 2]\nsteps: [{run: x}]":   "b1",
		plan + "before: load a1 2\nsteps: [{run: x}]":     "before",
		plan + "steps: [{do: wan b 1 1}]":                 "wan SITE MBPS [MS]",
		plan + "steps: [{do: load a1 1, on: a1}]":         "only with run and check",
		plan + "steps: [{run: x, on: b1}]":                "b1",
		plan + "steps: [{run: x, as: bob}]":               "bob",
		plan + "steps: [{run: x, says: y}]":               "only with check",
		plan + "steps: [{check: x, stays: true}]":         "only with run",
		plan + "steps:\n - {run: x}\n - {at: -1, run: x}": "s.yaml:4",
	} {
		_, err := ReadScenario("s.yaml", []byte(text))
		if err == nil || !badinput.Is(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want something with %q", text, err, want)
		}
	}
}

func TestTheScenariosThatComeWithItAreSound(t *testing.T) {
	files, err := filepath.Glob("../../scenarios/lab/*.yaml")
	more, err2 := filepath.Glob("../../scenarios/node-selection/*.yaml")
	if err != nil || err2 != nil || len(files) == 0 || len(more) == 0 {
		t.Fatal("no files", err, err2)
	}
	files = append(files, more...)
	for _, path := range files {
		data, err := os.ReadFile(path)
		must(t, err)
		if strings.Contains(string(data), "\nsteps:") {
			_, err = LoadScenario(path)
		} else {
			_, err = LoadPlan(path)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("name: a\nhead: {cpus: 1}\nclusters: [{name: a, manager: slurm, hosts: 3, head: {memory: 1G}, wan: " +
		"{ms: 1}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPlan("fuzz.yaml", data)
		if err != nil {
			if !badinput.Is(err) {
				t.Fatal(err)
			}
			return
		}
		if err := p.checkPlan(); err != nil {
			t.Fatalf("what was read cannot be made: %v", err)
		}
		l := draftLab(p)
		seen := map[string]bool{}
		for h := range l.eachHost {
			if seen[h.Name] || seen[h.Address.String()] || h.Index > 255 {
				t.Fatalf("two hosts have the name %s or the address %s", h.Name, h.Address)
			}
			seen[h.Name], seen[h.Address.String()] = true, true
		}
	})
}

func FuzzScenario(f *testing.F) {
	f.Add([]byte(played))
	f.Add([]byte("plan: {name: x, clusters: [{name: a, hosts: 2}]}\nbefore: [pair a1 a2 9]\nsteps: [{run: x}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadScenario("fuzz.yaml", data)
		if err != nil {
			if !badinput.Is(err) {
				t.Fatal(err)
			}
			return
		}
		for _, words := range s.Before {
			if findVerb(words[0]) == nil {
				t.Fatalf("before: %v", words)
			}
		}
		for i := range s.Steps {
			if st := &s.Steps[i]; st.Do != nil && findVerb(st.Do[0]) == nil || st.String() == "" || i > 0 &&
				st.At < s.Steps[i-1].At {
				t.Fatalf("step %d: %+v", i, st)
			}
		}
	})
}
