package world

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestATimerMattersOnlyWhileWhatItWaitsForIsOpen(t *testing.T) {
	w := testWorld(20)
	c := w.Cluster(0)
	expect := func(when string, want core.Time) {
		t.Helper()
		if got := w.NextTimer(); got != want {
			t.Errorf("%s the next timer is %d, want %d", when, got, want)
		}
	}
	expect("at first", core.Never)
	mustApply(t, w, submitted(1, core.Malleable, core.Component{Min: 2, Max: 8}),
		core.Event{Kind: core.PartPlanned, Job: 1, Epoch: 1, N: 4, Min: 2, Max: 8, When: 50},
		became(1, core.Submitted, core.Selected), became(1, core.Selected, core.Staging))
	expect("with a late claim", 50)
	mustApply(t, w, core.Event{Kind: core.PartHeld, Job: 1, Epoch: 1, Procs: c.ChooseProcs(4, nil)})
	expect("claimed", core.Never)
	mustApply(t, w, became(1, core.Staging, core.Queued), became(1, core.Queued, core.Running))
	mustApply(t, w, core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: -1, Mandatory: true, When: 70, Serial: 1})
	expect("with an offer", 70)
	if _, due := w.DueTimer(69); due {
		t.Error("it is due before its time")
	}
	if timer, due := w.DueTimer(71); !due || timer.Kind != AnswerDue || timer.Job != 1 {
		t.Errorf("due is %+v, %v", timer, due)
	}
	mustApply(t, w, core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, Serial: 1})
	expect("answered", core.Never)
	stop := became(1, core.Running, core.Stopping)
	stop.When = 90
	mustApply(t, w, stop)
	expect("told to leave", 90)
	mustApply(t, w, became(1, core.Stopping, core.Stopped), became(1, core.Stopped, core.Resuming))
	expect("left", core.Never)
}

func TestATimerOfAnOldEpochNeverRings(t *testing.T) {
	w := testWorld(20)
	plan := func(epoch core.Epoch, when core.Time) []core.Event {
		return []core.Event{
			{Kind: core.PartPlanned, Job: 1, Epoch: epoch, N: 4, Min: 4, Max: 4, When: when},
			{Kind: core.JobBecame, Job: 1, From: core.Submitted, To: core.Selected},
		}
	}
	mustApply(t, w, submitted(1, core.Rigid, core.Component{Min: 4, Max: 4}))
	mustApply(t, w, plan(1, 50)...)
	mustApply(t, w, became(1, core.Selected, core.Submitted))
	mustApply(t, w, plan(2, 80)...)
	if got := w.NextTimer(); got != 80 {
		t.Errorf("the next timer is %d, want 80", got)
	}
}

func TestTimersRingInOrderOfTimeThenOfSetting(t *testing.T) {
	w := testWorld(20)
	for id := core.JobID(1); id <= 4; id++ {
		mustApply(t, w, submitted(id, core.Rigid, core.Component{Min: 4, Max: 4}),
			core.Event{Kind: core.PartPlanned, Job: id, Epoch: 1, N: 4, Min: 4, Max: 4, When: core.Time(60 - 10*(id%2))},
			became(id, core.Submitted, core.Selected))
	}
	for _, want := range []core.JobID{1, 3, 2, 4} {
		timer, due := w.DueTimer(100)
		if !due || timer.Job != want {
			t.Fatalf("due is %+v, want job %d", timer, want)
		}
		mustApply(t, w, became(want, core.Selected, core.Cancelled))
	}
}
