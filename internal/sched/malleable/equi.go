package malleable

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Equipartition shares the whole cluster, not only what is free, equally over
// its malleable jobs; so it may shrink some to grow others.
type Equipartition struct{}

// Grow brings the smallest up first, as far as what is free goes.
func (Equipartition) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	start := len(dst)
	for i, target := range waterFill(c.GrowableParts(), free, (*world.Part).Size, (*world.Part).MaxSize) {
		p := c.GrowableParts()[i]
		if n := usefulOffer(p, target-p.Size()); n > 0 {
			dst = append(dst, Offer{p, n, core.Reason{Code: core.EqualPartition, A: float64(target)}})
		}
	}
	if len(dst) == start { // equal steps are too small for anybody: whoever wants more
		return FPSMA{}.Grow(v, c, free, dst)
	}
	return dst
}

// Shrink cuts the largest down first.
func (Equipartition) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	parts, most := otherParts(v, c)
	return shrinkTo(parts, waterFill(parts, -min(need, most), (*world.Part).MinSize, (*world.Part).Size), dst)
}

// Rebalance shrinks those above their equal part of what the malleable jobs
// hold and what is free.
func (Equipartition) Rebalance(_ world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	return shrinkTo(c.MalleableParts(), waterFill(c.MalleableParts(), free, (*world.Part).MinSize, (*world.Part).MaxSize),
		dst)
}

func shrinkTo(parts []*world.Part, targets []int, dst []Offer) []Offer {
	for i, p := range parts {
		if targets[i] < p.Size() {
			dst = append(dst, Offer{p, targets[i] - p.Size(), core.Reason{Code: core.EqualPartition, A: float64(targets[i])}})
		}
	}
	return dst
}

// waterFill pours the parts' present sizes plus extra over them like water, above
// each part's floor and below its ceiling; the remainder goes one each to the
// oldest. O(n log n).
func waterFill(parts []*world.Part, extra int, floor, ceiling func(*world.Part) int) []int {
	// The water rises past floors and ceilings; at each of them the number of
	// parts that still take water changes.
	type mark struct{ at, open int }
	marks := make([]mark, 0, 2*len(parts))
	pool := extra
	for _, p := range parts {
		pool += p.Size() - floor(p)
		marks = append(marks, mark{floor(p), +1}, mark{ceiling(p), -1})
	}
	slices.SortFunc(marks, func(a, b mark) int { return a.at - b.at })
	level, open := 0, 0
	for _, m := range marks {
		if rise := open * (m.at - level); pool >= rise {
			pool -= rise
			level, open = m.at, open+m.open
		} else {
			break
		}
	}
	rest := 0
	if open > 0 { // between two marks
		level, rest = level+pool/open, pool%open
	}
	targets := make([]int, len(parts))
	for i, p := range parts {
		targets[i] = max(floor(p), min(level, ceiling(p)))
		if rest > 0 && floor(p) <= level && level < ceiling(p) {
			targets[i]++
			rest--
		}
	}
	return targets
}
