package malleable

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// FPSMA favours previously started malleable applications (papers/001, Fig.
// 4): the oldest grows first, the newest shrinks first.
type FPSMA struct{}

// Grow offers all that is left to the oldest, the rest to the next.
func (FPSMA) Grow(_ world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	for _, p := range c.GrowableParts() {
		if free == 0 {
			break
		}
		if n := usefulOffer(p, free); n > 0 {
			dst = append(dst, Offer{p, n, core.Reason{Code: core.OldestFirst, A: float64(free)}})
			free -= n
		}
	}
	return dst
}

// Shrink asks the newest for all that is needed, the next for the rest.
func (FPSMA) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	parts, _ := otherParts(v, c)
	for i := len(parts) - 1; i >= 0 && need > 0; i-- {
		n := min(need, spareCores(parts[i]))
		dst = append(dst, Offer{parts[i], -n, core.Reason{Code: core.NewestFirst, A: float64(need)}})
		need -= n
	}
	return dst
}
