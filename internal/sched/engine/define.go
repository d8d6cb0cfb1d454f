package engine

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// defineCluster: a cluster was added, answered for the first time, or is another
// than it was. As long as jobs are in it, it loses no processor: whoever tells us
// tells it again when they have left.
func (e *Engine) defineCluster(in *core.Input) {
	n := len(e.w.Clusters())
	if in.Grid == nil || !in.Grid.IsValid() || in.Cluster < 0 || int(in.Cluster) > n {
		return
	}
	spec := *in.Grid
	if int(in.Cluster) == n {
		e.emitEvent(core.Event{Kind: core.ClusterDefined, Cluster: in.Cluster, Grid: &spec})
		e.dirty = append(e.dirty, dirt{})
		e.clusterOpened(e.w.Cluster(in.Cluster))
		e.askNowhere()
		return
	}
	c := e.w.Cluster(in.Cluster)
	if spec.Name != c.Name() {
		return
	}
	if e.w.InUse(c) && !c.CanDefine(&spec) {
		spec = keepProcessors(c.Spec(), spec)
	}
	if was := c.Spec(); spec.Equal(&was) {
		return
	}
	removed, unknown := spec.Removed && !c.IsRemoved(), c.IsUnknown()
	e.emitEvent(core.Event{Kind: core.ClusterDefined, Cluster: in.Cluster, Grid: &spec})
	if removed {
		e.clusterRemoved(c)
		return
	}
	e.clusterOpened(c)
	e.askNowhere()
	if unknown {
		e.failImpossible()
	}
}

// keepProcessors is what can be taken over of a description at once.
func keepProcessors(was, now core.ClusterSpec) core.ClusterSpec {
	hosts := slices.Clone(was.Hosts)
	for i := range hosts {
		if i < len(now.Hosts) {
			hosts[i].Speed, hosts[i].Memory = now.Hosts[i].Speed, now.Hosts[i].Memory
		}
	}
	now.Hosts, now.Managed = hosts, was.Managed
	return now
}

// clusterOpened: who waits may have something of the cluster now.
func (e *Engine) clusterOpened(c *world.Cluster) {
	e.markDirty(c)
	e.markFreed(c)
}

// clusterRemoved: nobody is sent to the cluster any more. Who only waits there is placed
// again; who runs there runs to its end.
func (e *Engine) clusterRemoved(c *world.Cluster) {
	why := core.Reason{Code: core.ClusterRemoved}
	unpinned := false
	for _, j := range e.w.Jobs() {
		if at, pinned := j.PinnedAim().Cluster(); pinned && at == c.ID() {
			e.emitEvent(core.Event{Kind: core.JobPinned, Job: j.Spec().ID, Epoch: j.Epoch(), Why: why})
			unpinned = true
		}
		s := j.State()
		if s == core.Running || s == core.Stopping {
			continue
		}
		if slices.ContainsFunc(j.Parts(), func(p *world.Part) bool { return p.Cluster() == c }) {
			e.abandonPlacement(j, why)
		}
	}
	for _, other := range e.w.Clusters() {
		if unpinned && !other.IsRemoved() { // who waited for the cluster may have another
			e.clusterOpened(other)
		}
	}
}

// failImpossible ends jobs that waited for a cluster to say how large it is, and
// that it turns out to be too small for.
func (e *Engine) failImpossible() {
	for _, j := range e.w.Jobs() {
		if !j.State().IsWaiting() {
			continue
		}
		if why, ok := place.EverFits(e.viewFor(j.Spec().ID), j.Spec(), e.w.PlacePolicy(j.Spec())); !ok &&
			why.Code == core.NeverFits && why.B > 0 {
			e.changeState(j, core.Failed, why)
		}
	}
}
