package engine

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// ensureRunning notes that a job runs, if that is new, and reports whether it does.
// Whatever its program says tells that it was started: the news of that may be
// overtaken.
func (e *Engine) ensureRunning(j *world.Job) bool {
	if j.State() == core.Queued && (len(j.Parts()) == 1 || j.IsClaimed()) {
		e.changeState(j, core.Running, core.Reason{Code: core.ClusterStarted, A: float64(j.Size())})
		for _, p := range j.Parts() {
			e.markDirty(p.Cluster())
			if p.Cluster().HasQueueLimit() { // the next may wait in its queue
				e.markFreed(p.Cluster())
			}
		}
	}
	return j.State() == core.Running || j.State() == core.Stopping
}

func (e *Engine) programEnded(j *world.Job, code int) {
	if !e.ensureRunning(j) {
		return
	}
	if j.IsCancelled() {
		e.endCancelled(j, code, core.Reason{Code: core.AskedByUser})
		return
	}
	retries := 0.0
	if code != 0 && j.Spec().RetriedAfterFailure() {
		if j.LossCount() < j.Spec().Retries {
			e.attemptLost(j, core.Reason{Code: core.ProgramFailed, A: float64(code)})
			return
		}
		retries = float64(j.LossCount())
	}
	e.markLeaving(j)
	to, why := core.Done, core.Reason{Code: core.ExitedZero}
	if code != 0 {
		to, why = core.Failed, core.Reason{Code: core.ExitedNonZero, A: float64(code), B: retries}
	}
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: to,
		ExitCode: code, Why: why})
}

// stopJob tells a running job to save itself and leave; it is placed again once
// it has. One that does not run has nothing to save.
func (e *Engine) stopJob(j *world.Job, aim core.Aim, why core.Reason) {
	if j.State() != core.Running {
		return
	}
	leaveBy := e.graceEnd(e.cfg.StopGrace)
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: core.Stopping,
		When: leaveBy, Aim: aim, Why: why})
	e.emitCommand(core.Command{Kind: core.Stop, Job: j.Spec().ID, Epoch: j.Epoch(), Due: leaveBy})
}

// programLeft: the job saved itself and left its processors, because it was told to
// or by itself.
func (e *Engine) programLeft(j *world.Job) {
	if !e.ensureRunning(j) {
		return
	}
	if j.IsCancelled() {
		e.endCancelled(j, 0, core.Reason{Code: core.AskedByUser})
		return
	}
	e.markLeaving(j)
	e.changeState(j, core.Stopped, core.Reason{Code: core.SavedItself})
	e.resumeJob(j)
}

// staysOn: the job was told to leave, but could not be saved. What it holds is
// its own again.
func (e *Engine) staysOn(j *world.Job) {
	if j.State() != core.Stopping || j.IsCancelled() {
		return
	}
	e.changeState(j, core.Running, core.Reason{Code: core.CouldNotSave})
	if j.IsHeldByUser() {
		e.emitEvent(core.Event{Kind: core.JobReleasedByUser, Job: j.Spec().ID, Epoch: j.Epoch(),
			Why: core.Reason{Code: core.CouldNotSave}})
	}
	for _, p := range j.Parts() {
		e.markDirty(p.Cluster())
	}
}

// notLeft: the job was told to leave and has not in time. It is killed.
func (e *Engine) notLeft(j *world.Job) {
	if j.IsCancelled() {
		e.releaseAttempt(j)
		e.endCancelled(j, 0, core.Reason{Code: core.NotEndedInTime, A: e.now.Sub(j.StateSince()).Seconds()})
		return
	}
	after := e.now.Sub(j.DueTime()) + e.cfg.StopGrace
	e.attemptLost(j, core.Reason{Code: core.NotLeftInTime, A: after.Seconds()})
}

// attemptCrashed: the attempt ended through no fault of the program. What was lost is
// the checkpoint method's business; here it only gets another attempt, unless its
// user wants none after such a loss.
func (e *Engine) attemptCrashed(j *world.Job, in *core.Input) {
	if e.ensureRunning(j) && (in.Final || !j.Spec().RetriedAfter(in.Cause)) && !j.IsCancelled() {
		e.emitCommand(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
		e.markLeaving(j)
		why := core.Reason{Code: core.NotStartedAgain}
		if in.Final {
			why.Code = core.EndsTheSameWay
		}
		e.changeState(j, core.Failed, why)
		return
	}
	e.attemptLost(j, core.Reason{Code: core.ProgramCrashed})
}

func (e *Engine) attemptLost(j *world.Job, why core.Reason) {
	if j.IsCancelled() {
		e.releaseAttempt(j)
		e.endCancelled(j, 0, core.Reason{Code: core.AskedByUser})
		return
	}
	switch s := j.State(); {
	case s == core.Running || s == core.Stopping:
		e.emitCommand(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
		e.markLeaving(j)
		e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: s, To: core.Stopped,
			Lost: true, Why: why})
		if j.LossCount() > j.Spec().Retries {
			e.changeState(j, core.Failed, core.Reason{Code: core.RetriesUsedUp, A: float64(j.LossCount() - 1)})
			return
		}
		if pause := e.retryPause(j); pause > 0 && (why.Code == core.ProgramCrashed || why.Code == core.ProgramFailed) {
			e.resumeAfter(j, pause)
			return
		}
		e.resumeJob(j)
	case len(j.Parts()) > 0:
		e.abandonPlacement(j, why)
	}
}

func (e *Engine) resumeJob(j *world.Job) {
	e.changeState(j, core.Resuming, core.Reason{Code: core.ComesAgain})
	if e.keepForUser(j) {
		return
	}
	e.again = append(e.again, j.Spec().ID)
}

// maxRetryPause bounds the pause between two attempts: somebody may have put right
// by then what ends them.
const maxRetryPause = 5 * time.Minute

// retryPause is how long a job waits for its next attempt: what ends its attempts
// soon after they began will probably end the next one too, and trying at once uses
// up its retries before anybody can help.
func (e *Engine) retryPause(j *world.Job) time.Duration {
	pause := e.cfg.RetryPause
	for n := j.QuickLosses(); n > 1 && pause < maxRetryPause; n-- {
		pause *= 2
	}
	if j.QuickLosses() == 0 {
		return 0
	}
	return min(pause, maxRetryPause)
}

// resumeAfter has a job placed again after a pause, which is no try that failed.
func (e *Engine) resumeAfter(j *world.Job, pause time.Duration) {
	e.changeState(j, core.Resuming, core.Reason{Code: core.ComesAgain})
	if e.keepForUser(j) {
		return
	}
	e.emitEvent(core.Event{Kind: core.JobEnqueued, Job: j.Spec().ID, Epoch: j.Epoch(), When: e.now.Add(pause),
		Why: core.Reason{Code: core.RetryPaused, A: float64(j.QuickLosses()), B: pause.Seconds()}})
}

// recordProgress notes how far a job has come.
func (e *Engine) recordProgress(j *world.Job, in *core.Input) {
	if !e.ensureRunning(j) || !isFraction(in.Done) {
		return
	}
	e.emitEvent(core.Event{Kind: core.JobProgressed, Job: in.Job, Epoch: in.Epoch, Done: in.Done})
}

// isFraction reports whether a program can have done that part of its work.
func isFraction(done float64) bool { return done >= 0 && done <= 1 }

// clusterChanged: others came or went, hosts failed or joined.
func (e *Engine) clusterChanged(in *core.Input) {
	if in.Cluster < 0 || int(in.Cluster) >= len(e.dirty) {
		return
	}
	c := e.w.Cluster(in.Cluster)
	if !in.Procs.IsValid(c.Procs()) {
		return
	}
	e.markDirty(c)
	e.markFreed(c)
	switch in.Kind {
	case core.Polled:
		e.emitEvent(core.Event{Kind: core.OthersPolled, Cluster: in.Cluster, Procs: in.Procs})
	case core.HostsUp:
		e.emitEvent(core.Event{Kind: core.HostsJoined, Cluster: in.Cluster, Procs: in.Procs})
	case core.HostsDown:
		e.emitEvent(core.Event{Kind: core.HostsFailed, Cluster: in.Cluster, Procs: in.Procs})
		for _, j := range e.w.HoldersOf(c, in.Procs) {
			e.attemptLost(j, core.Reason{Code: core.HostLost, A: float64(lostProcs(j, c))})
		}
	}
}

// recordNetwork notes how well the hosts of a cluster are connected.
func (e *Engine) recordNetwork(in *core.Input) {
	if in.Cluster < 0 || int(in.Cluster) >= len(e.dirty) || !in.Net.CoversHosts(e.w.Cluster(in.Cluster).HostCount()) {
		return
	}
	for _, mbps := range in.Net.Mbps {
		if !(mbps >= 0) || math.IsInf(mbps, 1) {
			return
		}
	}
	for _, free := range in.Net.Free {
		if !(free > 0 && free <= 1) {
			return
		}
	}
	e.emitEvent(core.Event{Kind: core.NetworkFelt, Cluster: in.Cluster, Net: in.Net})
}

// recordLoad notes whether a cluster can be reached, and what a new job would get there.
func (e *Engine) recordLoad(in *core.Input) {
	if in.Cluster < 0 || int(in.Cluster) >= len(e.dirty) || !(in.Share >= 0 && in.Share <= 1) || in.QueueWait < 0 {
		return
	}
	c := e.w.Cluster(in.Cluster)
	was := c.IsClosed()
	e.emitEvent(core.Event{Kind: core.ClusterFelt, Cluster: in.Cluster, Reachable: in.Reachable, Share: in.Share,
		QueueWait: in.QueueWait})
	switch now := c.IsClosed(); {
	case was && !now: // who waited for it may have it now
		e.markDirty(c)
		e.markFreed(c)
	case !was && now && e.w.HasPutOff(): // who lost a claim there may go elsewhere
		e.scan = true
	}
}

// recordRating: what a cluster is expected to bring to its end. Who wants better than it
// was may have it now.
func (e *Engine) recordRating(in *core.Input) {
	if in.Cluster < 0 || int(in.Cluster) >= len(e.dirty) || !(in.Rating >= 0 && in.Rating <= 1) {
		return
	}
	c := e.w.Cluster(in.Cluster)
	better := in.Rating > c.Reliability()
	e.emitEvent(core.Event{Kind: core.ClusterRated, Cluster: in.Cluster, Rating: in.Rating})
	if better {
		e.markDirty(c)
		e.markFreed(c)
	}
}

// lostProcs counts the processors of a job that failed in a cluster.
func lostProcs(j *world.Job, c *world.Cluster) int {
	n := 0
	for _, p := range j.Parts() {
		if p.Cluster() == c {
			n += c.CountFailed(p.Procs())
		}
	}
	return n
}
