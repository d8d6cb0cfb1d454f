package malleable

import (
	"math"

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

// basin is the sizes that a part may have: water stands in it from its floor up to its ceiling.
type basin struct{ floor, ceiling int32 }

// waterFill pours the parts' present sizes plus extra over them like water, above
// each part's floor and below its ceiling; the remainder goes one each to the
// oldest. It appends the part's new sizes to dst. O(n log m) for sizes up to m.
func waterFill(parts []*world.Part, extra int, floor, ceiling func(*world.Part) int, dst []int) []int {
	var buf [usualParts]basin
	basins, pool := buf[:0], extra
	lowest, highest := int32(math.MaxInt32), int32(0)
	for _, p := range parts {
		b := basin{int32(floor(p)), int32(ceiling(p))}
		pool += p.Size() - int(b.floor)
		lowest, highest = min(lowest, b.floor), max(highest, b.ceiling)
		basins = append(basins, b)
	}
	level := waterLevel(basins, pool, lowest, highest)
	rest := pool - volumeBelow(basins, level)
	for _, b := range basins {
		target := max(b.floor, min(level, b.ceiling))
		if rest > 0 && b.floor <= level && level < b.ceiling {
			target++
			rest--
		}
		dst = append(dst, int(target))
	}
	return dst
}

// waterLevel is the highest level between two for which the pool suffices. It looks first at where that would be if
// all floors were the lowest and no ceiling reached.
func waterLevel(basins []basin, pool int, lowest, highest int32) int32 {
	if len(basins) == 0 {
		return lowest
	}
	middle := lowest + int32(min(int(highest-lowest), pool/len(basins)))
	for lowest < highest {
		if volumeBelow(basins, middle) <= pool {
			if lowest = middle; middle < highest && volumeBelow(basins, middle+1) > pool {
				return middle
			}
		} else {
			highest = middle - 1
		}
		middle = lowest + (highest-lowest+1)/2
	}
	return lowest
}

// volumeBelow is how much water the basins hold if it stands at a level.
func volumeBelow(basins []basin, level int32) int {
	volume := 0
	for _, b := range basins {
		volume += int(max(b.floor, min(level, b.ceiling)) - b.floor)
	}
	return volume
}
