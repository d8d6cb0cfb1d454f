package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// cancelJob ends a job for its user. A program that somebody can reach gets time to
// end by itself, and its files are fetched; the job is over when that is done, when
// it has taken too long, or when its user does not want to wait for it.
func (e *Engine) cancelJob(j *world.Job, in *core.Input) {
	switch {
	case len(j.Parts()) == 0:
		e.anyDirt = true // somebody else may be the head of the queue now
		e.changeState(j, core.Cancelled, core.Reason{Code: core.AskedByUser})
	case !in.Attended, in.Immediate && j.IsCancelled() && !e.inGrace(j), !e.ensureRunning(j):
		e.releaseAttempt(j)
		e.markLeaving(j)
		e.changeState(j, core.Cancelled, core.Reason{Code: core.AskedByUser})
	case !j.IsCancelled() || in.Immediate:
		e.terminateProgram(j, in)
	}
}

// inGrace reports whether the program of a cancelled job still has time to end by
// itself.
func (e *Engine) inGrace(j *world.Job) bool {
	return j.DueTime() != core.Never && j.DueTime().Add(-e.cfg.CollectGrace) > e.now
}

// terminateProgram has a program ended, with time to end by itself.
func (e *Engine) terminateProgram(j *world.Job, in *core.Input) {
	killAt := e.now.Add(max(0, in.Grace))
	giveUpAt := core.Never
	if e.cfg.CollectGrace > 0 {
		giveUpAt = killAt.Add(e.cfg.CollectGrace)
	}
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Stopping,
		When: giveUpAt,
		Aim:  core.AimNowhere, Why: core.Reason{Code: core.CancelRequested, A: max(0, in.Grace).Seconds()}})
	e.emitCommand(core.Command{Kind: core.Stop, Job: j.Spec().ID, Epoch: j.Epoch(), Due: killAt, Terminate: true})
}

// awaitResults: the program of a cancelled job has ended, and its files are on their
// way, which may take as long as it takes.
func (e *Engine) awaitResults(j *world.Job) {
	if j.IsCancelled() && j.DueTime() != core.Never {
		e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: core.Stopping,
			To: core.Stopping, When: core.Never,
			Aim: core.AimNowhere, Why: core.Reason{Code: core.FetchingFiles}})
	}
}

// endCancelled ends the life of a cancelled job whose attempt is over.
func (e *Engine) endCancelled(j *world.Job, code int, why core.Reason) {
	e.markLeaving(j)
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Cancelled,
		ExitCode: code, Why: why})
}

// releaseAttempt has whatever an attempt holds given back.
func (e *Engine) releaseAttempt(j *world.Job) {
	e.emitCommand(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
}
