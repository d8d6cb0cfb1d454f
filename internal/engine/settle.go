package engine

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/policy/malleable"
	"github.com/godwit-hpc/godwit/internal/policy/place"
	"github.com/godwit-hpc/godwit/internal/world"
)

// settle does what the input made due: timers, the placement queue, the
// malleability manager, in the order that the approach gives, until nothing
// is left to decide before somebody answers.
func (e *Engine) settle() {
	for {
		t, due := e.w.Due(e.now)
		if !due {
			break
		}
		e.fire(t)
	}
	if e.w.Waiting() > 0 && e.cfg.ScanEvery > 0 && e.now >= e.w.LastScan().Add(e.cfg.ScanEvery) {
		e.scan = true
	}
	if !e.scan && !e.anyDirt {
		return
	}
	e.endReclaims()
	if e.cfg.Approach == PRA {
		e.growAll()
		e.scanQueue()
	} else {
		e.scanQueue()
		e.makeRoom()
		e.growAll()
	}
	e.scan = false
}

func (e *Engine) fire(t world.Timer) {
	if t.Kind == world.AnswerDue {
		e.overdue(t)
		return
	}
	j := e.w.Job(t.Job)
	e.claim(j, j.Part(t.Part))
}

// scanQueue looks through the placement queue from its head and places what
// can be placed. The index makes it skip jobs that cannot fit anywhere, which
// is a try all the same.
func (e *Engine) scanQueue() {
	if !e.scan || e.w.Waiting() == 0 {
		return
	}
	e.emit(core.Event{Kind: core.QueueScanned})
	var last *world.Job
	for {
		v := e.waitingView(0)
		if h := e.w.Head(); h != nil {
			v.For = h.Spec().ID // room reclaimed for the head counts for it
		}
		widest, total := v.Widest()
		j := e.w.NextCandidate(last, widest, total)
		if j == nil {
			break
		}
		if _, ok := e.tryPlace(j); !ok {
			last = j
		}
	}
	for j := e.w.OutOfTries(); j != nil; j = e.w.OutOfTries() {
		e.become(j, core.Failed, core.Reason{Code: core.TooManyTries, A: float64(e.w.Tries(j)), B: float64(e.w.MaxTries(j))})
	}
}

// makeRoom shrinks running malleable jobs for the head of the queue, if that
// is enough to place it (papers/001, V-B: PWA).
func (e *Engine) makeRoom() {
	head := e.w.Head()
	if head == nil || e.cfg.Malleable == nil {
		return
	}
	spec := head.Spec()
	for _, c := range e.w.Clusters() {
		if c.ReclaimFor() == spec.ID {
			return // under way
		}
	}
	v := e.view(spec.ID)
	v.Reclaim = true
	choices, _, ok := place.Place(v, spec, e.w.PlacePolicy(spec), e.choices[:0])
	if !ok {
		return
	}
	v.Reclaim = false
	for i, ch := range choices {
		c := e.w.Cluster(ch.Cluster)
		if c.Offers() > 0 {
			return // answers first: they may free enough
		}
		if c.ReclaimFor() == spec.ID {
			continue // an earlier choice in the same cluster
		}
		need := ch.Min - v.Room(c)
		for _, other := range choices[i+1:] {
			if other.Cluster == ch.Cluster {
				need += other.Min
			}
		}
		e.reclaim(c, spec.ID, max(0, need))
	}
	e.endReclaims() // in case nobody had to be asked
}

// endReclaims closes the reclaims whose answers are all in. A job that asked
// to grow gets its offer now; one that waits is tried first in the scan that
// follows.
func (e *Engine) endReclaims() {
	for _, c := range e.w.Clusters() {
		id := c.ReclaimFor()
		if id == 0 || e.answersOpen(id) {
			continue
		}
		j := e.w.Job(id)
		if j != nil && j.State().Waiting() {
			e.tryPlace(j)
		}
		for _, c := range e.w.Clusters() {
			if c.ReclaimFor() == id {
				e.emit(core.Event{Kind: core.ReclaimEnded, Cluster: c.ID(), Job: id})
				e.touch(c)
			}
		}
		if j = e.w.Job(id); j != nil && j.State() == core.Running {
			e.grantAsked(j)
		}
		e.scan = true
	}
}

// answersOpen reports whether some cluster that reclaims for the job still
// waits for answers.
func (e *Engine) answersOpen(id core.JobID) bool {
	for _, c := range e.w.Clusters() {
		if c.ReclaimFor() == id && c.Offers() > 0 {
			return true
		}
	}
	return false
}

// grantAsked offers a running job what was reclaimed for its mandatory wish.
func (e *Engine) grantAsked(j *world.Job) {
	for _, p := range j.Parts() {
		if want := p.Asked(); want > 0 {
			room := e.view(j.Spec().ID).Room(p.Cluster())
			e.offer(malleable.Offer{Part: p, N: min(want, room, p.Max()-p.Size()), Why: core.Reason{Code: core.AskedByJob, A: float64(want)}}, false)
		}
	}
}

// growAll runs the malleability manager on every cluster where something
// changed.
func (e *Engine) growAll() {
	if !e.anyDirt {
		return
	}
	e.anyDirt = false
	for id := range e.dirty {
		d := &e.dirty[id]
		c := e.w.Cluster(core.ClusterID(id))
		if !d.changed || c.Offers() > 0 || c.ReclaimFor() != 0 {
			continue // clean, or answers will make it dirty again
		}
		d.changed = false
		if e.cfg.Malleable != nil && !c.Managed() && len(c.Malleable()) > 0 && d.waves < maxWaves {
			d.waves++
			e.grow(c, d)
		}
	}
}

// maxWaves bounds how often what was not accepted is offered on before
// something else happens: with answers that depend on nothing but the size it
// is never reached, but an answer is a program's own.
const maxWaves = 1000

// grow lets the policy offer what is free in a cluster. Answers that come back
// make the cluster dirty again, so that what was not accepted is offered on,
// until nothing is left or nobody wants more.
func (e *Engine) grow(c *world.Cluster, d *dirt) {
	v := e.view(0)
	free := c.GrowRoom()
	if r, ok := e.cfg.Malleable.(malleable.Rebalancer); ok && e.cfg.Approach == PWA && d.fresh {
		d.fresh = false
		e.offers = r.Rebalance(v, c, free, e.offers[:0])
		for _, o := range e.offers {
			e.offer(o, false)
		}
		if c.Offers() > 0 {
			return // grow with what comes back
		}
	}
	if free == 0 || len(c.Growable()) == 0 {
		return
	}
	e.offers = e.cfg.Malleable.Grow(v, c, free, e.offers[:0])
	for _, o := range e.offers {
		e.offer(o, false)
	}
}
