package sim

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func TestAJobStartsWhenItFitsAndEndsToTheNanosecond(t *testing.T) {
	p := play(t, Config{Platform: clustersOf(t, 4), Engine: engine.DefaultConfig()},
		rigid(0, 3, 10.000000001),
		rigid(1, 2, 5),                  // waits for the first
		rigid(2, 1, 1),                  // fits beside the first
		rigid(2.5, 1, 0),                // nobody runs shorter
		rigid(15.000000001, 4, 1/3.0),   // has to wait for nobody
		rigid(15.000000001, 4, 7e-9+20), // for its twin
	)
	p.times([2]float64{0, 10.000000001}, [2]float64{10.000000001, 15.000000001}, [2]float64{2, 3}, [2]float64{3, 3},
		[2]float64{15.000000001, 15.333333334}, [2]float64{15.333333334, 35.333333341})
}

func TestTheQueueIsScannedFromItsHeadAndWhoFitsPasses(t *testing.T) {
	p := play(t, Config{Platform: clustersOf(t, 4), Engine: engine.DefaultConfig()},
		rigid(0, 2, 10),
		rigid(0, 2, 20),
		rigid(1, 4, 1), // the head needs all
		rigid(2, 2, 5), // passes it
		rigid(3, 2, 6), // and so does this, in turn
		rigid(4, 1, 1),
	)
	p.times([2]float64{0, 10}, [2]float64{0, 20}, [2]float64{21, 22}, [2]float64{10, 15}, [2]float64{15, 21},
		[2]float64{20, 21})
}

func TestWorstFitTakesTheClusterWithMostIdleProcessors(t *testing.T) {
	p := play(t, Config{Platform: clustersOf(t, 4, 7, 5), Engine: engine.DefaultConfig()},
		rigid(0, 3, 100), // 4 7 5: to the second
		rigid(1, 2, 100), // 4 4 5: to the third
		rigid(2, 2, 100), // 4 4 3: of equals the first
		rigid(3, 2, 100), // 2 4 3: to the second
		rigid(4, 3, 100), // 2 2 3: to the third
		rigid(5, 3, 10),  // nowhere: waits
		rigid(6, 2, 10),  // 2 2 0: to the first
	)
	p.clusters(1, 2, 0, 1, 2, 1, 0)
	p.times([2]float64{0, 100}, [2]float64{1, 101}, [2]float64{2, 102}, [2]float64{3, 103}, [2]float64{4, 104},
		[2]float64{100, 110}, [2]float64{6, 16})
}

func TestProcessorsKeptFreeAreNotGivenOut(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 6), Engine: engine.DefaultConfig(), KeepFree: map[string]int{"c0": 2}}
	p := play(t, cfg, rigid(0, 3, 10), rigid(1, 2, 10), rigid(2, 1, 1), rigid(3, 5, 1))
	if r := p.records[3]; r.State != core.Failed || r.End != core.AtSecond(3) {
		t.Errorf("a job that needs what is kept free is %s", r.State)
	}
	p.records = p.records[:3]
	p.times([2]float64{0, 10}, [2]float64{10, 20}, [2]float64{2, 3})
}

const threeSpeeds = `
clusters:
  - name: mixed
    hosts: [{name: slow, cores: 1, speed: 0.5}, {name: fast, cores: 2, speed: 2}, {name: fair, cores: 1, speed: 1}]
  - {name: even, hosts: 2, speed: 4}
`

func TestTheFastestHostsAreUsedFirstAndTheSlowestCounts(t *testing.T) {
	anyOf := func(j workload.Job, c ...core.ClusterID) workload.Job {
		return with(j, func(j *workload.Job) { j.Spec.Components[0].Clusters = c })
	}
	p := play(t, Config{Platform: gridOf(t, threeSpeeds), Engine: engine.DefaultConfig()},
		anyOf(rigid(0, 1, 10), 0),  // on fast: 10/2
		anyOf(rigid(0, 2, 10), 0),  // the other of fast, and fair: 10/1
		anyOf(rigid(0, 1, 10), 0),  // slow: 10/0.5
		anyOf(rigid(0, 2, 10), 1),  // elsewhere: 10/4
		anyOf(rigid(5, 1, 1), 0),   // fast again
		anyOf(rigid(5.1, 4, 1), 0), // all of them, once slow is free
		anyOf(rigid(30, 3, 1), 0),  // fast and fair
		with(rigid(40, 2, 8), func(j *workload.Job) { // in two clusters: the slower
			j.Spec.Components = []core.Component{{Min: 2, Max: 2, Clusters: []core.ClusterID{0}},
				{Min: 1, Max: 1, Clusters: []core.ClusterID{1}}}
		}),
	)
	p.times([2]float64{0, 5}, [2]float64{0, 10}, [2]float64{0, 20}, [2]float64{0, 2.5}, [2]float64{5, 5.5},
		[2]float64{20, 22}, [2]float64{30, 31}, [2]float64{40, 44})
}

func TestASpeedThatDoesNotDivideRoundsUpToTheNextNanosecond(t *testing.T) {
	p := play(t, Config{Platform: gridOf(t, "clusters: [{name: a, hosts: 1, speed: 3}]"), Engine: engine.DefaultConfig()},
		rigid(0, 1, 1))
	if p.records[0].End != 333_333_334 {
		t.Errorf("ends at %d ns", p.records[0].End)
	}
}

func TestAJobThatIsTriedTooOftenFails(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(), MaxTries: 3}
	p := play(t, cfg, rigid(0, 2, 1000), rigid(5, 1, 1),
		with(rigid(6, 1, 1), func(j *workload.Job) { j.Spec.MaxTries = 100 }))
	// Tried when it came at 5 s and by the period: at 35 s and 65 s.
	if r := p.records[1]; r.State != core.Failed || r.End != core.AtSecond(65) {
		t.Errorf("the second job is %s at %g s", r.State, r.End.Seconds())
	}
	if r := p.records[2]; r.State != core.Done || r.Start != core.AtSecond(1000) {
		t.Errorf("the third job, which may be tried longer, is %s and started at %g s", r.State, r.Start.Seconds())
	}
}

func TestAMoldableJobTakesAnEqualShareOfWhatIsIdleAndKeepsIt(t *testing.T) {
	moldable := func(at float64) workload.Job {
		return with(elastic(at, 2, 8, plain, 60), func(j *workload.Job) { j.Spec.Kind = core.Moldable })
	}
	p := play(t, Config{Platform: clustersOf(t, 6), Engine: policies(engine.PRA, "egs")}, moldable(0), moldable(1),
		moldable(2))
	// Alone it takes all 6. The two that wait then share: 3 each at 10 s.
	p.same("sizes", p.sizes(1)+"; "+p.sizes(2)+"; "+p.sizes(3), "0 6; 10 3; 10 3")
	p.times([2]float64{0, 10}, [2]float64{10, 30}, [2]float64{10, 30})
}
