package engine

import "github.com/godwit-hpc/godwit/internal/sched/world"

// dirt is what is yet to be looked at in a cluster.
type dirt struct {
	changed bool // there may be something to give out to running jobs
	fresh   bool // jobs or processors came, or processors went: fair shares have changed
	waits   bool // PRA: then those who wait are to be looked at
	waves   int  // of offers since jobs or processors came or went
}

// markDirty notes that jobs or processors came or went in a cluster.
func (e *Engine) markDirty(c *world.Cluster) {
	d := &e.dirty[c.ID()]
	d.changed, d.fresh, d.waves = true, true, 0
	e.anyDirt, e.marked = true, true
}

// markQueued notes that a job waits in clusters' own queues, where room can be made for it.
func (e *Engine) markQueued(j *world.Job) {
	for _, p := range j.Parts() {
		if p.Cluster().CanExtend() && e.cfg.Approach == PWA {
			e.touchAnswered(p.Cluster())
		}
	}
}

// touchAnswered notes that an answer came back: what was not accepted is to be
// offered on, but nobody's fair share has changed.
func (e *Engine) touchAnswered(c *world.Cluster) {
	e.dirty[c.ID()].changed = true
	e.anyDirt, e.marked = true, true
}

// markFreed notes that processors of a cluster can be had by those who wait. Under
// PRA running jobs are asked first.
func (e *Engine) markFreed(c *world.Cluster) {
	e.gains = true
	e.touchAnswered(c)
	if e.cfg.Approach == PRA {
		e.dirty[c.ID()].waits = true
	} else {
		e.scan = true
	}
}

// markLeaving notes that a job is about to give up everything it holds. Giving that
// out brings the others nearer to their fair share by itself.
func (e *Engine) markLeaving(j *world.Job) {
	for _, p := range j.Parts() {
		e.dirty[p.Cluster().ID()].waves = 0
		e.markFreed(p.Cluster())
	}
}
