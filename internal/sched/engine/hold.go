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
	case e.cfg.Describes && (undescribed || j.WasHeld()):
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
	if h := j.CurrentHold(); h == core.HeldArray || h == core.HeldDescribe || h == core.HeldNowhere {
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
	switch {
	case hold != core.NotHeld:
		return hold, why, false
	case spec.Begin > e.now:
		return core.HeldBegin, core.Reason{Code: core.BeginsLater}, false
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
	if j.CurrentHold() == hold && j.HoldReason() == why {
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
		e.slots = append(e.slots, spec.Array)
	}
}

// settleHolds looks at the jobs that are held by what has just happened.
func (e *Engine) settleHolds() {
	for len(e.slots)+len(e.waiters) > 0 {
		waiters, slots := e.waiters, e.slots
		e.waiters, e.slots = nil, nil
		for _, id := range waiters {
			if j := e.w.Job(id); j != nil && (j.CurrentHold() == core.HeldDependency || j.CurrentHold() == core.HeldBegin) {
				e.admitJob(j, false)
			}
		}
		for _, array := range slots {
			for j := e.w.NextOfArray(array); j != nil && e.w.ArrayRoom(j); j = e.w.NextOfArray(array) {
				e.admitJob(j, false)
			}
		}
	}
}

// askNowhere has the jobs described again that could run on none of the clusters as
// they were.
func (e *Engine) askNowhere() {
	for _, j := range e.w.HeldNowhere() {
		e.admitJob(j, true)
	}
}
