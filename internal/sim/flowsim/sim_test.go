package flowsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
)

const twoClusters = `
clusters:
  - {name: fast, hosts: 3, cores: 2, speed: 2, link: {mbps: 1000, ms: 0.1}}
  - {name: slow, hosts: 4, cores: 1, speed: 1, link: {mbps: 1000, ms: 0.1}}
links:
  - {a: fast, b: slow, mbps: 100, ms: 10}
`

func newGrid(t testing.TB, text string) *Grid {
	t.Helper()
	p, err := platform.Parse("grid.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return NewGrid(p, true)
}

func dag(t testing.TB, tasks []flow.Task, edges []flow.Edge) *flow.DAG {
	t.Helper()
	d, err := flow.NewDAG(tasks, edges)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// random is a graph in layers; some tasks have several cores.
func random(t testing.TB, seed uint64, n int) *flow.DAG {
	r := rand.New(rand.NewPCG(seed, 1))
	tasks := make([]flow.Task, n)
	var edges []flow.Edge
	for i := range tasks {
		tasks[i] = flow.Task{Name: fmt.Sprint("t", i), Work: 1 + 50*r.Float64(), Kind: r.IntN(3)}
		if r.IntN(8) == 0 {
			tasks[i].Wide = 3
		}
		for range r.IntN(3) {
			if i > 0 {
				edges = append(edges, flow.Edge{From: r.IntN(i), To: i, Bytes: float64(r.IntN(3)-1) * 3e7})
			}
		}
	}
	for i := range edges {
		edges[i].Bytes = max(edges[i].Bytes, flow.NoData)
	}
	return dag(t, tasks, edges)
}

// holds checks a run that lost nothing for good: every task ran to its end once,
// after its parents, and no core had two at a time.
func holds(d *flow.DAG, r *Result) error {
	for t := range r.Tasks {
		x := r.Tasks[t]
		if x.Host < 0 {
			return fmt.Errorf("task %d never ended", t)
		}
		var err error
		d.EachParent(t, func(e flow.Edge) {
			p := e.From
			if x.Start < r.Tasks[p].End-1e-6 {
				err = fmt.Errorf("task %d began at %v, its parent %d ended at %v", t, x.Start, p, r.Tasks[p].End)
			}
		})
		if err != nil {
			return err
		}
		for u := range t {
			y := r.Tasks[u]
			if x.Host == y.Host && x.Core == y.Core && x.Start < y.End-1e-6 && y.Start < x.End-1e-6 {
				return fmt.Errorf("tasks %d and %d on the same core from %v to %v and from %v to %v", t, u, x.Start, x.End, y.Start,
					y.End)
			}
		}
	}
	return nil
}

func TestASimulationWithoutOtherTrafficTakesAsLongAsPlannedAlsoWithSeveralFiles(t *testing.T) {
	g := newGrid(t, twoClusters)
	tasks := []flow.Task{{Name: "make", Work: 2, Only: []bool{true, false}},
		{Name: "read", Work: 1, Only: []bool{false, true}}}
	d := dag(t, tasks, []flow.Edge{{From: 0, To: 1, Bytes: 6e7, Files: 5}})
	r, err := Run(Config{Grid: g, DAG: d})
	if err != nil {
		t.Fatal(err)
	}
	// 60 MB over 100 Mbit/s, and five times 10.2 ms.
	if want := 1 + 4.8 + 5*0.0102; math.Abs(r.Tasks[1].Start-want) > 1e-3 || math.Abs(r.Notes[0].End-want-1) > 1e-6 {
		t.Errorf("read starts at %v, planned end %v; want %v and 1 s later", r.Tasks[1].Start, r.Notes[0].End, want)
	}
	if r.Moved != 6e7 {
		t.Errorf("%v bytes moved", r.Moved)
	}
}

func TestWhateverHappensEveryTaskEndsOnceAfterItsParents(t *testing.T) {
	g := newGrid(t, twoClusters)
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		d := random(t, seed, rapid.IntRange(1, 40).Draw(rt, "tasks"))
		r := rand.New(rand.NewPCG(seed, 2))
		cfg := Config{Grid: g, DAG: d}
		spread := rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(rt, "spread")
		off := make([]float64, len(d.Tasks))
		for i := range off {
			off[i] = math.Exp(spread * r.NormFloat64())
		}
		cfg.Truth = func(task, host int) float64 { return d.Tasks[task].Work / g.Hosts[host].Speed * off[task] }
		for range rapid.IntRange(0, 6).Draw(rt, "loads") {
			cfg.Loads = append(cfg.Loads, Load{At: 100 * r.Float64(), Host: r.IntN(len(g.Hosts)), Share: 0.1 + 0.9*r.Float64()})
		}
		for h := range rapid.IntRange(0, 5).Draw(rt, "outages") {
			from := 100 * r.Float64()
			cfg.Outages = append(cfg.Outages, Outage{Host: h, From: from, To: from + 50*r.Float64()})
		}
		cfg.Fails = func(task, run int) bool { return run == 1 && task%7 == 3 }
		cfg.Conduct.Retries = func(int) int { return 1 }
		res, err := Run(cfg)
		if err != nil {
			rt.Fatal(err)
		}
		if res.Stuck || len(res.Failed) > 0 {
			rt.Fatalf("stuck %v, failed %v", res.Stuck, res.Failed)
		}
		if err := holds(d, res); err != nil {
			rt.Fatal(err)
		}
	})
}

// Without anything that disturbs, and files that do not meet, a run is its plan.
func TestAnUndisturbedRunIsAsLongAsItsPlan(t *testing.T) {
	g := newGrid(t, twoClusters)
	for seed := range uint64(20) {
		d := random(t, seed, 30)
		for i := range d.Tasks {
			d.Tasks[i].Wide = 0
		}
		p, err := flow.New(d, flow.NewGrid(g.Hosts, g.Sites, g.Route), flow.Options{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(Config{Grid: g, DAG: d})
		if err != nil {
			t.Fatal(err)
		}
		if res.Makespan > p.Schedule.Makespan*1.15 || res.Makespan < p.Bound-1e-6 {
			t.Errorf("seed %d: %v s in the simulator, planned %v, bound %v", seed, res.Makespan, p.Schedule.Makespan, p.Bound)
		}
	}
}

func TestFilesThatMeetOnALinkShareIt(t *testing.T) {
	g := newGrid(t, twoClusters)
	// Two files of 100 MB leave the fast cluster for the slow one: 100 Mbit/s
	// between them are 16 s together, not 8.
	tasks := []flow.Task{{Work: 2}, {Work: 2}, {Work: 1}, {Work: 1}}
	d := dag(t, tasks, []flow.Edge{{From: 0, To: 2, Bytes: 1e8}, {From: 1, To: 3, Bytes: 1e8}})
	first := &flow.Schedule{Slots: []flow.Slot{{Host: 0, End: 1}, {Host: 1, End: 1}, {Host: 3, Start: 1, End: 2},
		{Host: 4, Start: 1, End: 2}}}
	res, err := Run(Config{Grid: g, DAG: d, Conduct: conduct.Config{First: first, Static: true}})
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 16 + 1.0; math.Abs(res.Makespan-want) > 0.1 {
		t.Errorf("makespan %v, want %v", res.Makespan, want)
	}
}

func TestATaskThatFailsForGoodGivesUpThoseBehindItAndNobodyElse(t *testing.T) {
	g := newGrid(t, twoClusters)
	tasks := make([]flow.Task, 5)
	for i := range tasks {
		tasks[i] = flow.Task{Name: fmt.Sprint(i), Work: 10}
	}
	d := dag(t, tasks, []flow.Edge{{From: 0, To: 1, Bytes: flow.NoData}, {From: 1, To: 2, Bytes: flow.NoData},
		{From: 3, To: 4, Bytes: flow.NoData}})
	runs := 0
	res, err := Run(Config{Grid: g, DAG: d, Fails: func(task, _ int) bool {
		if task == 1 {
			runs++
		}
		return task == 1
	}, Conduct: conduct.Config{Retries: func(int) int { return 2 }}})
	if err != nil {
		t.Fatal(err)
	}
	if runs != 3 || len(res.Failed) != 1 || res.Failed[0] != 1 ||
		res.Count != (conduct.Count{Done: 3, Failed: 1, Never: 1}) {
		t.Errorf("%d runs, failed %v, counts %+v", runs, res.Failed, res.Count)
	}
}

func TestAModelThatIsWrongIsCorrectedByTheFirstInstances(t *testing.T) {
	g := newGrid(t, twoClusters)
	tasks := make([]flow.Task, 120)
	for i := range tasks {
		tasks[i] = flow.Task{Work: 10}
	}
	d := dag(t, tasks, nil)
	// The fast cluster is four times slower than its model says: slower than the
	// slow one.
	truth := func(task, host int) float64 {
		if g.Hosts[host].Class == 0 {
			return 20
		}
		return 10
	}
	span := map[bool]float64{}
	for _, static := range []bool{false, true} {
		res, err := Run(Config{Grid: g, DAG: d, Truth: truth, Conduct: conduct.Config{Static: static}})
		if err != nil {
			t.Fatal(err)
		}
		span[static] = res.Makespan
	}
	// 6 cores at 20 s and 4 at 10 s: 120 tasks in 175 s at the least.
	if span[false] > 190 || span[true] < 300 {
		t.Errorf("makespan %v with correction, %v without", span[false], span[true])
	}
}

func TestLoadThatIsForecastMovesTasksElsewhere(t *testing.T) {
	g := newGrid(t, twoClusters)
	tasks := make([]flow.Task, 100)
	for i := range tasks {
		tasks[i] = flow.Task{Work: 60}
	}
	d := dag(t, tasks, nil)
	loads := []Load{{Host: 0, Share: 0.2}, {Host: 1, Share: 0.2}, {At: 200, Host: 2, Share: 0.2}}
	span := map[bool]float64{}
	for _, static := range []bool{false, true} {
		res, err := Run(Config{Grid: g, DAG: d, Loads: loads, Conduct: conduct.Config{Static: static}})
		if err != nil {
			t.Fatal(err)
		}
		span[static] = res.Makespan
	}
	if span[false] > 0.7*span[true] {
		t.Errorf("makespan %v when the load is heeded, %v when not", span[false], span[true])
	}
}
