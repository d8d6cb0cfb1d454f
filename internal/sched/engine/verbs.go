package engine

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// What the user of a job does with it while it lives: hold, release, requeue, suspend, resume, update.

// steerJob does what the user of a job wants, and reports whether the input is about that.
func (e *Engine) steerJob(j *world.Job, in *core.Input) bool {
	switch in.Kind {
	case core.HoldJob:
		e.holdForUser(j)
	case core.ReleaseJob:
		e.releaseForUser(j)
	case core.RequeueJob:
		e.requeueForUser(j, in.Hold)
	case core.SuspendJob:
		e.suspendForUser(j)
	case core.ContinueJob:
		e.continueForUser(j)
	case core.UpdateJob:
		e.updateForUser(j, in.Change)
	default:
		return false
	}
	return true
}

// isOnProcessors reports whether the attempt of a job runs, or is being ended.
func isOnProcessors(j *world.Job) bool {
	s := j.State()
	return s == core.Running || s == core.Stopping || s == core.Stopped
}

// holdForUser keeps a job that does not run from being placed. What it asked for is given up.
func (e *Engine) holdForUser(j *world.Job) {
	if j.IsHeldByUser() || isOnProcessors(j) {
		return
	}
	e.markHeld(j)
	if len(j.Parts()) > 0 {
		e.goBack(j, core.Reason{Code: core.HeldByUser})
	}
	if h := j.CurrentHold(); h != core.HeldDependency && h != core.HeldBegin { // else that comes first
		e.keepForUser(j)
	}
}

func (e *Engine) markHeld(j *world.Job) {
	e.emitEvent(core.Event{Kind: core.JobHeldByUser, Job: j.Spec().ID, Epoch: j.Epoch(),
		Why: core.Reason{Code: core.HeldByUser}})
}

// keepForUser keeps a job that waits to be placed from it, as its user wants, and reports whether that is so.
func (e *Engine) keepForUser(j *world.Job) bool {
	why, kept := userHoldReason(j)
	if kept {
		e.keepHeld(j, core.HeldUser, why)
		e.freeSlot(j.Spec())
		e.anyDirt = true // somebody else may be the head of the queue now
	}
	return kept
}

// userHoldReason says why a job is not placed, as its user wants; false: it may be.
func userHoldReason(j *world.Job) (core.Reason, bool) {
	switch {
	case j.IsHeldByUser():
		return core.Reason{Code: core.HeldByUser}, true
	case j.IsSuspended():
		return core.Reason{Code: core.LostWhileSuspended}, true
	}
	return core.Reason{}, false
}

// releaseForUser lets a job be placed again.
func (e *Engine) releaseForUser(j *world.Job) {
	if !j.IsHeldByUser() {
		return
	}
	e.emitEvent(core.Event{Kind: core.JobReleasedByUser, Job: j.Spec().ID, Epoch: j.Epoch(),
		Why: core.Reason{Code: core.ReleasedByUser}})
	if j.CurrentHold() == core.HeldUser {
		e.admitJob(j, false)
	}
}

// requeueForUser has a job placed again: one that runs saves itself if it can, what another has asked for is given up.
func (e *Engine) requeueForUser(j *world.Job, hold bool) {
	why := core.Reason{Code: core.RequeuedByUser}
	runs := j.State() == core.Running
	switch {
	case !runs && isOnProcessors(j):
		return // it is about to be
	case !runs && hold:
		e.holdForUser(j)
		return
	case !runs && len(j.Parts()) > 0:
		e.abandonPlacement(j, why)
		return
	case !runs:
		return
	}
	if hold && !j.IsHeldByUser() {
		e.markHeld(j)
	}
	if j.IsSuspended() {
		e.markContinued(j, why)
	}
	e.stopJob(j, 0, why)
}

// suspendForUser stops the program of a job, which keeps its processors.
func (e *Engine) suspendForUser(j *world.Job) {
	if j.State() != core.Running || j.IsSuspended() {
		return
	}
	e.emitEvent(core.Event{Kind: core.JobSuspended, Job: j.Spec().ID, Epoch: j.Epoch(),
		Why: core.Reason{Code: core.SuspendedByUser}})
	e.emitCommand(core.Command{Kind: core.Suspend, Job: j.Spec().ID, Epoch: j.Epoch()})
}

// continueForUser lets the program of a job go on. One whose attempt was lost meanwhile is placed again.
func (e *Engine) continueForUser(j *world.Job) {
	if !j.IsSuspended() {
		return
	}
	e.markContinued(j, core.Reason{Code: core.ContinuedByUser})
	if j.CurrentHold() == core.HeldUser {
		e.admitJob(j, false)
	}
}

func (e *Engine) markContinued(j *world.Job, why core.Reason) {
	e.emitEvent(core.Event{Kind: core.JobContinued, Job: j.Spec().ID, Epoch: j.Epoch(), Why: why})
	if j.State() != core.Running {
		return
	}
	e.emitCommand(core.Command{Kind: core.Suspend, Job: j.Spec().ID, Epoch: j.Epoch()})
	for _, p := range j.Parts() {
		e.markDirty(p.Cluster())
	}
}

// updateForUser changes what a job asks for. One that waits is looked at again at once; one that was placed where it
// may not run any more, and does not run yet, is placed again; the agents of one that runs are told of another
// deadline.
func (e *Engine) updateForUser(j *world.Job, change *core.Change) {
	if change == nil {
		return
	}
	spec := change.ApplyTo(j.Spec())
	if spec.CheckSpec() != nil || !e.clustersKnown(change.Clusters) {
		return
	}
	hold := j.CurrentHold()
	if hold != core.HeldDependency && hold != core.HeldBegin {
		spec.After = nil // met: that was seen before
	}
	began, moved := change.Begin != nil, change.Anywhere || len(change.Clusters) > 0
	if _, fits := place.EverFits(e.viewFor(spec.ID), spec, e.w.PlacePolicy(spec)); moved && !fits {
		return // it would wait for ever: whoever asked was told
	}
	e.emitEvent(core.Event{Kind: core.JobUpdated, Job: spec.ID, Epoch: j.Epoch(), Spec: spec, Change: change,
		Why: core.Reason{Code: core.UpdatedByUser}})
	if to, pinned := j.PinnedAim().Cluster(); pinned && moved && !mayRunOn(spec, to) {
		e.emitEvent(core.Event{Kind: core.JobPinned, Job: spec.ID, Epoch: j.Epoch(),
			Why: core.Reason{Code: core.UpdatedByUser}})
	}
	switch {
	case isOnProcessors(j):
		if change.Deadline != nil {
			e.emitCommand(core.Command{Kind: core.Inform, Job: spec.ID, Epoch: j.Epoch()})
		}
	case len(j.Parts()) > 0:
		if slices.ContainsFunc(j.Parts(), func(p *world.Part) bool { return !mayRunOn(spec, p.Cluster().ID()) }) {
			e.abandonPlacement(j, core.Reason{Code: core.UpdatedByUser})
		}
	case hold == core.HeldBegin && began, hold == core.HeldNowhere && moved:
		e.admitJob(j, hold == core.HeldNowhere)
	case hold == core.NotHeld && j.State() == core.Submitted && spec.Begin > e.now:
		e.keepHeld(j, core.HeldBegin, core.Reason{Code: core.BeginsLater})
	case j.IsQueued():
		e.updateQueued(j)
	}
}

// updateQueued looks again at a job of the placement queue that is another by now.
func (e *Engine) updateQueued(j *world.Job) {
	if _, placed := e.tryPlace(j); !placed {
		_, why, _ := place.Place(e.waitingView(j.Spec().ID), j.Spec(), e.w.PlacePolicy(j.Spec()), e.choices[:0])
		e.emitEvent(core.Event{Kind: core.JobWaits, Job: j.Spec().ID, Epoch: j.Epoch(), Why: why})
	}
}

func (e *Engine) clustersKnown(list []core.ClusterID) bool {
	return !slices.ContainsFunc(list, func(c core.ClusterID) bool { return c < 0 || int(c) >= len(e.w.Clusters()) })
}

// mayRunOn reports whether a job allows a cluster.
func mayRunOn(spec *core.Job, c core.ClusterID) bool {
	return slices.ContainsFunc(spec.Components, func(comp core.Component) bool {
		return len(comp.Clusters) == 0 || slices.Contains(comp.Clusters, c)
	})
}
