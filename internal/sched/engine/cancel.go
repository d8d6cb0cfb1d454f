package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// cancel ends a job for its user. A program that somebody can reach gets time to
// end by itself, and its files are fetched; the job is over when that is done, when
// it has taken too long, or when its user does not want to wait for it.
func (e *Engine) cancel(j *world.Job, in *core.Input) {
	switch {
	case len(j.Parts()) == 0:
		e.anyDirt = true // somebody else may be the head of the queue now
		e.become(j, core.Cancelled, core.Reason{Code: core.AskedByUser})
	case !in.Attended, in.Immediate && j.IsCancelled() && !e.inGrace(j), !e.runs(j):
		e.release(j)
		e.leaves(j)
		e.become(j, core.Cancelled, core.Reason{Code: core.AskedByUser})
	case !j.IsCancelled() || in.Immediate:
		e.terminate(j, in)
	}
}

// inGrace reports whether the program of a cancelled job still has time to end by
// itself.
func (e *Engine) inGrace(j *world.Job) bool {
	return j.Due() != core.Never && j.Due().Add(-e.cfg.CollectGrace) > e.now
}

// terminate has a program ended, with time to end by itself.
func (e *Engine) terminate(j *world.Job, in *core.Input) {
	killAt := e.now.Add(max(0, in.Grace))
	giveUpAt := core.Never
	if e.cfg.CollectGrace > 0 {
		giveUpAt = killAt.Add(e.cfg.CollectGrace)
	}
	e.emit(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Stopping, When: giveUpAt,
		Aim: core.AimNowhere, Why: core.Reason{Code: core.CancelRequested, A: max(0, in.Grace).Seconds()}})
	e.command(core.Command{Kind: core.Stop, Job: j.Spec().ID, Epoch: j.Epoch(), Due: killAt, Terminate: true})
}

// collecting: the program of a cancelled job has ended, and its files are on their
// way, which may take as long as it takes.
func (e *Engine) collecting(j *world.Job) {
	if j.IsCancelled() && j.Due() != core.Never {
		e.emit(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: core.Stopping, To: core.Stopping, When: core.Never,
			Aim: core.AimNowhere, Why: core.Reason{Code: core.FetchingFiles}})
	}
}

// endCancelled ends the life of a cancelled job whose attempt is over.
func (e *Engine) endCancelled(j *world.Job, code int, why core.Reason) {
	e.leaves(j)
	e.emit(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Cancelled, ExitCode: code, Why: why})
}

// release has whatever an attempt holds given back.
func (e *Engine) release(j *world.Job) {
	e.command(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
}
