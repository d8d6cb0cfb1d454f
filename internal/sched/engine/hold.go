package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// admitJob places a submitted job, unless something holds it: a dependency, its begin
// time, the limit of its array. One that was held, or of which nothing is known yet,
// is described first: by then more may be known of its program and its files.
func (e *Engine) admitJob(j *world.Job, undescribed bool) {
	hold, why, never := e.holdOf(j)
	switch {
	case never:
		e.changeState(j, core.Cancelled, why)
	case hold != core.NotHeld:
		e.keepHeld(j, hold, why)
	case e.cfg.Describes && (undescribed || j.WasHeld()) && j.State() == core.Submitted:
		e.keepHeld(j, core.HeldDescribe, core.Reason{Code: core.AsksAgain})
		e.emitCommand(core.Command{Kind: core.Describe, Job: j.Spec().ID, Epoch: j.Epoch()})
	default:
		e.letIn(j)
	}
}

// holdOf says what holds a job, and why, or that it can never run.
func (e *Engine) holdOf(j *world.Job) (hold core.Hold, why core.Reason, never bool) {
	spec := j.Spec()
	after := spec.After
	if h := j.CurrentHold(); h == core.HeldArray || h == core.HeldDescribe || h == core.HeldNowhere || h == core.HeldUser {
		after = nil // met: that was seen before
	}
	for i := range after {
		d := &after[i]
		t := e.w.TargetOf(d)
		met, never := t.JudgeCondition(d.When)
		if never {
			return core.NotHeld, neverReason(d, &t), true
		}
		if !met && hold == core.NotHeld {
			hold, why = core.HeldDependency, core.Reason{Code: waitReasons[d.When], A: float64(d.Job)}
		}
	}
	byUser, isKept := userHoldReason(j)
	switch {
	case hold != core.NotHeld:
		return hold, why, false
	case spec.Begin > e.now && j.State() == core.Submitted:
		return core.HeldBegin, core.Reason{Code: core.BeginsLater}, false
	case isKept:
		return core.HeldUser, byUser, false
	case !e.w.ArrayRoom(j):
		return core.HeldArray, core.Reason{Code: core.ArrayFull, A: float64(spec.ArrayLimit)}, false
	}
	return core.NotHeld, core.Reason{}, false
}

// waitReasons says what a job waits for.
var waitReasons = [...]core.ReasonCode{core.AfterOK: core.WaitsForSuccess, core.AfterAny: core.WaitsForEnd,
	core.AfterNotOK: core.WaitsForFailure, core.AfterStart: core.WaitsForStart}

// neverReason says why a dependency can never be satisfied.
func neverReason(d *core.Dependency, t *core.Target) core.Reason {
	if d.When == core.AfterNotOK {
		return core.Reason{Code: core.DependencyWentWell, A: float64(d.Job)}
	}
	return core.Reason{Code: core.DependencyFailed, A: float64(t.FailedJob), B: float64(d.Job)}
}

// keepHeld keeps a job out of the placement queue, if that is new.
func (e *Engine) keepHeld(j *world.Job, hold core.Hold, why core.Reason) {
	if j.CurrentHold() == hold && j.HoldReason() == why && (hold != core.HeldBegin || j.HoldUntil() == j.Spec().Begin) {
		return
	}
	ev := core.Event{Kind: core.JobHeld, Job: j.Spec().ID, Epoch: j.Epoch(), Hold: hold, Why: why}
	switch hold {
	case core.HeldBegin:
		ev.When = j.Spec().Begin
	case core.HeldNowhere:
		ev.When = e.graceEnd(e.cfg.DescribeEvery)
	}
	e.emitEvent(ev)
}

// letIn places a job that nothing holds any longer.
func (e *Engine) letIn(j *world.Job) {
	if j.CurrentHold() != core.NotHeld {
		e.emitEvent(core.Event{Kind: core.JobReleased, Job: j.Spec().ID, Epoch: j.Epoch()})
	}
	if why, ok := e.EverFits(j.Spec()); !ok {
		e.changeState(j, core.Failed, why)
		return
	}
	e.placeOrEnqueue(j)
}

// jobDescribed: this is what is known of a job by now; nothing, if there is no cluster
// where it may run.
func (e *Engine) jobDescribed(j *world.Job, now *core.Job) {
	if j.CurrentHold() != core.HeldDescribe {
		return
	}
	if now == nil {
		e.keepHeld(j, core.HeldNowhere, core.Reason{Code: core.NoClusterAllowed})
		e.freeSlot(j.Spec())
		return
	}
	was, spec := j.Spec(), *now
	spec.ID, spec.App, spec.After, spec.Begin, spec.Array, spec.ArrayLimit = was.ID, was.App, was.After, was.Begin,
		was.Array, was.ArrayLimit
	if spec.CheckSpec() != nil {
		spec = *was
	}
	e.emitEvent(core.Event{Kind: core.JobDescribed, Job: spec.ID, Epoch: j.Epoch(), Spec: &spec})
	e.letIn(j)
}

// resultsReturned: a job has ended, and its results are where they belong.
func (e *Engine) resultsReturned(in *core.Input) {
	if in.Job <= 0 || in.Array < 0 || !in.Outcome.IsTerminal() || e.w.Job(in.Job) != nil ||
		!e.w.HasWaiters(in.Job, in.Array) {
		return
	}
	e.emitEvent(core.Event{Kind: core.ResultsReturned, Job: in.Job, Array: in.Array, To: in.Outcome,
		NeverRan: in.NeverRan})
}

// freeSlot notes that an array may have another job placed.
func (e *Engine) freeSlot(spec *core.Job) {
	if spec.ArrayLimit > 0 {
		e.holds.slots = append(e.holds.slots, spec.Array)
		e.marked = true
	}
}

// maxHoldsPerStep is how many held jobs a tick looks at. A large array may wait for one job:
// the engine asks to be woken at once for the rest, so that others come in between.
// maxHoldsAtATime is how many any other step looks at, and how many of those that wait for
// the same are looked at before others' turn comes.
const (
	maxHoldsPerStep = 256
	maxHoldsAtATime = 32
)

// reachedTarget is a job, or an array, to which something has happened that jobs are held
// for. Its waiters up to a number have been looked at since.
type reachedTarget struct{ job, array, after core.JobID }

// unsettledHolds is which held jobs are still to be looked at.
type unsettledHolds struct {
	targets []reachedTarget // their waiters
	slots   []core.JobID    // arrays that may have another job placed
	nowhere bool            // jobs that could run on none of the clusters as they were
	asked   core.JobID      // of these the last one that was looked at
}

func (h *unsettledHolds) isEmpty() bool { return len(h.targets)+len(h.slots) == 0 && !h.nowhere }

// reviewHolds has every held job looked at that the last engine may not have come to.
func (e *Engine) reviewHolds() {
	for _, t := range e.w.ReachedTargets() {
		e.holds.targets = append(e.holds.targets, reachedTarget{job: t[0], array: t[1]})
	}
	e.holds.slots = e.w.ArraysWithRoom()
	e.holds.nowhere = e.w.NextNowhere(0) != 0
}

// settleHolds looks at the jobs that are held by what has happened, as many as a step may.
func (e *Engine) settleHolds() {
	for e.holdsLeft > 0 && !e.holds.isEmpty() {
		targets, slots := e.holds.targets, e.holds.slots
		e.holds.targets, e.holds.slots = nil, nil
		for i, t := range targets {
			if e.holdsLeft <= 0 {
				e.holds.targets = append(targets[i:], e.holds.targets...)
				break
			}
			e.settleWaiters(t)
		}
		for _, array := range slots {
			e.settleSlots(array)
		}
		e.settleNowhere()
	}
}

// settleWaiters looks at the next of those who wait for a job, or for its array.
func (e *Engine) settleWaiters(t reachedTarget) {
	next := e.w.NextWaiter(t.job, t.array, t.after)
	for range min(maxHoldsAtATime, e.holdsLeft) {
		if next == 0 {
			return
		}
		e.holdsLeft--
		t.after = next
		e.admitJob(e.w.Job(next), false)
		next = e.w.NextWaiter(t.job, t.array, t.after)
	}
	if next != 0 {
		e.holds.targets = append(e.holds.targets, t)
	}
}

// settleSlots looks at the next jobs of an array that its limit lets in.
func (e *Engine) settleSlots(array core.JobID) {
	j := e.w.NextOfArray(array)
	for range min(maxHoldsAtATime, e.holdsLeft) {
		if j == nil || !e.w.ArrayRoom(j) {
			return
		}
		e.holdsLeft--
		e.admitJob(j, false)
		j = e.w.NextOfArray(array)
	}
	if j != nil && e.w.ArrayRoom(j) {
		e.holds.slots = append(e.holds.slots, array)
	}
}

// askNowhere has the jobs described again that could run on none of the clusters as
// they were.
func (e *Engine) askNowhere() {
	e.holds.nowhere, e.holds.asked = e.w.NextNowhere(0) != 0, 0
	e.marked = true
}

// settleNowhere does so with the next of them.
func (e *Engine) settleNowhere() {
	if !e.holds.nowhere {
		return
	}
	for range min(maxHoldsAtATime, e.holdsLeft) {
		next := e.w.NextNowhere(e.holds.asked)
		if next == 0 {
			break
		}
		e.holdsLeft--
		e.holds.asked = next
		e.admitJob(e.w.Job(next), true)
	}
	e.holds.nowhere = e.w.NextNowhere(e.holds.asked) != 0
}
