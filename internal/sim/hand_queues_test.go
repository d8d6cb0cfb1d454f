package sim

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// managed is a simulation in which every cluster has a queue of that kind.
func managed(t testing.TB, kind platform.Local, sizes ...int) Config {
	return Config{Platform: clustersOf(t, sizes...), Local: &kind, Engine: engine.DefaultConfig()}
}

// asks makes the user ask for a longer time than the job needs.
func asks(limit float64, j workload.Job) workload.Job {
	j.Limit = core.DurationFromSeconds(limit)
	return j
}

// parts makes a job of several components, each for one cluster.
func parts(j workload.Job, components ...core.Component) workload.Job {
	j.Spec.Components = components
	return j
}

func inCluster(procs int, c core.ClusterID) core.Component {
	return core.Component{Min: procs, Max: procs, Clusters: []core.ClusterID{c}}
}

func TestEASYBackfillsWhatDoesNotDelayTheHead(t *testing.T) {
	jobs := []workload.Job{
		rigid(0, 3, 100),
		rigid(1, 4, 10),           // the head, expected to start at 100 s
		asks(120, rigid(2, 1, 5)), // could take too long
		asks(90, rigid(3, 1, 50)),
		rigid(4, 1, 40), // when that one is over at 53 s
	}
	play(t, managed(t, platform.LocalEASY, 4), jobs...).
		times([2]float64{0, 100}, [2]float64{100, 110}, [2]float64{110, 115}, [2]float64{3, 53}, [2]float64{53, 93})
	play(t, managed(t, platform.LocalFCFS, 4), jobs...).
		times([2]float64{0, 100}, [2]float64{100, 110}, [2]float64{110, 115}, [2]float64{110, 160}, [2]float64{110, 150})
}

func TestOfSeveralManagedClustersTheOneWithTheShortestQueueIsTaken(t *testing.T) {
	p := play(t, managed(t, platform.LocalEASY, 4, 4),
		rigid(0, 4, 100), rigid(0, 4, 50),
		rigid(1, 2, 10), // both are full: the first
		rigid(2, 2, 10), // two wait there: the second
		rigid(3, 3, 10), // two wait in each: the first
		rigid(4, 1, 10),
	)
	p.clusters(0, 1, 0, 1, 0, 1)
	p.times([2]float64{0, 100}, [2]float64{0, 50}, [2]float64{100, 110}, [2]float64{50, 60}, [2]float64{110, 120},
		[2]float64{50, 60})
}

func TestTheQueueIsToldWhatTheTimeMeansOnItsHosts(t *testing.T) {
	cfg := Config{Platform: gridOf(t, "clusters: [{name: a, hosts: 2, speed: 0.5, local: easy}]"),
		Engine: engine.DefaultConfig()}
	p := play(t, cfg, rigid(0, 1, 100), rigid(1, 2, 10), rigid(120, 1, 10))
	// The first is expected to run until 200 s, so the third does not delay the
	// second.
	p.times([2]float64{0, 200}, [2]float64{200, 220}, [2]float64{120, 140})
}

func TestAQueueThatIsToldNothingExpectsWhatWillBe(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}}
	fixed := func(at float64, n int, work float64) workload.Job {
		return with(elastic(at, n, n, a, work), func(j *workload.Job) { j.Spec.Kind = core.Rigid })
	}
	p := play(t, managed(t, platform.LocalEASY, 4), fixed(0, 3, 300), fixed(1, 4, 40), fixed(2, 1, 99), fixed(3, 1, 97))
	// The third would delay the head by a second, the fourth does not.
	p.times([2]float64{0, 100}, [2]float64{100, 110}, [2]float64{110, 209}, [2]float64{3, 100})
}

func TestLocalUsersOfAManagedClusterWaitInItsQueueLikeEverybody(t *testing.T) {
	cfg := managed(t, platform.LocalEASY, 4)
	cfg.PollEvery = time.Minute
	cfg.Disturb = users(local(0, 0, 3, 100), local(20, 0, 4, 30), local(25, 0, 99, 5))
	p := play(t, cfg, rigid(10, 2, 7), rigid(30, 1, 8), rigid(31, 1, 200))
	// 3 are used until 100 s, when the first, the head, will need 2. The second
	// is over before, and the third takes what the head leaves. Local users who
	// need all 4 come after them.
	p.times([2]float64{100, 107}, [2]float64{30, 38}, [2]float64{38, 238})
}

func TestTheLoadOfLocalUsersOnManagedClustersIsSeenByPolling(t *testing.T) {
	cfg := managed(t, platform.LocalEASY, 6, 4)
	cfg.PollEvery = time.Minute
	cfg.Disturb = users(local(10, 0, 5, 500))
	p := play(t, cfg, rigid(50, 2, 7), rigid(70, 2, 7))
	// Not seen yet: to the larger cluster. From the poll at 60 s on the other
	// has more.
	p.clusters(0, 1)
	p.times([2]float64{510, 517}, [2]float64{70, 77})
}

func TestAllPartsOfAJobStartTogetherWhoeverManagesThem(t *testing.T) {
	grid := gridOf(t, "clusters: [{name: direct, hosts: 2}, {name: x, hosts: 2, local: easy}, {name: y, hosts: 3, "+
		"local: easy}]")
	p := play(t, Config{Platform: grid, Engine: engine.DefaultConfig()},
		reads(rigid(0, 2, 30), nil, 1), reads(rigid(0, 2, 40), nil, 2),
		parts(rigid(5, 1, 10), inCluster(2, 0), inCluster(2, 1), inCluster(2, 2)),
		reads(rigid(6, 1, 1), nil, 0),
		reads(rigid(7, 1, 9), nil, 1), // fits in x only when the parts of the third are over
	)
	p.times([2]float64{0, 30}, [2]float64{0, 40}, [2]float64{40, 50}, [2]float64{50, 51}, [2]float64{50, 59})
	claimed := map[int]float64{}
	for _, ev := range p.events {
		if ev.Kind == core.PartClaimed {
			claimed[ev.Part] = ev.At.Seconds()
		}
	}
	if claimed[0] != 5 || claimed[1] != 30 || claimed[2] != 40 {
		t.Errorf("parts were claimed at %v", claimed)
	}
}

func TestAPartOfSeveralIsAskedForWithTheTimeThatItMayWait(t *testing.T) {
	p := play(t, managed(t, platform.LocalEASY, 4, 4),
		reads(rigid(0, 2, 100), nil, 1),
		parts(rigid(1, 1, 200), inCluster(3, 0), inCluster(3, 1)), // has its part in the first from 1 s on
		parts(rigid(2, 1, 50), inCluster(2, 1), inCluster(2, 0)),  // waits in the first
		reads(rigid(3, 2, 97), nil, 1),
	)
	// The third would be over before the first, but may have to wait for its
	// other part: if it were backfilled, it and the second would wait for each
	// other.
	p.times([2]float64{0, 100}, [2]float64{100, 300}, [2]float64{300, 350}, [2]float64{3, 100})
}

func TestJobsThatWaitForEachOtherInTwoQueuesGiveUp(t *testing.T) {
	cfg := managed(t, platform.LocalEASY, 4, 4)
	cfg.Engine.ClaimGrace = 60 * second
	p := play(t, cfg,
		asks(170, reads(rigid(0, 2, 300), nil, 1)), // runs longer than it said
		parts(rigid(1, 1, 200), inCluster(3, 0), inCluster(3, 1)),
		parts(rigid(2, 1, 50), inCluster(2, 1), inCluster(2, 0)),
	)
	// The third is backfilled in the second cluster for 110 s at most; a minute
	// after its claim the second gives up. So the third starts at 61 s.
	p.same("states", p.states(2), "1 SUBMITTED, 1 SELECTED, 1 QUEUED, 61 SUBMITTED, 91 SELECTED, 91 QUEUED, 171 "+
		"SUBMITTED, 201 SELECTED, 201 QUEUED, "+
		"261 SUBMITTED, 291 SELECTED, 291 QUEUED, 300 RUNNING, 500 DONE")
	p.times([2]float64{0, 300}, [2]float64{300, 500}, [2]float64{61, 111})
}

func TestAJobOfManyPartsIsTakenByAQueue(t *testing.T) {
	one := inCluster(1, 0)
	many := make([]core.Component, 300)
	for i := range many {
		many[i] = one
	}
	p := play(t, managed(t, platform.LocalFCFS, 300), parts(rigid(0, 1, 10), many...), rigid(1, 1, 5),
		parts(rigid(2, 1, 10), many...))
	p.times([2]float64{0, 10}, [2]float64{10, 15}, [2]float64{15, 25})
}
