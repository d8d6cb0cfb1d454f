package malleable

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// EGS is equi-grow and shrink (papers/001, Fig. 5, as its prose says: the
// listing has slips): what is free, or needed, is divided equally over the
// running malleable jobs.
type EGS struct{}

// Grow gives floor(free/n) to each and the remainder one each to those started
// least recently. Those known to refuse such a share have none, the others the
// more; where it is too little for anybody, all of it is offered to one after
// the other.
func (EGS) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	parts := c.GrowableParts()
	n := 0
	for i, p := range parts {
		if usefulOffer(p, shareOf(free, len(parts), i)) > 0 {
			n++
		}
	}
	if n == 0 {
		return FPSMA{}.Grow(v, c, free, dst)
	}
	why := core.Reason{Code: core.EqualShare, A: float64(free), B: float64(n)}
	rank := 0 // among those n
	for i, p := range parts {
		if usefulOffer(p, shareOf(free, len(parts), i)) > 0 {
			dst = append(dst, Offer{p, usefulOffer(p, shareOf(free, n, rank)), why})
			rank++
		}
	}
	return dst
}

// shareOf is the i-th of n equal shares; the first ones are one larger if it
// does not divide.
func shareOf(total, n, i int) int {
	share := total / n
	if i < total%n {
		share++
	}
	return share
}

// Shrink asks each for floor(need/n), the remainder one each from those
// started most recently. What somebody cannot spare the others give.
func (EGS) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	parts, most := otherParts(v, c)
	need = min(need, most)
	why := core.Reason{Code: core.EqualShare, A: float64(need), B: float64(len(parts))}
	take := make([]int, len(parts))
	for need > 0 {
		able := 0
		for i, p := range parts {
			if take[i] < spareCores(p) {
				able++
			}
		}
		share, malus := need/able, need%able
		for i := len(parts) - 1; i >= 0; i-- { // most recently started first
			n := share
			if take[i] == spareCores(parts[i]) {
				continue
			}
			if malus > 0 {
				n++
				malus--
			}
			n = min(n, spareCores(parts[i])-take[i])
			take[i] += n
			need -= n
		}
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if take[i] > 0 {
			dst = append(dst, Offer{parts[i], -take[i], why})
		}
	}
	return dst
}
