package world

import (
	"math/bits"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Drains lists what of the cluster is drained, in the order in which that was asked for.
// The caller must not change the slice.
func (c *Cluster) Drains() []core.Drain { return c.drains }

// IsDrained reports whether nothing new is placed on the cluster, as somebody asked for.
func (c *Cluster) IsDrained() bool { return len(c.drains) > 0 && c.drainIndex("") >= 0 }

// FindDrain is the drain of a host of the cluster, or of all of it if host is ""; nil if
// that is not drained.
func (c *Cluster) FindDrain(host string) *core.Drain {
	if i := c.drainIndex(host); i >= 0 {
		return &c.drains[i]
	}
	return nil
}

func (c *Cluster) drainIndex(host string) int {
	return slices.IndexFunc(c.drains, func(d core.Drain) bool { return d.Host == host })
}

// HostIsDrained reports whether nothing new is placed on a host, whatever holds for the
// rest of its cluster.
func (c *Cluster) HostIsDrained(host int) bool {
	name := c.spec.Hosts[host].Name
	return name != "" && len(c.drains) > 0 && c.drainIndex(name) >= 0
}

// DrainedProcs is how many processors are on hosts that are drained.
func (c *Cluster) DrainedProcs() int { return c.drained.countMembers() }

// HoldsDrained reports whether some of the processors are on hosts that are drained.
func (c *Cluster) HoldsDrained(s core.ProcSet) bool {
	if c.drained == nil {
		return false
	}
	_, some := c.drained.containsAny(s)
	return some
}

// reclaimableProcs is how many processors would be free for others if the malleable jobs
// were shrunk to their minima: what is on a drained host would not.
func (c *Cluster) reclaimableProcs() int {
	n := c.reclaimable
	if c.drained == nil {
		return n
	}
	for _, p := range c.shrinkable {
		_, back := p.procs.SplitLast(p.size - p.min)
		c.drained.eachWord(back, func(w *uint64, m uint64) { n -= bits.OnesCount64(*w & m) })
	}
	return n
}

// findDrained finds the processors of the hosts that are drained. Hosts may be others now,
// or have other numbers: they are known by their names.
func (c *Cluster) findDrained() {
	c.drained = nil
	begin := int32(0)
	for i := range c.spec.Hosts {
		end := begin + int32(c.spec.Hosts[i].Procs)
		if c.HostIsDrained(i) {
			if c.drained == nil {
				c.drained = newBitset(c.procs)
			}
			c.drained.addAll(core.ProcSet{{Lo: begin, Hi: end}})
		}
		begin = end
	}
}

// setDrains replaces what is drained.
func (c *Cluster) setDrains(drains []core.Drain) {
	c.drains = drains
	c.findDrained()
	c.recountFree()
}

// applyDrain notes that a cluster or a host of it is drained, or is used again.
func (w *World) applyDrain(c *Cluster, ev *core.Event) error {
	if ev.Drain == nil {
		return w.impossibleEvent(ev, "does not say what is drained")
	}
	at := c.drainIndex(ev.Drain.Host)
	if ev.Kind == core.ClusterDrained {
		if at >= 0 {
			return w.impossibleEvent(ev, "drains what is drained already")
		}
		c.setDrains(append(slices.Clip(c.drains), *ev.Drain))
		return nil
	}
	if at < 0 {
		return w.impossibleEvent(ev, "ends a drain that there is not")
	}
	c.setDrains(slices.Delete(slices.Clone(c.drains), at, at+1))
	return nil
}
