package world

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// AppendState writes the whole state as text that two worlds share only if
// they are the same: for comparing a replay with the original.
func (w *World) AppendState(b []byte) []byte {
	b = fmt.Appendf(b, "scans %d scanned %d starts %d\n", w.scans, w.scanned, w.starts)
	for _, c := range w.clusters {
		b = fmt.Appendf(b, "cluster %s share %g turns %d at %d idle %d waiting %d running %d reclaimable %d offers %d "+
			"leaving %d reclaim-for %d\n free %x\n others %x\n down %x\n",
			c.spec.Name, c.share, c.turns, c.turned, c.idle, c.waiting, c.running, c.reclaimable, c.offers, c.leaving,
			c.reclaimFor,
			c.free, c.others, c.down)
		for i := range c.drains {
			b = fmt.Appendf(b, " drained %+v\n", c.drains[i])
		}
		if c.net != nil {
			b = fmt.Appendf(b, " net %g\n", c.net.Mbps)
		}
	}
	for f, at := range w.replicas {
		for c := range core.ClusterID(len(w.clusters)) {
			if at[c] {
				b = fmt.Appendf(b, "file %d at %d\n", f, c)
			}
		}
	}
	for j := w.QueueHead(); j != nil; j = w.queue.nextJob(j) {
		b = fmt.Appendf(b, "queued %d\n", j.spec.ID)
	}
	for _, id := range sortedKeys(w.jobs) {
		b = w.jobs[id].appendState(b, w)
	}
	for _, key := range w.sortedTargets() {
		t := w.targets[key]
		b = fmt.Appendf(b, "target %+v %+v waiters", key, t.Target)
		for id := t.waiters.nextAfter(0); id != 0; id = t.waiters.nextAfter(id) {
			b = fmt.Appendf(b, " %d", id)
		}
		b = append(b, '\n')
	}
	for _, name := range sortedKeys(w.apps) {
		b = fmt.Appendf(b, "app %q ", name)
		b = w.apps[name].appendState(b)
	}
	return b
}

func (j *Job) appendState(b []byte, w *World) []byte {
	b = fmt.Appendf(b, "job %d %s since %d submitted %d started %d due %d aim %d pin %d fixed %d epoch %d attempts %d losses %d "+
		"quick %d hold %s until %d %v by user %v suspended %v queued %v not-before %d lost-at %d in turn %d "+
		"room-after %d tries %d pace %+v\n",
		j.spec.ID, j.state, j.since, j.submitted, j.started, j.due, j.aim, j.pin, j.fixed, j.epoch, j.attempts, j.losses,
		j.quickLosses, j.hold, j.holdUntil, j.wasHeld, j.userHold, j.suspended, j.queued, j.notBefore,
		j.lostAt, j.lostTurn, j.roomAfter,
		w.PlacementTries(j), j.pace)
	for _, p := range j.parts {
		b = fmt.Appendf(b, " part %d of %d on %d size %d [%d,%d] procs %v held %v staged %v claimed %v claim-at %d order "+
			"%d offer %+v serial %d returned %d asked %d refused %d\n",
			p.index, p.component, p.cluster.id, p.size, p.min, p.max, p.procs, p.held, p.staged, p.claimed, p.claimAt,
			p.order, p.offer, p.serial, p.returned, p.asked, p.refused)
	}
	if j.spec.App == "" && j.scaling != nil {
		b = j.scaling.appendState(append(b, ' '))
	}
	return b
}

// appendState leaves out what is only kept to answer sooner.
func (s *Scaling) appendState(b []byte) []byte {
	learnt := *s
	learnt.cache = nil
	return fmt.Appendf(b, "scaling %+v\n", learnt)
}

func (w *World) sortedTargets() []targetKey {
	list := make([]targetKey, 0, len(w.targets))
	for key := range w.targets { // order-free: sorted below
		list = append(list, key)
	}
	slices.SortFunc(list, targetKey.compareKey)
	return list
}

// compareKey orders targets by number; of an array and its first job the job comes first.
func (a targetKey) compareKey(b targetKey) int {
	if a.Job != b.Job {
		return signOf(a.Job < b.Job)
	}
	return signOf(!a.Array && b.Array)
}

func sortedKeys[K core.JobID | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m { // order-free: sorted below
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
