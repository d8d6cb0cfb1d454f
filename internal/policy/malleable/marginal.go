package malleable

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Marginal gives each processor to the job whose predicted remaining time
// falls most.
type Marginal struct{}

// Grow offers.
func (Marginal) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	parts := c.Growable()
	add := make([]int, len(parts))
	for free > 0 {
		best, bestN, bestGain := -1, 0, 0.0
		for i, p := range parts {
			size := p.Size() + add[i]
			rest := p.Job().Size() - p.Size()
			for k := 1; k <= min(free, p.Max()-size); k *= 2 {
				if add[i]+k <= p.Refused() {
					continue
				}
				now := p.Job().Remaining(rest+size, v.Now)
				g := (now - p.Job().Remaining(rest+size+k, v.Now)) / float64(k)
				if best < 0 || g > bestGain {
					best, bestN, bestGain = i, k, g
				}
			}
		}
		if best < 0 {
			break
		}
		add[best] += bestN
		free -= bestN
	}
	for i, p := range parts {
		if add[i] > 0 {
			dst = append(dst, Offer{p, add[i], core.Reason{Code: core.LargestGain, B: float64(add[i])}})
		}
	}
	return dst
}

// Shrink asks.
func (Marginal) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	return FPSMA{}.Shrink(v, c, need, dst)
}
