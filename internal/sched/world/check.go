package world

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// CheckInvariants verifies what must always hold: no processor is held twice, sizes are
// within their limits, what is counted and listed agrees with what is there.
// It looks at everything, so it is for tests.
func (w *World) CheckInvariants() error {
	seen := make([]tally, len(w.clusters))
	for i, c := range w.clusters {
		seen[i].held = newBitset(c.procs)
	}
	queued := 0
	for _, id := range sortedKeys(w.jobs) {
		j := w.jobs[id]
		if j.queued {
			queued++
		}
		if err := j.checkInvariants(seen); err != nil {
			return fmt.Errorf("job %d, %s: %w", id, j.state, err)
		}
	}
	for i, c := range w.clusters {
		if err := c.checkTally(&seen[i]); err != nil {
			return fmt.Errorf("cluster %s: %w", c.spec.Name, err)
		}
	}
	if err := w.checkHolds(); err != nil {
		return err
	}
	return w.checkQueue(queued)
}

// checkHolds verifies that who is held is listed where it is looked for.
func (w *World) checkHolds() error {
	placed, held := map[core.JobID]int{}, map[core.JobID]int{}
	waiting := 0
	for _, id := range sortedKeys(w.jobs) {
		j := w.jobs[id]
		if j.hold != core.NotHeld && (j.queued || !j.mayBeHeld(j.hold) || len(j.parts) > 0) {
			return fmt.Errorf("job %d, %s, is held by %s", id, j.state, j.hold)
		}
		if listed := w.nowhere.hasJob(id); j.hold == core.HeldNowhere != listed {
			return fmt.Errorf("job %d is held by %s, and listed as one that may run nowhere: %v", id, j.hold, listed)
		}
		if j.hold == core.HeldArray {
			held[j.spec.Array]++
		} else if takesSlot(j.hold) && j.spec.ArrayLimit > 0 {
			placed[j.spec.Array]++
		}
		if j.hold != core.HeldDependency && j.hold != core.HeldBegin {
			continue
		}
		for i := range j.spec.After {
			if t := w.targets[keyOf(&j.spec.After[i])]; t == nil || !t.waiters.hasJob(id) {
				return fmt.Errorf("job %d is not among those that wait for job %d", id, j.spec.After[i].Job)
			}
		}
		waiting++
	}
	for _, key := range w.sortedTargets() {
		t := w.targets[key]
		if n := t.waiters.countJobs(); n == 0 || n > waiting || t.NotStarted < 0 || t.Unfinished < t.NotStarted ||
			t.Failed < 0 {
			return fmt.Errorf("job %d, for which %d wait, counts %+v", key.Job, n, t.Target)
		}
	}
	for _, id := range sortedKeys(w.arrays) {
		if a := w.arrays[id]; a.placed != placed[id] || len(a.held) != held[id] || a.placed+len(a.held) == 0 {
			return fmt.Errorf("array %d counts %d placed, %d held; has %d, %d", id, a.placed, len(a.held), placed[id], held[id])
		}
	}
	return nil
}

// tally is what the jobs say of a cluster.
type tally struct {
	held                                      bitset
	waiting, running, reclaimable, queued     int
	offers, leaving                           int
	malleable, growable, shrinkable, askingBy []*Part
}

func (j *Job) checkInvariants(seen []tally) error {
	placed := j.state >= core.Selected && j.state <= core.Stopping
	if placed != (len(j.parts) > 0) && !j.state.IsWaiting() { // who waits may be about to be selected
		return fmt.Errorf("has %d parts", len(j.parts))
	}
	if j.queued && !j.state.IsWaiting() {
		return fmt.Errorf("is in the placement queue")
	}
	if at, held := j.held.at.Cluster(); held && len(j.held.procs) > 0 {
		if _, some := seen[at].held.containsAny(j.held.procs); some {
			return fmt.Errorf("%v of cluster %d, held for it, is held twice", j.held.procs, at)
		}
		seen[at].held.addAll(j.held.procs)
	}
	for i, p := range j.parts {
		if p.job != j || p.index != i {
			return fmt.Errorf("part %d is not its own", i)
		}
		if err := p.checkInvariants(&seen[p.cluster.id]); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

func (p *Part) checkInvariants(seen *tally) error {
	runs := p.job.state == core.Running || p.job.state == core.Stopping
	managed := p.cluster.spec.Managed
	switch {
	case p.size < p.min || p.size > p.max:
		return fmt.Errorf("size %d is outside [%d, %d]", p.size, p.min, p.max)
	case runs && !p.held:
		return fmt.Errorf("runs on processors that are not held")
	case !managed && p.held && p.procs.CountProcs() != p.size, (managed || !p.held) && len(p.procs) > 0:
		return fmt.Errorf("has size %d and holds %v", p.size, p.procs)
	case p.offer.n != 0 && (!runs || managed && !p.extensible):
		return fmt.Errorf("has an open offer")
	case p.offer.accepted != 0 && (!managed || p.offer.accepted < 0 || p.offer.accepted > p.offer.n):
		return fmt.Errorf("accepts %d of %d that it was offered", p.offer.accepted, p.offer.n)
	}
	sets := []core.ProcSet{p.procs}
	if p.offer.n > 0 {
		sets = append(sets, p.offer.procs)
	}
	for _, s := range sets {
		if _, some := seen.held.containsAny(s); some {
			return fmt.Errorf("holds processors of another part: %v", s)
		}
		seen.held.addAll(s)
	}
	seen.countPart(p, runs)
	return nil
}

// countPart counts a part.
func (t *tally) countPart(p *Part, runs bool) {
	if p.offer.n != 0 && !p.offer.silent {
		t.offers++
	}
	if p.job.state == core.Stopping {
		t.leaving++
	}
	if p.cluster.spec.Managed {
		if runs {
			t.running += p.size
		} else {
			t.waiting += p.size
			t.queued++
		}
	}
	if !p.heedsPolicy() {
		return
	}
	t.reclaimable += p.size - p.min
	t.malleable = append(t.malleable, p)
	if p.size < p.max {
		t.growable = append(t.growable, p)
	}
	if p.size > p.min {
		t.shrinkable = append(t.shrinkable, p)
	}
	if p.asked > 0 {
		t.askingBy = append(t.askingBy, p)
	}
}

func (c *Cluster) checkTally(t *tally) error {
	if !slices.Equal(t.held, c.held) {
		return fmt.Errorf("held processors are %x, jobs hold %x", c.held, t.held)
	}
	free, idle := slices.Clone(c.free), c.idle
	c.recountFree() // changes nothing if all is well
	if !slices.Equal(free, c.free) || idle != c.idle {
		return fmt.Errorf("free processors are %x, should be %x; counts %d", free, c.free, idle)
	}
	is := [...]int{c.waiting, len(c.queued), c.running, c.reclaimable, c.offers, c.leaving}
	if want := [...]int{t.waiting, t.queued, t.running, t.reclaimable, t.offers, t.leaving}; is != want {
		return fmt.Errorf("counts waiting, queued, running, reclaimable, offers, leaving %v; has %v", is, want)
	}
	lists := []struct {
		name string
		is   byStart
		want []*Part
	}{{"malleable", c.malleable, t.malleable}, {"growable", c.growable, t.growable},
		{"shrinkable", c.shrinkable, t.shrinkable}, {"asking", c.asking, t.askingBy}}
	for _, l := range lists {
		slices.SortFunc(l.want, func(a, b *Part) int { return int(a.order - b.order) })
		if !slices.Equal(l.is, l.want) {
			return fmt.Errorf("lists %d %s parts, has %d, or in another order", len(l.is), l.name, len(l.want))
		}
	}
	return nil
}

func (w *World) checkQueue(queued int) error {
	n, putOff := 0, 0
	for j := w.QueueHead(); j != nil; j = w.queue.nextJob(j) {
		if w.jobs[j.spec.ID] != j || !j.queued {
			return fmt.Errorf("queue holds job %d, which does not wait", j.spec.ID)
		}
		n++
		if j.notBefore > 0 {
			putOff++
		}
	}
	if n != queued || n != w.queue.count || putOff != w.putOff {
		return fmt.Errorf("queue counts %d jobs, %d put off; lists %d, %d; %d wait", w.queue.count, w.putOff, n, putOff,
			queued)
	}
	return nil
}
