package world

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestAListByStartStaysInOrderWhoeverComesAndGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := make([]*Part, 12)
		for i := range parts {
			parts[i] = &Part{order: int64(i + 1)}
		}
		var l byStart
		in := map[*Part]bool{}
		for range 60 {
			p := rapid.SampledFrom(parts).Draw(t, "part")
			wanted := rapid.Bool().Draw(t, "wanted")
			l.setListed(p, wanted)
			in[p] = wanted
			var want byStart
			for _, p := range parts {
				if in[p] {
					want = append(want, p)
				}
			}
			if !slices.Equal(l, want) {
				t.Fatalf("lists %d parts, want %d, or in another order", len(l), len(want))
			}
		}
	})
}

func TestPartsMoveBetweenTheListsAsTheirSizeChanges(t *testing.T) {
	w := testWorld(20)
	c := w.Cluster(0)
	lists := func() [4]int {
		return [4]int{len(c.MalleableParts()), len(c.GrowableParts()), len(c.ShrinkableParts()), c.ReclaimableProcs()}
	}
	expect := func(when string, want [4]int) {
		t.Helper()
		if got := lists(); got != want {
			t.Errorf("%s: malleable, growable, shrinkable, reclaimable are %v, want %v", when, got, want)
		}
	}
	mustApply(t, w, started(w, 1, core.Malleable, 0, 4, 2, 6)...)
	mustApply(t, w, started(w, 2, core.Rigid, 0, 4, 4, 4)...)
	mustApply(t, w, started(w, 3, core.Moldable, 0, 4, 2, 6)...)
	expect("only the malleable job is listed", [4]int{1, 1, 1, 2})
	grow := core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: 2, Procs: c.ChooseProcs(2, nil), Serial: 1,
		When: core.Never}
	mustApply(t, w, grow, core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, N: 2, Serial: 1})
	expect("at its maximum", [4]int{1, 0, 1, 4})
	shrink := core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: -4, Serial: 2, When: core.Never}
	mustApply(t, w, shrink, core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, N: 4, Serial: 2})
	expect("at its minimum", [4]int{1, 1, 0, 0})
	mustApply(t, w, became(1, core.Running, core.Stopping))
	expect("told to leave", [4]int{})
	if c.LeavingParts() != 1 {
		t.Errorf("%d are leaving", c.LeavingParts())
	}
	mustApply(t, w, became(1, core.Stopping, core.Stopped))
	if c.LeavingParts() != 0 || c.IdleProcs() != 12 {
		t.Errorf("%d are leaving, %d idle after it left", c.LeavingParts(), c.IdleProcs())
	}
}

func TestAProgramThatDoesNotAnswerIsOutOfTheListsUntilItDoes(t *testing.T) {
	w := testWorld(20)
	c := w.Cluster(0)
	mustApply(t, w, started(w, 1, core.Malleable, 0, 4, 2, 8)...)
	mustApply(t, w, core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: 2, Procs: c.ChooseProcs(2, nil), Serial: 1,
		When: 60},
		core.Event{Kind: core.PartSilent, Job: 1, Epoch: 1, Serial: 1, At: 60})
	if c.OpenOffers() != 0 || len(c.MalleableParts()) != 0 || c.ReclaimableProcs() != 0 || c.IdleProcs() != 14 ||
		w.NextTimer() != core.Never {
		t.Errorf("%d offers, %d listed, %d reclaimable, %d idle, timer at %d", c.OpenOffers(), len(c.MalleableParts()),
			c.ReclaimableProcs(), c.IdleProcs(), w.NextTimer())
	}
	mustApply(t, w, core.Event{Kind: core.PartAsked, Job: 1, Epoch: 1, N: 2, Mandatory: true, At: 61},
		core.Event{Kind: core.PartGaveBack, Job: 1, Epoch: 1, N: 1, Procs: core.ProcSet{{Lo: 3, Hi: 4}}, At: 62})
	if len(c.AskingParts()) != 0 || c.IdleProcs() != 15 {
		t.Errorf("%d ask, %d idle", len(c.AskingParts()), c.IdleProcs())
	}
	mustApply(t, w, core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, N: 2, Serial: 1, At: 70})
	if len(c.GrowableParts()) != 1 || len(c.AskingParts()) != 1 || c.ReclaimableProcs() != 3 || w.Job(1).Size() != 5 {
		t.Errorf("%d growable, %d ask, %d reclaimable, size %d", len(c.GrowableParts()), len(c.AskingParts()),
			c.ReclaimableProcs(), w.Job(1).Size())
	}
}

func TestAProgramThatMustHaveMoreIsListedUntilItWasOffered(t *testing.T) {
	w := testWorld(20)
	c := w.Cluster(0)
	for id := core.JobID(1); id <= 2; id++ {
		mustApply(t, w, started(w, id, core.Malleable, 0, 4, 2, 8)...)
	}
	ask := func(id core.JobID, must bool) core.Event {
		return core.Event{Kind: core.PartAsked, Job: id, Epoch: 1, N: 3, Mandatory: must}
	}
	mustApply(t, w, ask(2, true), ask(1, false))
	if len(c.AskingParts()) != 1 || w.Job(2).Part(0).AskedProcs() != 3 || w.Job(1).Part(0).AskedProcs() != 0 {
		t.Errorf("%d ask; job 2 for %d, job 1 for %d", len(c.AskingParts()), w.Job(2).Part(0).AskedProcs(),
			w.Job(1).Part(0).AskedProcs())
	}
	mustApply(t, w, ask(1, true))
	if c.AskingParts()[0].Job() != w.Job(1) {
		t.Error("the job that started first does not come first")
	}
	mustApply(t, w, core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: 1, Procs: c.ChooseProcs(1, nil), Serial: 1,
		When: core.Never})
	if len(c.AskingParts()) != 1 || c.AskingParts()[0].Job() != w.Job(2) {
		t.Error("who was offered something still asks")
	}
	mustApply(t, w, became(2, core.Running, core.Failed))
	if len(c.AskingParts()) != 0 {
		t.Error("who is gone still asks")
	}
}
