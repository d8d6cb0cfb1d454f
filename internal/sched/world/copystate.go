package world

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// The state is copied some jobs at a time, so that the world goes on in between: there may be
// a hundred thousand. What happens to a job meanwhile is noted, and it is copied
// at the end, with all else: the copy is the state as it is then.

// StateCopy is the whole state as it was at one moment. It shares nothing with the world
// that changes: it can be encoded while the world goes on, by somebody else.
type StateCopy struct {
	shot    *worldShot              // without its jobs, and in no order
	copied  [][]jobShot             // by number
	changed map[core.JobID]*jobShot // since they were copied; nil: over
}

// StateCopying is a copy of the state that is being made.
type StateCopying struct {
	w       *World
	left    []core.JobID // jobs still to be copied, by number
	copied  [][]jobShot
	changed map[core.JobID]bool // jobs to which something has happened since it was begun
	fresh   *Scaling
}

// BeginCopy begins a copy of the state. One that was begun before is given up.
func (w *World) BeginCopy() *StateCopying {
	w.copying = w.newCopying()
	return w.copying
}

func (w *World) newCopying() *StateCopying {
	return &StateCopying{w: w, left: sortedKeys(w.jobs), changed: map[core.JobID]bool{}, fresh: newScaling()}
}

// CopyJobs copies up to n further jobs, and reports whether none is left.
func (c *StateCopying) CopyJobs(n int) bool {
	some := c.left[:min(n, len(c.left))]
	c.left = c.left[len(some):]
	list := make([]jobShot, 0, len(some))
	for _, id := range some {
		if j := c.w.jobs[id]; j != nil && !c.changed[id] {
			list = append(list, j.takeShot(c.fresh))
		}
	}
	c.copied = append(c.copied, list)
	return len(c.left) == 0
}

// FinishCopy copies what is left. The copy is the state as it is now.
func (c *StateCopying) FinishCopy() StateCopy {
	c.CopyJobs(len(c.left))
	if c.w.copying == c {
		c.w.copying = nil
	}
	s := StateCopy{shot: c.w.takeShot(), copied: c.copied, changed: make(map[core.JobID]*jobShot, len(c.changed))}
	for id := range c.changed { // order-free: a map again
		s.changed[id] = nil
		if j := c.w.jobs[id]; j != nil {
			shot := j.takeShot(c.fresh)
			s.changed[id] = &shot
		}
	}
	return s
}

// arrangeShot puts what was copied into the form of a snapshot.
func (c StateCopy) arrangeShot() *worldShot {
	s := *c.shot
	s.Timers, s.Targets = slices.Clone(s.Timers), slices.Clone(s.Targets)
	slices.SortFunc(s.Timers, Timer.compareDue)
	slices.SortFunc(s.Targets, func(a, b targetShot) int { return a.Key.compareKey(b.Key) })
	changed := sortedKeys(c.changed)
	addChanged := func(upTo core.JobID) {
		for len(changed) > 0 && changed[0] <= upTo {
			if shot := c.changed[changed[0]]; shot != nil {
				s.Jobs = append(s.Jobs, *shot)
			}
			changed = changed[1:]
		}
	}
	s.Jobs = []jobShot{}
	for _, some := range c.copied {
		for i := range some {
			id := some[i].Spec.ID
			addChanged(id)
			if _, again := c.changed[id]; !again {
				s.Jobs = append(s.Jobs, some[i])
			}
		}
	}
	if n := len(changed); n > 0 {
		addChanged(changed[n-1])
	}
	return &s
}
