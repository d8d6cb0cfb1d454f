package engine

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// confirmClaim: the cluster confirms that the processors are ours.
func (e *Engine) confirmClaim(j *world.Job, part int) {
	p, s := j.Part(part), j.State()
	if p == nil || !p.HoldsProcs() || p.IsClaimed() || s != core.Staging && s != core.Queued {
		return
	}
	ev := core.Event{Kind: core.PartClaimed, Job: j.Spec().ID, Epoch: j.Epoch(), Part: part}
	if s == core.Queued && j.DueTime() == 0 && len(j.Parts()) > 1 {
		ev.When = e.graceEnd(e.cfg.ClaimGrace) // it is the first: the others are waited for from now on
	}
	e.emitEvent(ev)
	if s == core.Queued {
		e.startIfClaimed(j)
	}
}

// claimsApart gives up a job whose claims do not come together: it holds
// processors that another such job may wait for, which holds those that it
// waits for itself. If that is because a cluster is out of reach, or was, it is placed again at once: it is not chosen
// as long as it is, and the claims may come together once it is back.
func (e *Engine) claimsApart(j *world.Job) {
	why := core.Reason{Code: core.ClaimsApart, A: float64(len(j.Parts())),
		B: (e.now.Sub(j.DueTime()) + e.cfg.ClaimGrace).Seconds()}
	c := unclaimedCluster(j)
	if c.IsClosed() || c.LastTurn() > j.StateSince() {
		e.abandonPlacement(j, why)
		return
	}
	e.goBack(j, why)
	e.putOff(j, core.AimAt(c.ID()), why)
}

// unclaimedCluster is where a claim of a job is waited for, one that is out of reach if there is one.
func unclaimedCluster(j *world.Job) *world.Cluster {
	var c *world.Cluster
	for _, p := range j.Parts() {
		if !p.IsClaimed() && (c == nil || p.Cluster().IsClosed()) {
			c = p.Cluster()
		}
	}
	return c
}

// putOff has a job wait that cannot be placed better now: until the next period, or until the cluster where it lost its
// claim, if it did in one, goes out of reach or comes back.
func (e *Engine) putOff(j *world.Job, lostAt core.Aim, why core.Reason) {
	e.enqueueJob(j, e.nextPeriod(), lostAt, why)
}

// nextPeriod is when a job is tried again that cannot be placed better now.
func (e *Engine) nextPeriod() core.Time { return e.now.Add(max(e.cfg.ScanEvery, time.Second)) }

// claimLost: somebody else has the processors, or the cluster cannot be asked. If
// it says who holds what now, or is known to be out of reach, the job is placed
// again at once. If not, we would choose the same again: the job waits for the
// next period, so that the engine cannot spin on stale knowledge.
func (e *Engine) claimLost(j *world.Job, in *core.Input) {
	p, s := j.Part(in.Part), j.State()
	if p == nil || s != core.Staging && s != core.Queued {
		return
	}
	c := p.Cluster()
	if in.Barred {
		e.recordRefusal(j, c)
		return
	}
	why := core.Reason{Code: core.ClaimTaken}
	if in.Procs.IsValid(c.Procs()) && in.Procs.Intersects(p.Procs()) {
		e.emitEvent(core.Event{Kind: core.OthersPolled, Cluster: c.ID(), Procs: in.Procs})
		e.abandonPlacement(j, why)
		return
	}
	if c.Share() == 0 {
		why = core.Reason{Code: core.ClaimOutOfReach}
	}
	if c.IsClosed() { // it is not chosen again
		e.abandonPlacement(j, why)
		return
	}
	e.goBack(j, why)
	e.putOff(j, core.AimAt(c.ID()), why)
}

// recordRefusal: the cluster will never have the job. If no other will either, that
// was it.
func (e *Engine) recordRefusal(j *world.Job, c *world.Cluster) {
	why := core.Reason{Code: core.ClusterRefuses}
	e.emitCommand(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch(), Cluster: c.ID()})
	e.markLeaving(j)
	e.emitEvent(core.Event{Kind: core.JobBecame, Job: j.Spec().ID, Epoch: j.Epoch(), From: j.State(), To: waitsAs(j),
		Cluster: c.ID(), Barred: true, Why: why})
	if at, pinned := j.PinnedAim().Cluster(); pinned && at == c.ID() {
		e.emitEvent(core.Event{Kind: core.JobPinned, Job: j.Spec().ID, Epoch: j.Epoch(), Why: why})
	}
	if _, ok := place.EverFits(e.viewFor(j.Spec().ID), j.Spec(), e.w.PlacePolicy(j.Spec())); !ok {
		e.changeState(j, core.Failed, why)
		return
	}
	e.again = append(e.again, j.Spec().ID)
}

// waitsAs is the state in which a job waits to be placed: it has run before or
// it has not.
func waitsAs(j *world.Job) core.State {
	if j.AttemptCount() > 0 {
		return core.Resuming
	}
	return core.Submitted
}

// abandonPlacement gives up a placement that cannot be carried out and looks for
// another.
func (e *Engine) abandonPlacement(j *world.Job, why core.Reason) {
	e.goBack(j, why)
	e.again = append(e.again, j.Spec().ID)
}

// goBack returns a job that was placed but has not started to where it waits
// to be placed.
func (e *Engine) goBack(j *world.Job, why core.Reason) {
	e.emitCommand(core.Command{Kind: core.Release, Job: j.Spec().ID, Epoch: j.Epoch()})
	e.markLeaving(j)
	e.changeState(j, waitsAs(j), why)
}

// placeAgain tries those whose placement or attempt was lost. They come after
// the queue: a job that was stopped to make room must not take that room.
func (e *Engine) placeAgain() {
	for _, id := range e.again {
		if j := e.w.Job(id); j != nil && j.State().IsWaiting() && !j.IsQueued() && j.CurrentHold() == core.NotHeld {
			e.placeOrEnqueue(j)
		}
	}
	e.again = e.again[:0]
}
