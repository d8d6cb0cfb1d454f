package malleable

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Folding only doubles and halves, as programs do whose processes are folded
// onto processors (McCann and Zahorjan; cited in papers/001).
type Folding struct{}

// Grow doubles the smallest first, as often as what is free allows.
func (Folding) Grow(_ world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	for _, p := range bySize(c.GrowableParts(), 1) {
		n := p.Size()
		if n > p.RoomToGrow() || n > free || n <= p.RefusedOffer() {
			continue
		}
		dst = append(dst, Offer{p, n, core.Reason{Code: core.Doubled, A: float64(n)}})
		free -= n
	}
	return dst
}

// Shrink halves the largest first, again and again until enough is there.
func (Folding) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	list, most := otherParts(v, c)
	parts := bySize(list, -1)
	take := make([]int, len(parts))
	for need = min(need, most); need > 0; {
		for i, p := range parts {
			if need <= 0 {
				break
			}
			size := p.Size() - take[i]
			n := min(size-size/2, size-p.MinSize())
			take[i] += n
			need -= n
		}
	}
	for i, p := range parts {
		if take[i] > 0 {
			dst = append(dst, Offer{p, -take[i], core.Reason{Code: core.Halved, A: float64(p.Size())}})
		}
	}
	return dst
}

// bySize sorts a copy by size, ascending or (sign -1) descending; those of one
// size by start.
func bySize(parts []*world.Part, sign int) []*world.Part {
	sorted := slices.Clone(parts)
	slices.SortStableFunc(sorted, func(a, b *world.Part) int { return sign * (a.Size() - b.Size()) })
	return sorted
}
