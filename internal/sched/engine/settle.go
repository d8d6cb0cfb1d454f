package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// settleDue does what the input made due: timers, the placement queue, the
// malleability manager, in the order that the approach gives, until nothing
// is left to decide before somebody answers.
func (e *Engine) settleDue() {
	e.fireTimers()
	e.settleHolds()
	if e.w.NeedsRescan() && e.cfg.ScanEvery > 0 && e.now >= e.w.LastScan().Add(e.cfg.ScanEvery) {
		e.scan = true
	}
	e.scan = e.scan || e.w.NextRetry() <= e.now
	if !e.scan && !e.anyDirt {
		return
	}
	e.endReclaims()
	if e.cfg.Approach == PRA {
		e.growAll()
		e.scanQueue()
		e.placeAgain()
	} else {
		e.scanQueue()
		e.makeRoom()
		if len(e.again) > 0 {
			e.placeAgain()
			e.makeRoom() // for one of those, if nobody waited before
		}
		e.makeRoomInQueues()
		e.growAll()
	}
	e.scan = false
	if e.holdsLeft > 0 && !e.holds.isEmpty() { // somebody ended meanwhile
		e.settleDue()
	}
}

// fireTimers does what has fallen due. Jobs whose hold has may be very many: of those that
// a step looks at they are half, so that others are not held up by them.
func (e *Engine) fireTimers() {
	holds, most := 0, e.holdsLeft/2
	for t, due := e.w.DueTimer(e.now); due && holds <= most; t, due = e.w.DueTimer(e.now) {
		if t.Kind == world.HoldDue {
			holds++
		}
		e.fireTimer(t)
	}
	e.holdsLeft -= min(holds, most)
}

// fireTimer does what a timer waited for.
func (e *Engine) fireTimer(t world.Timer) {
	j := e.w.Job(t.Job)
	switch t.Kind {
	case world.AnswerDue:
		e.offerOverdue(j, j.Part(t.Part))
	case world.JobDue:
		if j.State() == core.Stopping {
			e.notLeft(j)
		} else {
			e.claimsApart(j)
		}
	case world.ClaimDue:
		e.claimDue(j, j.Part(t.Part))
	case world.HoldDue:
		e.admitJob(j, j.CurrentHold() == core.HeldNowhere)
	}
}

// scanQueue looks through the placement queue from its head and places what
// can be placed. The index makes it skip jobs that cannot fit anywhere, which
// is a try all the same.
func (e *Engine) scanQueue() {
	if !e.scan || e.w.QueueLength() == 0 {
		return
	}
	e.emitEvent(core.Event{Kind: core.QueueScanned})
	var last *world.Job
	for {
		v := e.waitingView(0)
		if h := e.w.QueueHead(); h != nil {
			v.For = h.Spec().ID // room reclaimed for the head counts for it
		}
		widest, total := v.WidestRoom()
		j := e.w.NextCandidate(last, widest, total)
		if j == nil {
			break
		}
		if e.w.IsPutOff(j, e.now) {
			last = j
		} else if _, ok := e.tryPlace(j); !ok {
			last = j
		}
	}
	e.giveUpTried()
}

// giveUpTried ends the jobs whose tries are used up, but for those that a drain keeps
// waiting: they are tried once more when it has ended.
func (e *Engine) giveUpTried() {
	var spared *world.Job
	for j := e.w.OutOfTries(nil); j != nil; j = e.w.OutOfTries(spared) {
		if e.drainReason(j).IsDrain() {
			spared = j
		} else {
			e.giveUp(j)
		}
	}
}

// growAll runs the malleability manager on every cluster where something
// changed. While room is being made for somebody who waits, what is free is
// not given away: it may be the next one's.
func (e *Engine) growAll() {
	if !e.anyDirt || e.makingRoom() {
		return
	}
	e.anyDirt = false
	for id := range e.dirty {
		d := &e.dirty[id]
		c := e.w.Cluster(core.ClusterID(id))
		if !d.changed || c.OpenOffers() > 0 || c.ReclaimFor() != 0 {
			continue // clean, or answers will make it dirty again
		}
		d.changed = false
		e.growCluster(c, d)
		if d.waits && c.OpenOffers() == 0 && c.ReclaimFor() == 0 { // nobody who runs wants more
			d.waits, e.scan = false, true
		}
	}
}

// maxWaves bounds how often what was not accepted is offered on before
// something else happens: with answers that depend on nothing but the size it
// is never reached, but an answer is a program's own.
const maxWaves = 1000

// growCluster sees to those who must have more, then lets the policy offer what is
// free in a cluster. Answers that come back make the cluster dirty again, so
// that what was not accepted is offered on, until nothing is left or nobody
// wants more.
func (e *Engine) growCluster(c *world.Cluster, d *dirt) {
	if e.cfg.Malleable == nil || len(c.MalleableParts()) == 0 || d.waves == maxWaves || c.IsDrained() {
		return
	}
	d.waves++
	if e.serveAsking(c) {
		return
	}
	v, free := e.viewFor(0), c.GrowRoom()
	v.NeverShrinks = e.cfg.Approach == PRA
	if r, ok := e.cfg.Malleable.(malleable.Rebalancer); ok && e.cfg.Approach == PWA && d.fresh {
		d.fresh = false
		e.offers = r.Rebalance(v, c, free, e.offers[:0])
		e.offerAll()
		if c.OpenOffers() > 0 {
			return // grow with what comes back
		}
	}
	if free == 0 || len(c.GrowableParts()) == 0 {
		return
	}
	e.offers = e.cfg.Malleable.Grow(v, c, free, e.offers[:0])
	e.offerAll()
}

func (e *Engine) offerAll() {
	for _, o := range e.offers {
		e.offerResize(o, false)
	}
}
