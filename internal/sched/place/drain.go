package place

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// DrainReason says that a job waits because clusters or hosts are drained: some component
// would have room in an empty grid, but not in what is left of it within reach. false: that
// is not what it waits for.
func DrainReason(v world.View, job *core.Job, policy core.PlacePolicy) (core.Reason, bool) {
	if !slices.ContainsFunc(v.Clusters(), func(c *world.Cluster) bool { return len(c.Drains()) > 0 }) {
		return core.Reason{}, false
	}
	j := v.Job(job.ID)
	if policy == core.FlexibleMin && !v.Whole {
		return splitDrainReason(&v, j, job)
	}
	for i := range job.Components {
		if why, is := componentDrainReason(&v, j, &job.Components[i]); is {
			return why, true
		}
	}
	return core.Reason{}, false
}

func componentDrainReason(v *world.View, j *world.Job, comp *core.Component) (core.Reason, bool) {
	var cluster, host core.Reason
	for _, c := range v.Clusters() {
		if !isEligible(v, j, comp, c) || !c.IsUnknown() && c.UsableProcs() < comp.Min {
			continue
		}
		switch {
		case c.IsDrained():
			if cluster.B++; cluster.B == 1 {
				cluster.Code, cluster.A = core.ClusterIsDrained, float64(c.ID())
			}
		case c.IsClosed() || c.IsUnknown(): // it cannot run there either, but not because of this
		case lacksDrained(c, comp):
			if host.Code == core.NoReason {
				host = core.Reason{Code: core.HostIsDrained, A: float64(c.ID()), B: float64(countDrained(c))}
			}
		default:
			return core.Reason{}, false
		}
	}
	if cluster.B > 0 {
		return cluster, true
	}
	return host, host.Code != core.NoReason
}

// lacksDrained reports whether a component has room in an empty cluster only with the hosts
// that are drained.
func lacksDrained(c *world.Cluster, comp *core.Component) bool {
	if c.DrainedProcs() == 0 {
		return false
	}
	if c.UsableProcs()-c.DrainedProcs() < comp.Min {
		return true
	}
	nodes := countNodes(comp)
	if nodes == 0 || c.IsManaged() {
		return false
	}
	ever, left := 0, 0
	for h := range c.HostCount() {
		if c.HostProcs(h) >= comp.Min/nodes {
			ever++
			if !c.HostIsDrained(h) {
				left++
			}
		}
	}
	return ever >= nodes && left < nodes
}

func countDrained(c *world.Cluster) int {
	n := 0
	for h := range c.HostCount() {
		if c.HostIsDrained(h) {
			n++
		}
	}
	return n
}

// splitDrainReason is that of a job that may be split over clusters.
func splitDrainReason(v *world.View, j *world.Job, job *core.Job) (core.Reason, bool) {
	why, left := core.Reason{Code: core.ClusterIsDrained}, 0
	for _, c := range v.Clusters() {
		switch {
		case !isEligible(v, j, &job.Components[0], c):
		case c.IsDrained():
			if why.B++; why.B == 1 {
				why.A = float64(c.ID())
			}
		case !c.IsClosed() && !c.IsUnknown():
			left += max(0, c.UsableProcs()-c.DrainedProcs())
		}
	}
	return why, why.B > 0 && left < job.MinSize()
}
