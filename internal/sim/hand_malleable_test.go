package sim

import (
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// measured is a program whose run times were measured.
func measured(t testing.TB, accept app.Acceptance, pause time.Duration, points ...app.Point) (*app.App, float64) {
	t.Helper()
	table, err := app.NewTable(points)
	if err != nil {
		t.Fatal(err)
	}
	return &app.App{Name: "measured", Speedup: table, Accept: accept, Resize: pause}, table.SequentialTime()
}

func initially(n int, j workload.Job) workload.Job {
	return with(j, func(j *workload.Job) { j.Spec.Components[0].Initial = n })
}

func TestGrowingPausesTheProgramAndThenSpeedsItUpAsMeasured(t *testing.T) {
	a, work := measured(t, app.Any, 15*second, app.Point{Size: 2, Seconds: 600}, app.Point{Size: 6, Seconds: 300})
	p := play(t, Config{Platform: clustersOf(t, 6), Engine: policies(engine.PRA, "fpsma"), ProgressEvery: 10 * second},
		rigid(0, 4, 60), initially(2, elastic(0, 2, 6, a, work)))
	// A tenth of the work is done at 60 s; it stands still until 75 s; nine
	// tenths of 300 s are left.
	p.same("sizes", p.sizes(2), "0 2, 60 +4")
	p.times([2]float64{0, 60}, [2]float64{0, 345})
}

func TestAChangeOfSizeDuringAPauseBeginsThePauseAnew(t *testing.T) {
	a, work := measured(t, app.Any, 20*second, app.Point{Size: 1, Seconds: 400}, app.Point{Size: 2, Seconds: 200},
		app.Point{Size: 4, Seconds: 100})
	p := play(t, Config{Platform: clustersOf(t, 4), Engine: policies(engine.PRA, "fpsma")},
		rigid(0, 1, 40), rigid(0, 2, 50), initially(1, elastic(0, 1, 4, a, work)))
	// A tenth is done at 40 s; the pause would have ended at 60 s, but at 50 s
	// it grows again: it goes on at 70 s with nine tenths of 100 s.
	p.same("sizes", p.sizes(3), "0 1, 40 +1, 50 +2")
	p.times([2]float64{0, 40}, [2]float64{0, 50}, [2]float64{0, 160})
}

func TestAPowersOfTwoProgramRefusesWhatItCannotUse(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	p := play(t, Config{Platform: clustersOf(t, 9), Engine: policies(engine.PRA, "fpsma")},
		rigid(0, 4, 10), rigid(0, 3, 20), initially(2, elastic(0, 2, 8, a, 200)))
	// Of 4 it takes 2. Of 5 it takes 4: it does 20 s at 2, 10 s at 4, 140/8.
	p.same("sizes", p.sizes(3), "0 2, 10 +2, 20 +4")
	p.times([2]float64{0, 10}, [2]float64{0, 20}, [2]float64{0, 37.5})
}

func TestAPowersOfTwoProgramGivesBackAtItsStartWhatItCannotUse(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	grid := gridOf(t, "clusters: [{name: a, hosts: [{name: slow, cores: 3, speed: 0.5}, {name: fast, cores: 4, speed: "+
		"1}]}]")
	p := play(t, Config{Platform: grid, Engine: policies(engine.PRA, "fpsma")}, elastic(0, 2, 8, a, 80), rigid(1, 3, 5))
	// It keeps 4 of 7, the fast ones, and so runs at speed 1; the others are
	// free for who comes next.
	p.same("sizes", p.sizes(1), "0 7, 0 -3")
	p.times([2]float64{0, 20}, [2]float64{1, 11})
}

func TestAMoldablePowersOfTwoProgramKeepsWhatItCannotUse(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	p := play(t, Config{Platform: clustersOf(t, 7), Engine: policies(engine.PRA, "fpsma")},
		with(elastic(0, 2, 8, a, 80), func(j *workload.Job) { j.Spec.Kind = core.Moldable }), rigid(1, 3, 5))
	p.same("sizes", p.sizes(1), "0 7")
	p.times([2]float64{0, 20}, [2]float64{20, 25})
}

func TestAMandatoryShrinkMakesRoomForWhoWaits(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}, Resize: 4 * second}
	p := play(t, Config{Platform: clustersOf(t, 8), Engine: policies(engine.PWA, "fpsma")}, elastic(0, 2, 8, a, 800),
		rigid(50, 5, 20))
	// 400 are done at 50 s. It stands still for 4 s and has 3 processors until
	// 70 s: 48 more. After another 4 s the last 352 take 44 s.
	p.same("sizes", p.sizes(1), "0 8, 50 -5, 70 +5")
	p.times([2]float64{0, 118}, [2]float64{50, 70})
}

func TestAPowersOfTwoProgramGivesBackMoreThanItMust(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	p := play(t, Config{Platform: clustersOf(t, 8), Engine: policies(engine.PWA, "fpsma")}, elastic(0, 2, 8, a, 800), rigid(50, 5, 20))
	p.same("sizes", p.sizes(1), "0 8, 50 -5, 50 -1, 70 +6")
	p.times([2]float64{0, 115}, [2]float64{50, 70})
}

func TestUnderPRANobodyIsShrunk(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}}
	p := play(t, Config{Platform: clustersOf(t, 8), Engine: policies(engine.PRA, "fpsma")}, elastic(0, 2, 8, a, 800),
		rigid(50, 5, 20))
	p.same("sizes", p.sizes(1), "0 8")
	p.times([2]float64{0, 100}, [2]float64{100, 120})
}

func TestAProgramThatCannotReleaseIsStoppedAndGoesOnFromItsCheckpoint(t *testing.T) {
	a := &app.App{Name: "ft", Speedup: app.Linear{}, Accept: app.PowersOfTwo}
	p := play(t, Config{Platform: clustersOf(t, 4), Engine: policies(engine.PWA, "fpsma")}, elastic(0, 3, 4, a, 400),
		rigid(50, 1, 20))
	// It cannot run with 3 as a power of two, so it refuses to release one. It
	// has done 200 when it is stopped; on 3, of which it uses 2, it does 40
	// until 70 s, and the last 160 on 4.
	p.same("states", p.states(1), "0 SUBMITTED, 0 SELECTED, 0 QUEUED, 0 RUNNING, 50 STOPPING, 50 STOPPED, 50 RESUMING, "+
		"50 SELECTED, 50 QUEUED, 50 RUNNING, 110 DONE")
	p.same("sizes", p.sizes(1), "0 4, 50 3, 70 +1")
	p.times([2]float64{0, 110}, [2]float64{50, 70})
}

func TestEquipartitionTakesFromTheLargeForTheSmall(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}}
	p := play(t, Config{Platform: clustersOf(t, 8), Engine: policies(engine.PWA, "equi")},
		elastic(0, 1, 8, a, 800), elastic(20, 1, 8, a, 120))
	// 160 are done at 20 s; half of the machine each until the second is over
	// at 50 s; 280 done; 520/8 more.
	p.same("sizes", p.sizes(1)+"; "+p.sizes(2), "0 8, 20 -1, 20 -3, 50 +4; 20 1, 20 +3")
	p.times([2]float64{0, 115}, [2]float64{20, 50})
}

func TestProgressIsReportedWhenTheProgramGoesOnAndAWhileLater(t *testing.T) {
	a := &app.App{Name: "a", Speedup: app.Linear{}, Resize: 4 * second}
	var at []float64
	cfg := Config{Platform: clustersOf(t, 2), Engine: policies(engine.PRA, "fpsma"), ProgressEvery: 10 * second}
	cfg.Observe = func(now core.Time, in *core.Input, _ *engine.Output) {
		if in.Kind == core.Progress {
			at = append(at, now.Seconds(), in.Done)
		}
	}
	play(t, cfg, rigid(0, 1, 20), elastic(0, 1, 2, a, 100))
	// 10 s after the start; 20 s are done when it grows; 4 s later it goes on;
	// another 10 s later it has done 20 more.
	want := []float64{10, 0.1, 24, 0.2, 34, 0.4}
	if len(at) != len(want) {
		t.Fatalf("got %v, want %v", at, want)
	}
	for i := range want {
		if d := at[i] - want[i]; d > 1e-9 || d < -1e-9 {
			t.Errorf("got %v, want %v", at, want)
			break
		}
	}
}
