package world

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestPredictedSpeedIsPositiveAndNeverFallsWithSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScaling()
		for range rapid.IntRange(0, 30).Draw(t, "measurements") {
			size := rapid.IntRange(1, 200)
			rate := rapid.Float64Range(1e-6, 10)
			s.learnRatio(size.Draw(t, "a"), rate.Draw(t, "ra"), size.Draw(t, "b"), rate.Draw(t, "rb"))
		}
		for n, last := 1, 0.0; n <= 300; n++ {
			r := s.RelativeSpeed(n)
			if math.IsNaN(r) || r <= 0 || r < last*(1-1e-9) {
				t.Fatalf("the speed at %d is %g, at one less %g", n, r, last)
			}
			last = r
		}
	})
}

// progressed is a report of the first job's progress at a second.
func progressed(second, done float64) core.Event {
	return core.Event{Kind: core.JobProgressed, Job: 1, Epoch: 1, At: core.AtSecond(second), Done: done}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 0.02*math.Abs(b) }

func TestAJobsRemainingTimeIsPredictedFromItsOwnPace(t *testing.T) {
	w := testWorld(20)
	mustApply(t, w, started(w, 1, core.Malleable, 0, 4, 2, 16)...)
	mustApply(t, w, progressed(100, 0.2),
		core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: 4, Procs: w.Cluster(0).ChooseProcs(4, nil), Serial: 1,
			When: core.Never, At: core.AtSecond(100)},
		core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, N: 4, Serial: 1, Done: 0.2, At: core.AtSecond(100)},
		progressed(200, 0.6))
	j := w.Job(1)
	if got := j.RemainingSeconds(8, core.AtSecond(200)); !near(got, 100) {
		t.Errorf("at its size it is predicted to take %g s more, want 100", got)
	}
	if got := j.RemainingSeconds(8, core.AtSecond(250)); !near(got, 50) {
		t.Errorf("half that time later %g s, want 50", got)
	}
	if more, fewer := j.RemainingSeconds(16, core.AtSecond(200)), j.RemainingSeconds(4, core.AtSecond(200)); more >= 100 ||
		fewer <= 100 {
		t.Errorf("with twice the processors %g s, with half %g s", more, fewer)
	}
}

func TestJobsOfAProgramThatRanTeachWhatTheNextOneTakes(t *testing.T) {
	w := testWorld(20)
	for id := core.JobID(1); id <= 2; id++ {
		events := started(w, id, core.Malleable, 0, 4, 2, 16)
		events[0].Spec.App = "gadget"
		for i := range events {
			events[i].At = w.Now()
		}
		mustApply(t, w, events...)
		if id == 2 {
			break
		}
		end := became(1, core.Running, core.Done)
		end.At = core.AtSecond(500)
		mustApply(t, w, end)
	}
	if got := w.Job(2).RemainingSeconds(4, core.AtSecond(500)); !near(got, 500) {
		t.Errorf("the second job is predicted to take %g s, the first took 500", got)
	}
}

func TestNonsenseAboutProgressChangesNothing(t *testing.T) {
	w := testWorld(20)
	mustApply(t, w, started(w, 1, core.Malleable, 0, 4, 2, 16)...)
	mustApply(t, w, started(w, 2, core.Rigid, 0, 4, 4, 4)...)
	mustApply(t, w, progressed(100, 0.2))
	before := w.Job(1).RemainingSeconds(4, core.AtSecond(100))
	for _, done := range []float64{-1, 0.1, 7, math.NaN(), math.Inf(1), math.Inf(-1)} {
		mustApply(t, w, progressed(100, done))
		mustApply(t, w, core.Event{Kind: core.JobProgressed, Job: 2, Epoch: 1, At: core.AtSecond(100), Done: done})
	}
	if after := w.Job(1).RemainingSeconds(4, core.AtSecond(100)); after != before {
		t.Errorf("predicted %g s before and %g s after", before, after)
	}
}
