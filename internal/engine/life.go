package engine

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

func (e *Engine) started(j *world.Job) {
	if j.State() != core.Queued {
		return
	}
	e.become(j, core.Running, core.Reason{Code: core.ClusterStarted, A: float64(j.Size())})
	e.touchAll(j)
}

func (e *Engine) ended(j *world.Job, code int) {
	if s := j.State(); s != core.Running && s != core.Stopping {
		return
	}
	e.touchAll(j)
	e.scan = true
	to, why := core.Done, core.Reason{Code: core.ExitedZero}
	if code != 0 {
		to, why = core.Failed, core.Reason{Code: core.ExitedNonZero, A: float64(code)}
	}
	e.emit(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: to, N: code, Why: why})
}

func (e *Engine) cancel(j *world.Job) {
	e.command(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
	e.touchAll(j)
	e.scan = true
	e.become(j, core.Cancelled, core.Reason{Code: core.AskedByUser})
}

// stop tells a running job to save itself and leave; it is placed again once
// it has.
func (e *Engine) stop(j *world.Job, why core.Reason) {
	if j.State() != core.Running {
		return
	}
	e.become(j, core.Stopping, why)
	e.command(core.Command{Kind: core.Stop, Job: j.Spec().ID, Epoch: j.Epoch()})
}

// left: the job saved itself and left its processors.
func (e *Engine) left(j *world.Job) {
	if j.State() != core.Stopping {
		return
	}
	e.touchAll(j)
	e.scan = true
	e.become(j, core.Stopped, core.Reason{Code: core.SavedItself})
	e.resume(j)
}

// crashed: the job ended through no fault of its own. What its program lost is
// the checkpoint method's business; here it only gets another attempt.
func (e *Engine) crashed(j *world.Job) { e.attemptLost(j, core.Reason{Code: core.HostLost}) }

func (e *Engine) attemptLost(j *world.Job, why core.Reason) {
	switch s := j.State(); {
	case s == core.Running || s == core.Stopping:
		e.command(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
		e.touchAll(j)
		e.scan = true
		e.become(j, core.Stopped, why)
		if j.Attempts() > j.Spec().Retries {
			e.become(j, core.Failed, core.Reason{Code: core.RetriesUsedUp, A: float64(j.Attempts() - 1)})
			return
		}
		e.resume(j)
	case len(j.Parts()) > 0:
		e.replace(j)
	}
}

func (e *Engine) resume(j *world.Job) {
	e.become(j, core.Resuming, core.Reason{Code: core.NoReason})
	e.placeOrEnqueue(j)
}

// clusterChanged: others came or went, hosts failed or joined.
func (e *Engine) clusterChanged(in *core.Input) {
	if in.Cluster < 0 || int(in.Cluster) >= len(e.dirty) {
		return
	}
	c := e.w.Cluster(in.Cluster)
	e.touch(c)
	e.scan = true
	switch in.Kind {
	case core.Polled:
		e.emit(core.Event{Kind: core.OthersPolled, Cluster: in.Cluster, Procs: in.Procs})
	case core.HostsUp:
		e.emit(core.Event{Kind: core.HostsJoined, Cluster: in.Cluster, Procs: in.Procs})
	case core.HostsDown:
		e.emit(core.Event{Kind: core.HostsFailed, Cluster: in.Cluster, Procs: in.Procs})
		for _, j := range e.w.Holders(c, in.Procs) {
			e.attemptLost(j, core.Reason{Code: core.HostLost, A: float64(in.Procs.Count())})
		}
	}
}
