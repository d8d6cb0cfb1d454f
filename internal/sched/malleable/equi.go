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
	var buf [usualParts]int
	for i, target := range waterFill(c.GrowableParts(), free, (*world.Part).Size, usableSize, buf[:0]) {
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

// usableSize is how large a part could be with what is free.
func usableSize(p *world.Part) int { return p.Size() + p.RoomToGrow() }

// Shrink cuts the largest down first.
func (Equipartition) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	parts, most := otherParts(v, c)
	var buf [usualParts]int
	return shrinkTo(parts, waterFill(parts, -min(need, most), (*world.Part).MinSize, (*world.Part).Size, buf[:0]), dst)
}

// Rebalance shrinks those above their equal part of what the malleable jobs
// hold and what is free.
func (Equipartition) Rebalance(_ world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	var buf [usualParts]int
	parts := c.MalleableParts()
	return shrinkTo(parts, waterFill(parts, free, (*world.Part).MinSize, (*world.Part).MaxSize, buf[:0]), dst)
}

func shrinkTo(parts []*world.Part, targets []int, dst []Offer) []Offer {
	for i, p := range parts {
		if targets[i] < p.Size() {
			dst = append(dst, Offer{p, targets[i] - p.Size(), core.Reason{Code: core.EqualPartition, A: float64(targets[i])}})
		}
	}
	return dst
}

// usualParts is how many parts a cluster has at most for which no memory is asked for.
const usualParts = 64

// waterFill pours the parts' present sizes plus extra over them like water, above
// each part's floor and below its ceiling; the remainder goes one each to the
// oldest. It appends the part's new sizes to dst. O(n log n).
func waterFill(parts []*world.Part, extra int, floor, ceiling func(*world.Part) int, dst []int) []int {
	// The water rises past floors and ceilings; at each of them the number of parts that still
	// take water changes. A mark is twice the level, and one more if it is a floor.
	var buf [2 * usualParts]int
	marks, pool := buf[:0], extra
	for _, p := range parts {
		low := floor(p)
		pool += p.Size() - low
		marks = append(marks, 2*low+1, 2*ceiling(p))
	}
	slices.Sort(marks)
	level, open := 0, 0
	for _, m := range marks {
		at, opens := m>>1, m&1 == 1
		rise := open * (at - level)
		if pool < rise {
			break
		}
		pool -= rise
		level = at
		if opens {
			open++
		} else {
			open--
		}
	}
	rest := 0
	if open > 0 { // between two marks
		level, rest = level+pool/open, pool%open
	}
	for _, p := range parts {
		low, high := floor(p), ceiling(p)
		target := max(low, min(level, high))
		if rest > 0 && low <= level && level < high {
			target++
			rest--
		}
		dst = append(dst, target)
	}
	return dst
}
