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

// grown is a run in clusters with queues of their own, where jobs may grow and shrink.
func grown(t *testing.T, kind platform.Local, approach engine.Approach, disturb *Disturbances, size int,
	jobs ...workload.Job) *played {
	t.Helper()
	return play(t, Config{Platform: clustersOf(t, size), Local: &kind, Engine: policies(approach, "fpsma"),
		PollEvery: time.Minute, Disturb: disturb}, jobs...)
}

func countEvents(p *played, kind core.EventKind) int {
	n := 0
	for i := range p.events {
		if p.events[i].Kind == kind {
			n++
		}
	}
	return n
}

func TestAJobGrowsInAQueueByHoldingJobs(t *testing.T) {
	for _, kind := range []platform.Local{platform.LocalFCFS, platform.LocalEASY} {
		p := grown(t, kind, engine.PRA, nil, 4, rigid(0, 2, 40), elastic(0, 1, 4, plain, 200))
		// It begins with its minimum. 80 are done by two at 40 s; four need 30 s for the rest.
		p.same("sizes", p.sizes(2), "0 1, 0 +1, 40 +2")
		p.times([2]float64{0, 40}, [2]float64{0, 70})
		if n := countEvents(p, core.PartAccepted); n != 2 {
			t.Errorf("the queue was asked %d times for more, want 2", n)
		}
	}
}

func TestWhatAQueueDoesNotGiveInTimeIsGivenUpAndOfferedAgainOnceOthersHaveLess(t *testing.T) {
	// The local user is not seen before the poll at 60 s: of the three processors offered none comes in 20 s. After
	// the poll at 120 s they are there.
	p := grown(t, platform.LocalFCFS, engine.PRA, users(local(0, 0, 3, 100)), 4, elastic(0, 1, 4, plain, 240))
	p.same("sizes", p.sizes(1), "0 1, 120 +3")
	p.times([2]float64{0, 150})
	if n := countEvents(p, core.PartAccepted); n != 2 {
		t.Errorf("the queue was asked %d times for more, want 2", n)
	}
}

func TestAJobGoesOnWithThePartOfWhatItAcceptedThatCameInTime(t *testing.T) {
	disturb := func() *Disturbances { return users(local(0, 0, 2, 100), local(0, 0, 1, 10)) }
	p := grown(t, platform.LocalFCFS, engine.PRA, disturb(), 4, elastic(0, 1, 4, plain, 260))
	// One comes at 10 s and is handed over with the end of the time at 20 s: 20 are done then, 220 at 120 s.
	p.same("sizes", p.sizes(1), "0 1, 20 +1, 120 +2")
	p.times([2]float64{0, 130})

	ft := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	p = grown(t, platform.LocalFCFS, engine.PRA, users(local(0, 0, 1, 100), local(0, 0, 2, 10)), 4,
		elastic(0, 1, 4, ft, 260))
	// With two more it would have three, of which it can use two. What the local user has is not seen before 60 s, and
	// is not there for what it accepted then.
	p.same("sizes of a program that takes powers of two", p.sizes(1), "0 1, 20 +2, 20 -1, 40 +1, 40 -1, 60 +1, 60 -1, 80 +1, 80 -1, 120 +2")
	p.times([2]float64{0, 130})
}

func TestJobsInAQueueShrinkForThoseWhoWaitButKeepWhatTheyBeganWith(t *testing.T) {
	grid := gridOf(t, "clusters: [{name: a, hosts: 4, local: easy, queue: 1}]")
	p := play(t, Config{Platform: grid, Engine: policies(engine.PWA, "fpsma")}, elastic(0, 1, 4, plain, 280),
		rigid(50, 2, 20), rigid(65, 4, 10))
	// Only a job of one processor may wait in the queue itself. 200 are done by four at
	// 50 s, 240 by two at 70 s. For the last there is no room as long as it runs, so it grows again.
	p.same("sizes", p.sizes(1), "0 1, 0 +3, 50 -2, 70 +2")
	p.times([2]float64{0, 80}, [2]float64{50, 70}, [2]float64{80, 90})
}

func TestWithoutAPolicyNobodyGrowsInAQueue(t *testing.T) {
	easy := platform.LocalEASY
	cfg := engine.DefaultConfig()
	cfg.Malleable = nil
	p := play(t, Config{Platform: clustersOf(t, 4), Local: &easy, Engine: cfg}, elastic(0, 1, 4, plain, 200))
	p.same("sizes", p.sizes(1), "0 4")
}
