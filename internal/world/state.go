package world

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
)

// AppendState writes the whole state as text that two worlds share only if
// they are the same: for comparing a replay with the original.
func (w *World) AppendState(b []byte) []byte {
	b = fmt.Appendf(b, "scans %d scanned %d starts %d\n", w.scans, w.scanned, w.starts)
	for _, c := range w.clusters {
		b = fmt.Appendf(b, "cluster %s idle %d waiting %d running %d reclaimable %d offers %d reclaim-for %d\n free %x\n others %x\n down %x\n",
			c.spec.Name, c.idle, c.waiting, c.running, c.reclaimable, c.offers, c.reclaimFor, c.free, c.others, c.down)
	}
	for f, at := range w.replicas {
		for c := range core.ClusterID(len(w.clusters)) {
			if at[c] {
				b = fmt.Appendf(b, "file %d at %d\n", f, c)
			}
		}
	}
	ids := make([]core.JobID, 0, len(w.jobs))
	for id := range w.jobs { // order-free: sorted below
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		b = w.jobs[id].appendState(b, w)
	}
	return b
}

func (j *Job) appendState(b []byte, w *World) []byte {
	b = fmt.Appendf(b, "job %d %s since %d epoch %d attempts %d queued %v tries %d pace %+v\n",
		j.spec.ID, j.state, j.since, j.epoch, j.attempts, j.queued, w.Tries(j), j.pace)
	for _, p := range j.parts {
		b = fmt.Appendf(b, " part %d on %d size %d [%d,%d] procs %v held %v staged %v claimed %v offer %+v refused %d\n",
			p.index, p.cluster.id, p.size, p.min, p.max, p.procs, p.held, p.staged, p.claimed, p.offer, p.refused)
	}
	return b
}

// Check verifies what must always hold: no processor is held twice, sizes are
// within their limits, what is counted agrees with what is there.
func (w *World) Check() error {
	held := make([]bitset, len(w.clusters))
	reclaimable := make([]int, len(w.clusters))
	for i, c := range w.clusters {
		held[i] = newBitset(c.procs)
	}
	for _, j := range w.jobs { // order-free: every job is checked by itself
		for _, p := range j.parts {
			if err := p.check(held[p.cluster.id]); err != nil {
				return err
			}
			if j.state == core.Running && j.spec.Kind == core.Malleable && !p.cluster.spec.Managed {
				reclaimable[p.cluster.id] += p.size - p.min
			}
		}
	}
	for i, c := range w.clusters {
		if !slices.Equal(held[i], c.held) {
			return fmt.Errorf("cluster %s: held processors are %x, jobs hold %x", c.spec.Name, c.held, held[i])
		}
		if c.idle != c.free.count() || c.reclaimable != reclaimable[i] {
			return fmt.Errorf("cluster %s: counts %d idle, %d reclaimable; has %d, %d", c.spec.Name, c.idle, c.reclaimable, c.free.count(), reclaimable[i])
		}
	}
	return nil
}

func (p *Part) check(held bitset) error {
	if p.size < p.min || p.size > p.max {
		return fmt.Errorf("job %d part %d has size %d outside [%d, %d]", p.job.spec.ID, p.index, p.size, p.min, p.max)
	}
	if p.held && !p.cluster.spec.Managed && p.procs.Count() != p.size {
		return fmt.Errorf("job %d part %d has size %d but holds %v", p.job.spec.ID, p.index, p.size, p.procs)
	}
	sets := []core.ProcSet{p.procs}
	if p.offer.n > 0 {
		sets = append(sets, p.offer.procs)
	}
	for _, s := range sets {
		if _, any := held.has(s); any {
			return fmt.Errorf("job %d part %d holds processors of another part: %v", p.job.spec.ID, p.index, s)
		}
		held.set(s)
	}
	return nil
}
