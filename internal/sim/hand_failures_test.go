package sim

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

func goes(at float64, c core.ClusterID, host int) HostChange {
	return HostChange{At: core.AtSecond(at), Cluster: c, Host: host}
}

func comes(at float64, c core.ClusterID, host int) HostChange {
	return HostChange{At: core.AtSecond(at), Cluster: c, Host: host, Up: true}
}

func hostsOf(changes ...HostChange) *Disturbances { return &Disturbances{Hosts: inTurn(changes...)} }

func again(n int, j workload.Job) workload.Job {
	return with(j, func(j *workload.Job) { j.Spec.Retries = n })
}

func TestAJobOnAHostThatFailsIsLostUnlessItMayTryAgain(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 8), Engine: engine.DefaultConfig(),
		Disturb: hostsOf(goes(30, 0, 0), goes(35, 0, 2))}
	p := play(t, cfg, rigid(0, 2, 100), again(1, rigid(1, 2, 100)), rigid(2, 2, 100))
	// The first has the hosts 0 and 1, the second 2 and 3: it begins again, from
	// zero, on 1 and 3. The third has 4 and 5 and notices nothing.
	if r := p.records[0]; r.State != core.Failed || r.End != core.AtSecond(30) || r.RunSeconds() != 30 {
		t.Errorf("the first is %s at %g s and ran for %g s", r.State, r.End.Seconds(), r.RunSeconds())
	}
	p.same("states", p.states(2), "1 SUBMITTED, 1 SELECTED, 1 QUEUED, 1 RUNNING, 35 STOPPED, 35 RESUMING, 35 SELECTED, "+
		"35 QUEUED, 35 RUNNING, 135 DONE")
	if r := p.records[1]; r.RunSeconds() != 134 || r.WaitSeconds() != 0 {
		t.Errorf("the second ran for %g s and waited for %g s", r.RunSeconds(), r.WaitSeconds())
	}
	if r := p.records[2]; r.End != core.AtSecond(102) {
		t.Errorf("the third ended at %g s", r.End.Seconds())
	}
}

func TestAJobWaitsForAHostToComeBack(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(),
		Disturb: hostsOf(goes(30, 0, 1), goes(31, 0, 1), comes(80, 0, 1), comes(81, 0, 1))}
	p := play(t, cfg, again(1, rigid(0, 2, 100)))
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 QUEUED, 0 RUNNING, 30 STOPPED, 30 RESUMING, 80 SELECTED, "+
		"80 QUEUED, 80 RUNNING, 180 DONE")
}

func TestADrainedClusterTakesNothingNewUntilItIsUsedAgain(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 2), Engine: engine.DefaultConfig(),
		Disturb: &Disturbances{Drains: inTurn(DrainChange{At: core.AtSecond(10), Drained: true},
			DrainChange{At: core.AtSecond(130)})}}
	p := play(t, cfg, rigid(0, 2, 100), rigid(20, 1, 5))
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 QUEUED, 0 RUNNING, 100 DONE")
	p.same("states", p.states(2), "20 SUBMITTED, 130 SELECTED, 130 QUEUED, 130 RUNNING, 135 DONE")
}

func TestHostsMayJoinLater(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 3), Engine: policies(engine.PRA, "fpsma"),
		Disturb: hostsOf(goes(0, 0, 1), goes(0, 0, 2), comes(50, 0, 2), comes(70, 0, 1))}
	p := play(t, cfg, rigid(0, 2, 10), elastic(0, 1, 3, &app.App{Name: "a", Speedup: app.Linear{}}, 200))
	// One host at first: the second job, which fits, takes it. At 50 s it grows
	// rather than let the first start; at 70 s again. 50 + 40 + 110/3.
	p.same("sizes", p.sizes(2), "0 1, 50 +1, 70 +1")
	if r := p.records[0]; r.Start != p.records[1].End {
		t.Errorf("the first started at %g s", r.Start.Seconds())
	}
	if got, want := p.records[1].End, core.Time(70e9+36_666_666_667); got != want {
		t.Errorf("ended at %d ns, want %d", got, want)
	}
}

func TestTheHostsOfAPlatformAreFoundWhateverTheirSpeed(t *testing.T) {
	cfg := Config{Platform: gridOf(t, threeSpeeds), Engine: engine.DefaultConfig(),
		Disturb: hostsOf(goes(1, 0, 0), goes(2, 0, 1))}
	in := func(c core.ClusterID, j workload.Job) workload.Job { return reads(j, nil, c) }
	p := play(t, cfg, in(0, again(1, rigid(0, 3, 10))), in(0, rigid(0, 1, 10)))
	// The first runs on fast and fair and does not mind that slow is gone, but
	// then fast is. The second was on slow.
	if r := p.records[1]; r.State != core.Failed || r.End != core.AtSecond(1) {
		t.Errorf("the second is %s at %g s", r.State, r.End.Seconds())
	}
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 QUEUED, 0 RUNNING, 2 STOPPED, 2 RESUMING")
	if p.left != 1 {
		t.Errorf("%d left", p.left)
	}
}

func TestWhatWasSavedIsNotLostWithAHost(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	cfg := Config{Platform: clustersOf(t, 4), Engine: policies(engine.PWA, "fpsma"),
		Disturb: hostsOf(goes(60, 0, 1), comes(90, 0, 1))}
	p := play(t, cfg, again(1, elastic(0, 3, 4, a, 400)), rigid(50, 1, 20))
	// Stopped with 200 done at 50 s, as it cannot shrink; at 60 s a host fails,
	// and what was done since is lost. It can run on 3 from 70 s on, but uses
	// only 2 of them until the fourth is there: 40 until 90 s, then 160/4.
	p.same("sizes", p.sizes(1), "0 4, 50 3, 70 3, 90 +1")
	p.times([2]float64{0, 130}, [2]float64{50, 70})
}

func TestACoAllocatedJobIsLostAsAWhole(t *testing.T) {
	cfg := Config{Platform: clustersOf(t, 2, 2), Engine: engine.DefaultConfig(),
		Disturb: hostsOf(goes(10, 1, 0), comes(20, 1, 0))}
	both := with(rigid(0, 2, 50), func(j *workload.Job) {
		j.Spec.Components = append(j.Spec.Components, j.Spec.Components[0])
	})
	p := play(t, cfg, again(1, both), rigid(11, 2, 5))
	// What it had in the other cluster is free meanwhile.
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 QUEUED, 0 RUNNING, 10 STOPPED, 10 RESUMING, 20 SELECTED, "+
		"20 QUEUED, 20 RUNNING, 70 DONE")
	if r := p.records[1]; r.Start != core.AtSecond(11) || r.Cluster != 0 {
		t.Errorf("the second started at %g s in %d", r.Start.Seconds(), r.Cluster)
	}
}

func TestAHostThatFailsWhileFilesAreBroughtMakesTheJobLookElsewhere(t *testing.T) {
	grid := gridOf(t, `
clusters: [{name: a, hosts: 1}, {name: b, hosts: 2, reserve: true}, {name: c, hosts: 1}]
links: [{a: a, b: b, mbps: 8}, {a: a, b: c, mbps: 8}]
files: [{name: f, size: 10000000, at: [a]}]
`)
	cfg := Config{Platform: grid, Engine: engine.DefaultConfig(), Disturb: hostsOf(goes(4, 1, 0), goes(4, 1, 1))}
	p := play(t, cfg, reads(rigid(0, 1, 5), files(0), 1, 2))
	p.clusters(2)
	p.times([2]float64{14, 19})
}

func TestInAClusterWithAQueueOfItsOwnAFailedHostIsDrained(t *testing.T) {
	grid := gridOf(t, "clusters: [{name: a, hosts: 4, local: easy}, {name: b, hosts: 3, local: easy}]")
	cfg := Config{Platform: grid, Engine: engine.DefaultConfig(), PollEvery: time.Minute,
		Disturb: hostsOf(goes(10, 0, 3), goes(10, 0, 2), comes(60, 0, 3), comes(60, 0, 2))}
	p := play(t, cfg, reads(rigid(0, 4, 20), nil, 0), reads(rigid(1, 3, 5), nil, 0), reads(rigid(2, 2, 5), nil, 0),
		rigid(40, 2, 5))
	// Who runs runs on; who needs more than is left waits for the repair; the
	// last sees 3 idle processors in the other cluster and only 2 here.
	p.clusters(0, 0, 0, 1)
	p.times([2]float64{0, 20}, [2]float64{60, 65}, [2]float64{20, 25}, [2]float64{40, 45})
}
