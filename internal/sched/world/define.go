package world

import "github.com/godwit-hpc/godwit/internal/sched/core"

// InUse reports whether a job of ours is placed in the cluster. It looks at all
// live jobs: clusters change rarely.
func (w *World) InUse(c *Cluster) bool {
	for _, j := range w.jobs { // order-free: any will do
		for _, p := range j.parts {
			if p.cluster == c {
				return true
			}
		}
	}
	return false
}

// CanDefine reports whether the cluster may become what spec says while jobs of
// ours are in it: processors keep their numbers, so that only the last host may
// get more of them, and hosts may come after it.
func (c *Cluster) CanDefine(spec *core.ClusterSpec) bool {
	was := c.spec.Hosts
	if spec.Managed != c.spec.Managed || len(spec.Hosts) < len(was) {
		return false
	}
	for i := range was {
		more := spec.Hosts[i].Procs - was[i].Procs
		if more < 0 || more > 0 && i+1 < len(was) {
			return false
		}
	}
	return true
}

// applyDefined adds a cluster, or changes what one consists of.
func (w *World) applyDefined(ev *core.Event) error {
	n := len(w.clusters)
	if ev.Grid == nil || !ev.Grid.IsValid() || ev.Cluster < 0 || int(ev.Cluster) > n {
		return w.impossibleEvent(ev, "describes no cluster")
	}
	if int(ev.Cluster) == n {
		w.clusters = append(w.clusters, newCluster(ev.Cluster, *ev.Grid))
		return nil
	}
	c := w.clusters[ev.Cluster]
	if c.spec.Name != ev.Grid.Name {
		return w.impossibleEvent(ev, "gives cluster "+c.spec.Name+" another name")
	}
	hosts := len(c.spec.Hosts)
	switch {
	case c.CanDefine(ev.Grid):
		c.adoptSpec(*ev.Grid)
		c.free, c.held = c.free.withCapacity(c.procs), c.held.withCapacity(c.procs)
		c.others, c.down = c.others.withCapacity(c.procs), c.down.withCapacity(c.procs)
	case !w.InUse(c):
		c.adoptSpec(*ev.Grid)
		c.free, c.held = newBitset(c.procs), newBitset(c.procs)
		c.others, c.down = newBitset(c.procs), newBitset(c.procs)
	default:
		return w.impossibleEvent(ev, "takes processors away from cluster "+c.spec.Name+", which is in use")
	}
	if hosts != len(c.spec.Hosts) {
		c.net = nil
	}
	c.recountFree()
	return nil
}
