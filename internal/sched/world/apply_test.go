package world

import (
	"bytes"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// busyWorld has two clusters of ten; job 1 waits in the queue, 2 is placed in
// cluster 0 with a late claim, 3 (malleable) runs on 0-3 of cluster 0 with an
// open offer of 4 and 5, 4 (rigid) runs in cluster 1, 5 waits.
func busyWorld(t testing.TB) *World {
	w := testWorld(10, 10)
	mustApply(t, w, submitted(1, core.Rigid, core.Component{Min: 9, Max: 9}),
		core.Event{Kind: core.JobEnqueued, Job: 1, N: 1},
		submitted(2, core.Rigid, core.Component{Min: 2, Max: 2}),
		core.Event{Kind: core.PartPlanned, Job: 2, Epoch: 1, N: 2, Min: 2, Max: 2, When: 99},
		became(2, core.Submitted, core.Selected), became(2, core.Selected, core.Staging))
	mustApply(t, w, started(w, 3, core.Malleable, 0, 4, 2, 8)...)
	mustApply(t, w, started(w, 4, core.Rigid, 1, 4, 4, 4)...)
	mustApply(t, w, submitted(5, core.Moldable, core.Component{Min: 2, Max: 4}),
		core.Event{Kind: core.PartOffered, Job: 3, Epoch: 1, N: 2, Procs: core.ProcSet{{Lo: 4, Hi: 6}}, When: core.Never,
			Serial: 1, At: 10})
	return w
}

func TestEventsThatCannotHaveHappenedAreRefused(t *testing.T) {
	four := core.ProcSet{{Lo: 0, Hi: 4}}
	part := func(kind core.EventKind, change func(*core.Event)) core.Event {
		ev := core.Event{Kind: kind, Job: 3, Epoch: 1, Serial: 1}
		change(&ev)
		return ev
	}
	plan := func(change func(*core.Event)) core.Event {
		ev := core.Event{Kind: core.PartPlanned, Job: 5, Epoch: 1, Cluster: 1, N: 3, Min: 2, Max: 4,
			Procs: core.ProcSet{{Lo: 4, Hi: 7}}}
		change(&ev)
		return ev
	}
	bad := map[string]core.Event{
		"goes back in time":                {Kind: core.QueueScanned, At: 9},
		"is of no kind":                    {Kind: 0, Job: 3, Epoch: 1},
		"is of an unknown kind":            {Kind: 200, Job: 3, Epoch: 1},
		"names an unknown job":             {Kind: core.JobEnqueued, Job: 77},
		"submits nothing":                  {Kind: core.JobSubmitted, Job: 7},
		"submits a job twice":              submitted(1, core.Rigid, core.Component{Min: 1, Max: 1}),
		"submits a job without components": submitted(7, core.Rigid),
		"submits a job of no size":         submitted(7, core.Rigid, core.Component{Min: 0, Max: 1}),
		"submits under another number": {Kind: core.JobSubmitted, Job: 7,
			Spec: &core.Job{ID: 8, Components: []core.Component{{Min: 1, Max: 1}}}},
		"queues twice":                        {Kind: core.JobEnqueued, Job: 1},
		"queues a running job":                {Kind: core.JobEnqueued, Job: 3},
		"goes an illegal way":                 became(1, core.Submitted, core.Running),
		"goes from where it is not":           became(1, core.Selected, core.Queued),
		"selects without parts":               became(5, core.Submitted, core.Selected),
		"polls an unknown cluster":            {Kind: core.OthersPolled, Cluster: 2},
		"polls a negative cluster":            {Kind: core.HostsFailed, Cluster: -1},
		"polls processors that are not there": {Kind: core.HostsJoined, Procs: core.ProcSet{{Lo: 8, Hi: 11}}},
		"polls a malformed set": {Kind: core.OthersPolled,
			Procs: core.ProcSet{{Lo: 4, Hi: 5}, {Lo: 1, Hi: 2}}},
		"plans for a running job": part(core.PartPlanned,
			func(ev *core.Event) { ev.N, ev.Min, ev.Max, ev.Epoch = 1, 1, 1, 2 }),
		"plans the second part first":   plan(func(ev *core.Event) { ev.Part = 1 }),
		"plans in an old epoch":         plan(func(ev *core.Event) { ev.Epoch = 0 }),
		"plans in a far epoch":          plan(func(ev *core.Event) { ev.Epoch = 2 }),
		"plans nowhere":                 plan(func(ev *core.Event) { ev.Cluster = core.Nowhere }),
		"plans an unknown component":    plan(func(ev *core.Event) { ev.Component = 1 }),
		"plans below the minimum":       plan(func(ev *core.Event) { ev.N = 1 }),
		"plans above the maximum":       plan(func(ev *core.Event) { ev.N = 5 }),
		"plans on nothing":              plan(func(ev *core.Event) { ev.N, ev.Min, ev.Procs = 0, 0, nil }),
		"plans more than there is":      plan(func(ev *core.Event) { ev.N, ev.Max, ev.Procs = 11, 20, nil }),
		"plans on fewer than it says":   plan(func(ev *core.Event) { ev.N = 4 }),
		"plans on processors of others": plan(func(ev *core.Event) { ev.Procs = core.ProcSet{{Lo: 3, Hi: 6}} }),
		"holds what is not free":        {Kind: core.PartHeld, Job: 2, Epoch: 1, Procs: core.ProcSet{{Lo: 3, Hi: 5}}},
		"holds twice":                   {Kind: core.PartHeld, Job: 4, Epoch: 1, Procs: four},
		"names an unknown part":         {Kind: core.PartClaimed, Job: 3, Epoch: 1, Part: 1},
		"names a negative part":         {Kind: core.PartClaimed, Job: 3, Epoch: 1, Part: -1},
		"is of another epoch":           {Kind: core.PartClaimed, Job: 3, Epoch: 2},
		"offers twice":                  part(core.PartOffered, func(ev *core.Event) { ev.N, ev.Serial = -1, 2 }),
		"offers to a rigid job":         {Kind: core.PartOffered, Job: 4, Epoch: 1, N: -1, Serial: 1},
		"accepts more than was offered": part(core.PartAnswered, func(ev *core.Event) { ev.N = 3 }),
		"accepts less than nothing":     part(core.PartAnswered, func(ev *core.Event) { ev.N = -1 }),
		"answers another offer":         part(core.PartAnswered, func(ev *core.Event) { ev.Serial = 2 }),
		"answers what nobody asked":     {Kind: core.PartAnswered, Job: 4, Epoch: 1},
		"gives back below its minimum": part(core.PartGaveBack,
			func(ev *core.Event) { ev.N, ev.Procs = 3, core.ProcSet{{Lo: 1, Hi: 4}} }),
		"gives back nothing":           part(core.PartGaveBack, func(ev *core.Event) {}),
		"gives back a negative number": part(core.PartGaveBack, func(ev *core.Event) { ev.N = -3 }),
		"gives back others than the last ones": part(core.PartGaveBack,
			func(ev *core.Event) { ev.N, ev.Procs = 1, core.ProcSet{{Lo: 0, Hi: 1}} }),
		"gives back while rigid": {Kind: core.PartGaveBack, Job: 4, Epoch: 1, N: 1,
			Procs: core.ProcSet{{Lo: 3, Hi: 4}}},
		"is silent about nothing":       {Kind: core.PartSilent, Job: 4, Epoch: 1},
		"is silent about another offer": part(core.PartSilent, func(ev *core.Event) { ev.Serial = 2 }),
		"asks for nothing":              part(core.PartAsked, func(ev *core.Event) {}),
		"asks while rigid":              {Kind: core.PartAsked, Job: 4, Epoch: 1, N: 1},
	}
	for what, ev := range bad {
		w := busyWorld(t)
		if what != "goes back in time" {
			ev.At = 20
		}
		if err := w.ApplyEvent(&ev); err == nil {
			t.Errorf("an event that %s is taken", what)
		} else if !strings.Contains(err.Error(), ev.Kind.String()) {
			t.Errorf("the error does not name the event: %v", err)
		}
	}
}

func TestAllPartsOfAJobHoldTheirProcessorsBeforeItRuns(t *testing.T) {
	w := testWorld(4, 4)
	two := core.Component{Min: 2, Max: 2}
	mustApply(t, w, submitted(1, core.Rigid, two, two))
	for part := range 2 {
		mustApply(t, w, core.Event{Kind: core.PartPlanned, Job: 1, Epoch: 1, Part: part, Component: part,
			Cluster: core.ClusterID(part), N: 2, Min: 2, Max: 2, When: 5})
	}
	mustApply(t, w, became(1, core.Submitted, core.Selected), became(1, core.Selected, core.Queued))
	run := became(1, core.Queued, core.Running)
	steps := []core.Event{
		{Kind: core.PartHeld, Job: 1, Epoch: 1, Procs: core.ProcSet{{Lo: 0, Hi: 2}}},
		{Kind: core.PartHeld, Job: 1, Epoch: 1, Part: 1, Procs: core.ProcSet{{Lo: 0, Hi: 2}}},
		{Kind: core.PartClaimed, Job: 1, Epoch: 1},
		{Kind: core.PartClaimed, Job: 1, Epoch: 1, Part: 1},
	}
	for _, ev := range steps {
		if w.ApplyEvent(&run) == nil {
			t.Fatalf("it runs before %v", ev)
		}
		mustApply(t, w, ev)
	}
	mustApply(t, w, run)
}

func TestAnOfferThatIsNotAcceptedGoesBackAtOnce(t *testing.T) {
	w := busyWorld(t)
	c, p := w.Cluster(0), w.Job(3).Part(0)
	if c.IdleProcs() != 4 || p.Size() != 4 {
		t.Fatalf("idle %d, size %d while 2 are offered", c.IdleProcs(), p.Size())
	}
	mustApply(t, w, core.Event{Kind: core.PartAnswered, Job: 3, Epoch: 1, N: 1, Serial: 1, At: 20})
	if c.IdleProcs() != 5 || p.Size() != 5 || p.Procs().String() != "0-4" || p.RefusedOffer() != 1 {
		t.Errorf("idle %d, size %d, holds %v, refused %d", c.IdleProcs(), p.Size(), p.Procs(), p.RefusedOffer())
	}
	mustApply(t, w, core.Event{Kind: core.PartAsked, Job: 3, Epoch: 1, N: 1, At: 20})
	if p.RefusedOffer() != 0 {
		t.Error("who asks for more is still taken to refuse it")
	}
}

func TestGivingBackWhileAShrinkIsAskedLeavesTheMinimum(t *testing.T) {
	w := testWorld(10)
	mustApply(t, w, started(w, 1, core.Malleable, 0, 6, 2, 8)...)
	mustApply(t, w, core.Event{Kind: core.PartOffered, Job: 1, Epoch: 1, N: -3, Mandatory: true, Serial: 1,
		When: core.Never},
		core.Event{Kind: core.PartGaveBack, Job: 1, Epoch: 1, N: 2, Procs: core.ProcSet{{Lo: 4, Hi: 6}}})
	all := core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, N: 3, Serial: 1}
	if w.ApplyEvent(&all) == nil {
		t.Fatal("it shrank below its minimum")
	}
	mustApply(t, w, core.Event{Kind: core.PartAnswered, Job: 1, Epoch: 1, N: 2, Serial: 1})
	if got := w.Job(1).Part(0).Procs().String(); got != "0-1" {
		t.Errorf("it holds %s", got)
	}
}

func TestAJobThatIsOverLeavesNothingBehind(t *testing.T) {
	for _, end := range []core.State{core.Done, core.Failed, core.Cancelled, core.Stopped} {
		w := busyWorld(t)
		ev := became(3, core.Running, end)
		ev.At = 20
		mustApply(t, w, ev)
		c := w.Cluster(0)
		if c.IdleProcs() != 10 || c.OpenOffers() != 0 || len(c.MalleableParts()) != 0 {
			t.Errorf("%v: %d idle, %d offers, %d listed", end, c.IdleProcs(), c.OpenOffers(), len(c.MalleableParts()))
		}
	}
}

func TestTheStateOfAJobThatIsOverIsUsedAgainClean(t *testing.T) {
	w := busyWorld(t)
	old := w.Job(3)
	end := became(3, core.Running, core.Done)
	end.At = 20
	mustApply(t, w, end)
	fresh := submitted(9, core.Rigid, core.Component{Min: 1, Max: 1})
	fresh.At = 21
	mustApply(t, w, fresh)
	j := w.Job(9)
	if j != old {
		t.Fatal("the state was not used again")
	}
	if j.Epoch() != 0 || j.AttemptCount() != 0 || len(j.Parts()) != 0 || j.Scaling() != nil ||
		j.State() != core.Submitted || j.SubmitTime() != 21 {
		t.Errorf("the new job has a past: %+v", j)
	}
}

func TestReplayingTheEventsGivesTheSameState(t *testing.T) {
	one, two := busyWorld(t), busyWorld(t)
	if a, b := one.AppendState(nil), two.AppendState(nil); !bytes.Equal(a, b) {
		t.Errorf("the same events gave\n%s\nand\n%s", a, b)
	}
	mustApply(t, two, core.Event{Kind: core.PartAsked, Job: 3, Epoch: 1, N: 1, Mandatory: true, At: 20})
	if bytes.Equal(one.AppendState(nil), two.AppendState(nil)) {
		t.Error("the state does not tell what differs")
	}
}

func TestCheckNoticesWhatIsWrong(t *testing.T) {
	for what, spoil := range map[string]func(w *World){
		"a processor held twice":   func(w *World) { w.Job(3).Part(0).procs = core.ProcSet{{Lo: 2, Hi: 6}} },
		"a size out of bounds":     func(w *World) { w.Job(3).Part(0).size = 9 },
		"a wrong count":            func(w *World) { w.Cluster(0).offers++ },
		"a wrong number idle":      func(w *World) { w.Cluster(0).idle-- },
		"a lost processor":         func(w *World) { w.Cluster(0).free.removeAll(core.ProcSet{{Lo: 8, Hi: 9}}) },
		"a part missing in a list": func(w *World) { w.Cluster(0).growable = nil },
		"a job lost in the queue":  func(w *World) { w.queue.removeJob(w.Job(1)); w.Job(1).queued = true },
		"a state without parts":    func(w *World) { w.Job(2).state = core.Stopped },
		"a queued runner":          func(w *World) { w.Job(1).state = core.Stopped },
	} {
		w := busyWorld(t)
		spoil(w)
		if w.CheckInvariants() == nil {
			t.Errorf("%s passes", what)
		}
	}
}
