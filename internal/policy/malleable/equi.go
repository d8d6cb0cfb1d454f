package malleable

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Equipartition shares the whole cluster, not only what is free, equally over
// its malleable jobs; so it may shrink some to grow others.
type Equipartition struct{}

// Grow brings the smallest up first, as far as what is free goes.
func (Equipartition) Grow(_ world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	start := len(dst)
	for i, target := range level(c.Growable(), free) {
		p := c.Growable()[i]
		if n := useful(p, target-p.Size()); n > 0 {
			dst = append(dst, Offer{p, n, core.Reason{Code: core.EqualPartition, A: float64(target)}})
		}
	}
	if len(dst) == start { // equal steps are too small for anybody: whoever wants more
		return FPSMA{}.Grow(world.View{}, c, free, dst)
	}
	return dst
}

// Shrink cuts the largest down first.
func (Equipartition) Shrink(_ world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	return shrinkTo(c.Shrinkable(), partition(c.Shrinkable(), -min(need, c.Reclaimable())), dst)
}

// Rebalance shrinks those above their equal part.
func (Equipartition) Rebalance(_ world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	return shrinkTo(c.Malleable(), partition(c.Malleable(), free), dst)
}

func shrinkTo(parts []*world.Part, targets []int, dst []Offer) []Offer {
	for i, p := range parts {
		if targets[i] < p.Size() {
			dst = append(dst, Offer{p, targets[i] - p.Size(), core.Reason{Code: core.EqualPartition, A: float64(targets[i])}})
		}
	}
	return dst
}

// partition gives each part its equal share of what the parts hold and extra
// more, within [Min, Max]; the remainder goes one each to the oldest.
func partition(parts []*world.Part, extra int) []int {
	return fill(parts, extra, func(p *world.Part) int { return p.Min() })
}

// level only raises: it brings the smallest up until free is used.
func level(parts []*world.Part, free int) []int {
	return fill(parts, free, func(p *world.Part) int { return p.Size() })
}

// fill pours the parts' present sizes plus extra over them like water, above
// each part's floor and below its maximum. O(n log n).
func fill(parts []*world.Part, extra int, floor func(*world.Part) int) []int {
	target := make([]int, len(parts))
	pool := extra
	// The water level rises past floors and maxima; at each of them the number
	// of parts that still take water changes.
	marks := make([]int, 0, 2*len(parts))
	for i, p := range parts {
		target[i] = floor(p)
		pool += p.Size() - target[i]
		marks = append(marks, target[i], p.Max())
	}
	if pool <= 0 || len(parts) == 0 {
		return target
	}
	slices.Sort(marks)
	at := marks[0]
	open := 0 // parts whose floor is at or below the level and whose maximum is above
	delta := map[int]int{}
	for _, p := range parts {
		delta[floor(p)]++
		delta[p.Max()]--
	}
	for i := 0; i < len(marks); {
		at = marks[i]
		open += delta[at]
		for i < len(marks) && marks[i] == at {
			i++
		}
		if i == len(marks) || open > 0 && pool < open*(marks[i]-at) {
			break
		}
		pool -= open * (marks[i] - at)
	}
	rest := 0
	if open > 0 {
		at, rest = at+pool/open, pool%open
	}
	for i, p := range parts {
		if t := min(at, p.Max()); t > target[i] {
			target[i] = t
		}
		if rest > 0 && target[i] == at && at < p.Max() && floor(p) <= at {
			target[i]++
			rest--
		}
	}
	return target
}
