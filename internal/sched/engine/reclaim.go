package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// makeRoom shrinks running malleable jobs for the head of the queue, if that
// is enough to place it (papers/001, V-B: PWA).
func (e *Engine) makeRoom() {
	head := e.w.QueueHead()
	if head == nil || e.cfg.Malleable == nil || e.w.IsPutOff(head, e.now) || head.RoomAfter() > e.now ||
		e.reclaimingFor(head.Spec().ID) {
		return
	}
	if head.JustSaved(e.now) {
		return // it was stopped to make room: the two would go on stopping each other
	}
	spec := head.Spec()
	v := e.viewFor(spec.ID)
	v.Reclaim = true
	choices, _, ok := place.Place(v, spec, e.w.PlacePolicy(spec), e.choices[:0])
	if !ok {
		return
	}
	needed := false
	for i, ch := range choices {
		c := e.w.Cluster(ch.Cluster)
		if c.OpenOffers() > 0 || c.LeavingParts() > 0 {
			return // answers first: they may free enough
		}
		needed = needed || procsLacking(c, choices[i:]) > 0
	}
	if !needed {
		return // there is room: the next scan finds it
	}
	for i, ch := range choices {
		c := e.w.Cluster(ch.Cluster)
		if c.ReclaimFor() != spec.ID { // else an earlier choice in the same cluster
			e.reserveProcs(c, spec.ID, procsLacking(c, choices[i:]))
		}
	}
	e.endReclaims() // in case nobody was asked
}

// makeRoomInQueues shrinks running malleable jobs of clusters with queues of their own for jobs of ours that wait in
// these: their managers start them once the processors are given back.
func (e *Engine) makeRoomInQueues() {
	if e.cfg.Malleable == nil {
		return
	}
	for _, c := range e.w.Clusters() {
		if c.CanExtend() && c.ReclaimableProcs() > 0 && len(c.QueuedParts()) > 0 && c.ReclaimFor() == 0 &&
			c.OpenOffers() == 0 && c.LeavingParts() == 0 && !c.IsClosed() {
			e.makeRoomInQueue(c)
		}
	}
}

// makeRoomInQueue does so for the first of those that wait for whom there is no room yet, if that is enough for it.
func (e *Engine) makeRoomInQueue(c *world.Cluster) {
	free := c.UnusedProcs()
	for _, p := range c.QueuedParts() {
		lacking := p.Size() - max(0, free)
		switch {
		case p.Job().State() != core.Queued:
		case lacking <= 0:
			free -= p.Size()
		default:
			if lacking <= c.ReclaimableProcs() {
				e.reclaimProcs(c, p.Job().Spec().ID, lacking)
			}
			return
		}
	}
}

// procsLacking is how many processors a cluster lacks for the choices in it, the
// first of which is in it.
func procsLacking(c *world.Cluster, choices []place.Choice) int {
	need := -c.SurplusProcs()
	for _, ch := range choices {
		if ch.Cluster == c.ID() {
			need += ch.Min
		}
	}
	return max(0, need)
}

// reserveProcs keeps what is free in a cluster for a job that waits, and has others
// shrunk for what is lacking.
func (e *Engine) reserveProcs(c *world.Cluster, forJob core.JobID, need int) {
	if need == 0 || !e.reclaimProcs(c, forJob, need) {
		e.reclaimBegan(c, forJob, need)
	}
}

func (e *Engine) reclaimBegan(c *world.Cluster, forJob core.JobID, need int) {
	why := core.Reason{Code: core.MakeRoom, A: float64(forJob), B: float64(need)}
	if e.w.Job(forJob).State() == core.Running {
		why.Code = core.MustGrow
	}
	e.emitEvent(core.Event{Kind: core.ReclaimBegan, Job: forJob, Cluster: c.ID(), N: need, Why: why})
}

// reclaimProcs shrinks malleable jobs of a cluster, because they must, until `need`
// processors are there for the given job. It reports false if nobody has
// anything to give.
func (e *Engine) reclaimProcs(c *world.Cluster, forJob core.JobID, need int) bool {
	e.offers = e.cfg.Malleable.Shrink(e.viewFor(forJob), c, need, e.offers[:0])
	began := false
	for _, o := range e.offers {
		if o.N >= 0 || o.Part.Job().Spec().ID == forJob {
			continue
		}
		if !began {
			e.reclaimBegan(c, forJob, need)
			began = true
		}
		e.offerResize(o, true)
	}
	return began
}

// endReclaims closes the reclaims whose answers are all in. A job that asked
// to grow gets its offer now; one that waits is placed before anybody else.
func (e *Engine) endReclaims() {
	for _, c := range e.w.Clusters() {
		id := c.ReclaimFor()
		if id == 0 || e.answersOpen(id) {
			continue
		}
		inVain := core.Time(0)
		if j := e.w.Job(id); j != nil && j.State().IsWaiting() && j.CurrentHold() == core.NotHeld {
			if _, placed := e.tryPlace(j); !placed {
				// The policy does not choose what it chose when room was to be made.
				// To make it again at once would go on for ever.
				inVain = e.nextPeriod()
			}
		}
		for _, c := range e.w.Clusters() {
			if c.ReclaimFor() == id {
				e.emitEvent(core.Event{Kind: core.ReclaimEnded, Cluster: c.ID(), Job: id, When: inVain})
				e.markDirty(c)
				e.markFreed(c)
			}
		}
		if j := e.w.Job(id); j != nil && j.State() == core.Running {
			for _, p := range j.Parts() {
				if p.AskedProcs() > 0 {
					e.grantGrowth(p)
				}
			}
		}
	}
}

// answersOpen reports whether some cluster that reclaims for the job still
// waits for answers, or for somebody to leave who did not give what it had to.
func (e *Engine) answersOpen(id core.JobID) bool {
	for _, c := range e.w.Clusters() {
		if c.ReclaimFor() == id && (c.OpenOffers() > 0 || c.LeavingParts() > 0) {
			return true
		}
	}
	return false
}

// reclaimingFor reports whether room is being made for the job.
func (e *Engine) reclaimingFor(id core.JobID) bool {
	for _, c := range e.w.Clusters() {
		if c.ReclaimFor() == id {
			return true
		}
	}
	return false
}

// makingRoom reports whether room is being made for somebody who waits.
func (e *Engine) makingRoom() bool {
	for _, c := range e.w.Clusters() {
		if id := c.ReclaimFor(); id != 0 {
			if j := e.w.Job(id); j != nil && j.State().IsWaiting() {
				return true
			}
		}
	}
	return false
}
