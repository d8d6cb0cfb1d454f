package scenario_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/scenario"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

const two = `
clusters:
  - {name: vu, hosts: 8, keep_free: 1}
  - {name: delft, hosts: 4, cores: 2, grow_free: 2}
  - {name: leiden, hosts: 2}
links:
  - {a: vu, b: delft, mbps: 100, ms: 1}
  - {a: delft, b: leiden, mbps: 50, ms: 1}
files:
  - {name: sky.dat, size: 1G, at: [vu]}
  - {name: engine.db, size: 2G, at: [delft]}
`

func grid(t testing.TB) *platform.Platform {
	t.Helper()
	p, err := platform.Parse("two.yaml", []byte(two))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text), grid(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func jobs(t testing.TB, s *scenario.Scenario, seed uint64) []workload.Job {
	t.Helper()
	source, _, err := s.OpenJobs(seed)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]workload.Job, source.Len())
	for i := range all {
		source.NextJob(&all[i])
	}
	return all
}

const full = `
name: everything
seed: 7
policy: {place: cf, approach: pwa, malleable: marginal, local: easy, max_tries: 9, scan_every: 10s,
  poll_every: 20, progress_every: 1m, shrink_grace: 1m30s, claim_margin: 5s}
keep_free: {delft: 3}
grow_free: {vu: 4}
workload:
  jobs: 10
  poisson: 1h
  apps:
    - {name: gadget2, share: 3, min: 2, max: 8, initial: 2, time: {2: 600, 4: 7m}, resize: 5s, inputs: [engine.db], clusters: [vu, delft]}
    - {name: ft, min: 2, max: 8, work: 240, speedup: "amdahl:0.1", accept: powers-of-two, rigid_size: 4}
    - name: both
      work: 1h
      speedup: linear
      components:
        - {min: 1, max: 2, inputs: [sky.dat]}
        - {min: 2, max: 4, initial: 3, clusters: [delft]}
      rigid_size: 2
  kinds: {malleable: 2, moldable: 1, rigid: 1}
  rigid_size: 2
  scale: {lognormal: 0.5}
  estimate: [1, 3]
  deadline: 2.5
  place: fcm
  retries: 2
background:
  - {cluster: vu, every: 5m, procs: [1, 4], run: [10m, 1h], from: 1h, until: 1d}
  - {cluster: leiden, poisson: 300, procs: 2, run: 60}
failures:
  - {cluster: vu, hosts: [vu3, vu1], at: 1h, for: 30m}
  - {cluster: delft, mtbf: 200h, repair: 2h}
links:
  - {a: leiden, b: delft, at: 3h, mbps: 20}
  - {a: vu, b: delft, at: 1h, mbps: 10, for: 1h}
drains:
  - {cluster: vu, at: 2h, for: 1h}
  - {cluster: delft, at: 90m}
  - {cluster: vu, at: 1h, for: 1h}
expect: anything
`

func TestEveryFieldOfAScenarioIsRead(t *testing.T) {
	s := parse(t, full)
	if want := (scenario.Policy{
		Place: core.CloseToFiles, Approach: "pwa", Malleable: "marginal", Local: "easy", MaxTries: 9,
		ScanEvery: 10 * time.Second, PollEvery: 20 * time.Second, ProgressEvery: time.Minute,
		ShrinkGrace: 90 * time.Second, ClaimMargin: 5 * time.Second,
	}); s.Policy != want {
		t.Errorf("policy %+v, want %+v", s.Policy, want)
	}
	if got := fmt.Sprint(s.Name, " ", s.Seed, s.KeepFree, s.GrowFree,
		s.Expect); got != "everything 7 [1 3 0] [4 2 0] [anything]" {
		t.Error(got)
	}
	w := s.Workload
	if got := fmt.Sprintf("%d %v %v %v %v %v %v %d", w.Jobs, w.Arrivals, w.Kinds, w.Scale, w.Estimate, w.Deadline, w.Place,
		w.Retries); got !=
		"10 {0s 1h0m0s} {2 1 1} {{0 0} 0.5} {1 3} {2.5 2.5} fcm 2" {
		t.Error(got)
	}
	var programs []string
	for _, p := range w.Programs {
		programs = append(programs, fmt.Sprint(p.App.Name, " ", p.App.Speedup, " ", p.App.Accept, " ", p.App.Resize, " ",
			p.Weight, " ", p.Work, " ", parts(p.Components), " ", p.RigidSize))
	}
	want := []string{
		"gadget2 table:2=600,4=420 any 5s 3 1200 [{2 8 2 [1] [0 1]}] 2",
		"ft amdahl:0.1 powers-of-two 0s 1 240 [{2 8 0 [] []}] 4",
		"both linear any 0s 1 3600 [{1 2 0 [0] []} {2 4 3 [] [1]}] 2",
	}
	if !reflect.DeepEqual(programs, want) {
		t.Errorf("programs\n%s\nwant\n%s", strings.Join(programs, "\n"), strings.Join(want, "\n"))
	}
	if got := fmt.Sprint(s.Background); got !=
		"[{0 {5m0s 0s} [1 4] [10m0s 1h0m0s] 3600000000000 86400000000000} {2 {0s 5m0s} [2 2] [1m0s 1m0s] 0 "+
			"9223372036854775807}]" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.Failures); got != "[{0 [2 0] 3600000000000 30m0s 0s 0s} {1 [0 1 2 3] 0 0s 200h0m0s 2h0m0s}]" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.Drains); got != "[{3600000000000 0 true} {5400000000000 1 true} {7200000000000 0 false} "+
		"{7200000000000 0 true} {10800000000000 0 false}]" {
		t.Error(got)
	}
	if len(jobs(t, s, s.Seed)) != 10 {
		t.Error("not ten jobs")
	}
}

func TestALinkChangesInBothDirectionsAndBackInTheOrderOfTime(t *testing.T) {
	s := parse(t, full)
	var got []string
	for _, l := range s.Links {
		got = append(got, fmt.Sprintf("%gh %s %g", l.At.Seconds()/3600, s.Platform.Links[l.Link].Name, l.Mbps))
	}
	want := "1h vu>delft 10, 1h delft>vu 10, 2h vu>delft 100, 2h delft>vu 100, 3h leiden>delft 20, 3h delft>leiden 20"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s", strings.Join(got, ", "))
	}
}

func TestATraceTakesThePlaceOfAWorkload(t *testing.T) {
	s := parse(t, `
trace: {file: testdata/small.swf, kind: malleable, share: 0.5, min_share: 0.5, max_share: 4, speedup: linear,
  estimates: exact, overrun: kill, load: 1.2, first: 3, lenient: true}`)
	want := "testdata/small.swf 8 true malleable 0.5 0.5 4 linear exact kill 1.2 3"
	o := s.Trace
	if got := fmt.Sprint(o.File, " ", o.MaxProcs, " ", o.Lenient, " ", o.Kind, " ", o.Share, " ", o.MinShare, " ",
		o.MaxShare, " ",
		o.Speedup, " ", o.Estimates, " ", o.Overrun, " ", o.Load, " ", o.First); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	source, stats, err := s.OpenJobs(1)
	if err != nil || source.Len() != 3 || stats.Killed != 1 || len(stats.Skipped) != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func TestThePlatformMayBeNamedOrWrittenOut(t *testing.T) {
	indented := strings.ReplaceAll(strings.TrimSpace(two), "\n", "\n  ")
	const rest = "\ntrace: {file: testdata/small.swf}\n"
	for _, text := range []string{
		"platform: ../../../examples/platforms/kth.yaml" + rest,
		"platform:\n  " + indented + rest,
		"trace: {file: testdata/small.swf}\nplatform:\n  " + indented + "\n",
		"platform: {clusters: [{name: u, hosts: 3}]}  # one\n" + rest,
		"platform: {clusters: [\n{name: u, hosts: 3}]}",
		"{platform: {clusters: [{name: u, hosts: 3}]}, trace: {file: testdata/small.swf}}",
		"expect: &text u\nplatform: {clusters: [{name: *text, hosts: 3}]}\n" + rest,
	} {
		if !strings.Contains(text, "trace:") {
			text = rest + text
		}
		s, err := scenario.Parse("test.yaml", []byte(text), nil)
		if err != nil {
			t.Errorf("%s\n%v", text, err)
		} else if len(s.KeepFree) != len(s.Platform.Clusters) || len(s.GrowFree) != len(s.Platform.Clusters) ||
			s.Name != "test" {
			t.Errorf("%d clusters, keep free %v, name %s", len(s.Platform.Clusters), s.KeepFree, s.Name)
		}
	}
}

func koala(t testing.TB, name string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Load(filepath.Join("..", "..", "..", "scenarios", "koala", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheFourKoalaWorkloadsDifferOnlyWhereThePaperSays(t *testing.T) {
	every := map[string]float64{"wm": 120, "wmr": 120, "w2m": 30, "w2mr": 30}
	rigid := map[string]int{"wm": 0, "wmr": 150, "w2m": 0, "w2mr": 150}
	first := jobs(t, koala(t, "wm"), 1)
	for name := range every {
		s := koala(t, name)
		if s.Platform.TotalProcs() != 272 || s.Policy.Place != core.WorstFit || len(s.Expect) == 0 {
			t.Errorf("%s: %d processors, %v", name, s.Platform.TotalProcs(), s.Policy)
		}
		counts := map[string]int{}
		for i, j := range jobs(t, s, 1) {
			if j.App.Name != first[i].App.Name || j.Submit != core.AtSecond(float64(i)*every[name]) {
				t.Fatalf("%s: job %d is %s at %v s", name, i, j.App.Name, j.Submit.Seconds())
			}
			if at2 := j.Work / j.App.WorkRate(2, 1); at2 != map[string]float64{"gadget2": 600, "ft": 120}[j.App.Name] {
				t.Fatalf("%s: %s takes %v s with 2 processors", name, j.App.Name, at2)
			}
			if best := j.Work / j.App.WorkRate(32, 1); best < 0.999*map[string]float64{"gadget2": 240, "ft": 60}[j.App.Name] {
				t.Fatalf("%s: %s takes %v s at best", name, j.App.Name, best)
			}
			counts[j.App.Name]++
			counts[j.Spec.Kind.String()]++
		}
		if counts["gadget2"] != 150 || counts["ft"] != 150 || counts["rigid"] != rigid[name] ||
			counts["malleable"] != 300-rigid[name] {
			t.Errorf("%s: %v", name, counts)
		}
	}
}

// parts is what a scenario says of components.
func parts(list []core.Component) string {
	var all []string
	for _, c := range list {
		all = append(all, fmt.Sprintf("{%d %d %d %v %v}", c.Min, c.Max, c.Initial, c.Inputs, c.Clusters))
	}
	return fmt.Sprint(all)
}
