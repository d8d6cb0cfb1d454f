// Package malleable decides who grows and who shrinks, and by how much, when
// processors of a cluster become free or are needed (papers/001, section V).
// A policy looks at one cluster through a read-only view and returns offers
// with their reasons; the job may accept less, and what it does not take is
// put before the policy again. When a policy is asked at all, and whether
// shrinking is allowed, is the approach's business (see engine), not its own.
package malleable

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Offer is a change of size put to one part of a job: N more processors, or
// fewer if negative.
type Offer struct {
	Part *world.Part
	N    int
	Why  core.Reason
}

// Policy is the who and how much of malleability.
type Policy interface {
	// Grow offers at most free processors to the cluster's growable parts.
	Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer
	// Shrink asks the shrinkable parts for need processors, or for as many as
	// they hold above their minima if that is less. A job is not shrunk for its
	// own sake: parts of job v.For are left alone.
	Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer
}

// Rebalancer is a policy that, where shrinking is allowed, also takes
// processors from some jobs to give them to others.
type Rebalancer interface {
	Policy
	// Rebalance returns the shrinks (voluntary ones) that must come before
	// others can grow; nothing if the sizes are as they should be.
	Rebalance(v world.View, c *world.Cluster, free int, dst []Offer) []Offer
}

// usefulOffer is what may be offered to a part of `free` processors: not beyond what it
// can use, and nothing if it is known to refuse that much.
func usefulOffer(p *world.Part, free int) int {
	n := min(free, p.RoomToGrow())
	if n <= p.RefusedOffer() {
		return 0
	}
	return n
}

// spareCores is what a part holds above its minimum.
func spareCores(p *world.Part) int { return p.Size() - p.MinSize() }

// otherParts lists the shrinkable parts of a cluster that are not of job v.For,
// oldest start first, and what they hold above their minima.
func otherParts(v world.View, c *world.Cluster) (parts []*world.Part, reclaimable int) {
	parts, reclaimable = c.ShrinkableParts(), c.ReclaimableProcs()
	if j := v.Job(v.For); j == nil || j.State() != core.Running {
		return parts, reclaimable
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(p *world.Part) bool {
		own := p.Job().Spec().ID == v.For
		if own {
			reclaimable -= spareCores(p)
		}
		return own
	})
	return parts, reclaimable
}

// ByName is the policy of that name, or nil.
func ByName(name string) Policy {
	switch name {
	case "fpsma":
		return FPSMA{}
	case "egs":
		return EGS{}
	case "equi":
		return Equipartition{}
	case "fold":
		return Folding{}
	case "marginal":
		return Marginal{}
	}
	return nil
}

// PolicyNames lists the policies that ByName knows.
func PolicyNames() []string { return []string{"fpsma", "egs", "equi", "fold", "marginal"} }
