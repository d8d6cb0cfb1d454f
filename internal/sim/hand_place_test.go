package sim

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func placedBy(p core.PlacePolicy, j workload.Job) workload.Job {
	return with(j, func(j *workload.Job) { j.Spec.Place = p })
}

const threeSites = `
clusters: [{name: small, hosts: 4}, {name: near, hosts: 6}, {name: far, hosts: 10}]
links: [{a: small, b: near, mbps: 80}, {a: small, b: far, mbps: 8}]
files: [{name: f, size: 10000000, at: [small]}]
`

func TestCloseToFilesRunsWhereTheFilesAreOrNextToThem(t *testing.T) {
	cfg := Config{Platform: gridOf(t, threeSites), Engine: engine.DefaultConfig(), Place: core.CloseToFiles}
	p := play(t, cfg,
		reads(rigid(0, 3, 50), files(0)), // where it is
		reads(rigid(1, 3, 50), files(0)), // a second away
		reads(rigid(5, 3, 50), files(0)), // it is there now
		reads(rigid(6, 3, 50), files(0)), // ten seconds away
		placedBy(core.WorstFit, reads(rigid(60, 1, 5), files(0))),
	)
	p.clusters(0, 1, 1, 2, 2)
	p.times([2]float64{0, 50}, [2]float64{2, 52}, [2]float64{5, 55}, [2]float64{16, 66}, [2]float64{60, 65})
}

// together is a job of several components of these sizes, for anywhere.
func together(at, seconds float64, sizes ...int) workload.Job {
	j := rigid(at, 1, seconds)
	j.Spec.Components = nil
	for _, n := range sizes {
		j.Spec.Components = append(j.Spec.Components, core.Component{Min: n, Max: n})
	}
	return j
}

// usedBy counts the clusters and the parts of a job.
func (p *played) usedBy(id core.JobID) (clusters, parts int) {
	seen := map[core.ClusterID]bool{}
	for _, ev := range p.events {
		if ev.Kind == core.PartPlanned && ev.Job == id {
			seen[ev.Cluster] = true
			parts++
		}
	}
	return len(seen), parts
}

func TestClusterMinimisationUsesTheFewestClusters(t *testing.T) {
	for _, c := range []struct {
		policy          core.PlacePolicy
		clusters, parts int
		start           float64
	}{
		{core.WorstFit, 2, 3, 0},    // 10 6 4: 3 and 3 in the largest, 3 in the next
		{core.ClusterMin, 1, 3, 0},  // 9 of 10
		{core.FlexibleMin, 1, 1, 0}, // one piece
	} {
		cfg := Config{Platform: clustersOf(t, 4, 6, 10), Engine: engine.DefaultConfig(), Place: c.policy}
		p := play(t, cfg, together(0, 10, 3, 3, 3))
		if clusters, parts := p.usedBy(1); clusters != c.clusters || parts != c.parts {
			t.Errorf("%s uses %d clusters with %d parts", c.policy, clusters, parts)
		}
		p.times([2]float64{c.start, c.start + 10})
	}
}

func TestFlexibleMinimisationSplitsAJobToStartItSooner(t *testing.T) {
	jobs := []workload.Job{rigid(0, 7, 30), together(1, 10, 8)}
	cfg := Config{Platform: clustersOf(t, 4, 6, 10), Engine: engine.DefaultConfig(), Place: core.ClusterMin}
	p := play(t, cfg, jobs...) // no cluster has 8 of 4, 6 and 3
	p.times([2]float64{0, 30}, [2]float64{30, 40})
	cfg.Place = core.FlexibleMin
	p = play(t, cfg, jobs...) // 6 here and 2 there
	p.times([2]float64{0, 30}, [2]float64{1, 11})
	if clusters, parts := p.usedBy(2); clusters != 2 || parts != 2 {
		t.Errorf("%d clusters, %d parts", clusters, parts)
	}
}

func TestAJobOfSeveralComponentsRunsAsOnePieceOfAManagedCluster(t *testing.T) {
	grid := gridOf(t, "clusters: [{name: a, hosts: 8, local: easy}, {name: b, hosts: 4, local: fcfs}]")
	cfg := Config{Platform: grid, Engine: engine.DefaultConfig(), Place: core.FlexibleMin}
	p := play(t, cfg, together(0, 10, 3, 3), together(1, 10, 3, 3), together(2, 5, 1, 2))
	// The second gets 4 of the second cluster and 2 of the first. The third
	// finds nothing free: each component waits in a queue, and both have their
	// processors at 11 s.
	p.times([2]float64{0, 10}, [2]float64{1, 11}, [2]float64{11, 16})
}

func TestTheBestChanceOfADeadlineIsOnTheFastCluster(t *testing.T) {
	grid := gridOf(t, "clusters: [{name: idle, hosts: 20}, {name: fast, hosts: 4, speed: 4}]")
	cfg := Config{Platform: grid, Engine: engine.DefaultConfig(), Place: core.DeadlineFirst}
	due := func(at, deadline float64) workload.Job {
		return with(rigid(at, 2, 100), func(j *workload.Job) {
			j.Spec.Estimate, j.Spec.Deadline = 100*second, core.AtSecond(deadline)
		})
	}
	p := play(t, cfg,
		due(0, 50), // 25 s on the fast one
		due(0, 0),  // the earliest end is there as well
		due(1, 90), // nobody is faster now
		placedBy(core.WorstFit, due(30, 60)),
	)
	p.clusters(1, 1, 0, 0)
	p.times([2]float64{0, 25}, [2]float64{0, 25}, [2]float64{1, 101}, [2]float64{30, 130})
}

func TestACoAllocatedMalleableJobGrowsAndShrinksClusterByCluster(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}}
	job := elastic(0, 1, 1, a, 800)
	job.Spec.Components = []core.Component{{Min: 1, Max: 6, Initial: 1, Clusters: []core.ClusterID{0}},
		{Min: 2, Max: 4, Initial: 2, Clusters: []core.ClusterID{1}}}
	p := play(t, Config{Platform: clustersOf(t, 8, 8), Engine: policies(engine.PWA, "fpsma")}, job,
		reads(rigid(20, 5, 30), nil, 0), reads(rigid(30, 6, 40), nil, 1))
	// 10 until 20 s; then 3 less in the first cluster; from 30 s on 2 less in
	// the second: 200, 70 and, with 5, 100 more until 50 s; with 8 until 70 s
	// 160; the last 270 with 10.
	p.same("sizes", p.sizes(1), "0 3, 0 +5, 0 +2, 20 -3, 30 -2, 50 +3, 70 +2")
	p.times([2]float64{0, 97}, [2]float64{20, 50}, [2]float64{30, 70})
}

func TestACoAllocatedPowersOfTwoJobLetsIdleWhatItCannotUse(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	job := elastic(0, 1, 1, a, 800)
	job.Spec.Components = []core.Component{{Min: 1, Max: 4, Initial: 4, Clusters: []core.ClusterID{0}},
		{Min: 1, Max: 4, Initial: 4, Clusters: []core.ClusterID{1}}}
	p := play(t, Config{Platform: clustersOf(t, 4, 4), Engine: policies(engine.PWA, "fpsma")}, job,
		reads(rigid(10, 3, 30), nil, 0))
	// Of 8 it could get to 4 only by giving up all of a part. It runs on 5, of
	// which it uses 4, until 40 s: 80, 120 and 600 by 8.
	p.same("sizes", p.sizes(1), "0 8, 10 -3, 40 +3")
	p.times([2]float64{0, 115}, [2]float64{10, 40})
}
