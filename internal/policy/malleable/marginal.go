package malleable

import (
	"cmp"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Marginal is our own policy: each processor goes to the job for which it
// shortens the sum of all remaining times most, by the speed-up measured so
// far. Where shrinking is allowed it also moves processors to where they are
// worth more.
//
// A processor that speeds a job up shortens the wait of everybody who gets
// this job's processors afterwards, so a second less of a short job counts
// more than a second less of a long one. For programs whose speed grows like
// n^a the best weights are known (Berg, Vesilo and Harchol-Balter, heSRPT,
// 2020): with the jobs ranked by remaining work, the longest first, the k-th
// weighs (k^c − (k−1)^c)^(1/c), c = 1/(1−a). We use these weights with each
// program's own measured curve and with the a that the running programs have
// at their present sizes.
type Marginal struct{}

// The exponent a is kept away from 0 (nobody scales: all weigh the same) and 1
// (only the shortest counts), where measurements are too rough to tell.
const (
	leastExponent = 0.1
	mostExponent  = 0.9
	// worthMoving is by how much the weighted speed of all jobs must rise
	// before running jobs are shrunk for others: moving is not free.
	worthMoving = 0.01
)

// candidate is a part that may get processors.
type candidate struct {
	part   *world.Part
	curve  *world.Scaling
	work   float64 // remaining, in seconds on one processor
	weight float64
	rest   int     // processors of the job's other parts
	size   int     // given so far
	next   int     // the size it would go to next, 0 if none
	gain   float64 // in weighted speed, per processor of that step
}

// candidates looks at parts that have `base` processors each to begin with.
func candidates(v world.View, parts []*world.Part, base func(*world.Part) int) []candidate {
	list := make([]candidate, len(parts))
	for i, p := range parts {
		j := p.Job()
		total := j.Size()
		done, rate := j.Pace(total, v.Now)
		list[i] = candidate{part: p, curve: j.Scaling(), size: base(p), rest: total - p.Size(),
			work: (1 - done) / rate * j.Scaling().Relative(total)}
	}
	weigh(list)
	return list
}

// weigh ranks the candidates by remaining work and gives each its weight.
func weigh(list []candidate) {
	order := make([]*candidate, len(list))
	sum := 0.0
	for i := range list {
		c := &list[i]
		order[i] = c
		n := c.rest + c.part.Size()
		sum += math.Log2(c.curve.Relative(2*n) / c.curve.Relative(n))
	}
	slices.SortStableFunc(order, func(a, b *candidate) int { return cmp.Compare(b.work, a.work) })
	a := min(mostExponent, max(leastExponent, sum/float64(len(list))))
	c := 1 / (1 - a)
	before := 0.0 // (k-1)^c
	for i, cand := range order {
		k := math.Pow(float64(i+1), c)
		cand.weight = math.Pow(k-before, 1-a)
		before = k
	}
}

// speed is the weighted speed with n processors.
func (c *candidate) speed(n int) float64 { return c.weight * c.curve.Relative(c.rest+n) }

// look finds the next step up and what each of its processors is worth. Where
// the program is known to refuse small steps, a larger one is looked at.
func (c *candidate) look(free int) {
	c.next, c.gain = 0, 0
	limit := min(c.part.Max(), c.size+free)
	for n := c.curve.Next(c.size, limit); n > 0; n = c.curve.Next(n, limit) {
		if grown := n - c.part.Size(); grown > 0 && grown <= c.part.Refused() {
			continue
		}
		c.next, c.gain = n, (c.speed(n)-c.speed(c.size))/float64(n-c.size)
		return
	}
}

// pour gives free processors to the candidates, step by step to whom the step
// is worth most. O(s log n) for s steps.
func pour(list []candidate, free int) {
	h := make(gainHeap, 0, len(list))
	for i := range list {
		if list[i].look(free); list[i].next > 0 {
			h = append(h, &list[i])
		}
	}
	h.build()
	for len(h) > 0 && free > 0 {
		c := h[0]
		if c.next-c.size <= free {
			free -= c.next - c.size
			c.size = c.next
		}
		if c.look(free); c.next == 0 {
			h[0] = h[len(h)-1]
			h = h[:len(h)-1]
		}
		h.down(0)
	}
}

// gainHeap has the candidate with the largest gain on top, of equal ones the
// one that started first.
type gainHeap []*candidate

func (h gainHeap) build() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h gainHeap) down(i int) {
	for {
		best := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < len(h) && h.before(c, best) {
				best = c
			}
		}
		if best == i {
			return
		}
		h[i], h[best] = h[best], h[i]
		i = best
	}
}

func (h gainHeap) before(a, b int) bool {
	if h[a].gain != h[b].gain {
		return h[a].gain > h[b].gain
	}
	return h[a].part.Order() < h[b].part.Order()
}

// Grow gives what is free to whom it helps most. What helps nobody is given
// away all the same as long as nobody waits who could use it.
func (Marginal) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	if v.SomebodyFits(c) {
		return dst // whoever waits gains more by starting than anybody by growing
	}
	list := candidates(v, c.Growable(), (*world.Part).Size)
	pour(list, free)
	start := len(dst)
	for i := range list {
		cand := &list[i]
		if n := cand.size - cand.part.Size(); n > 0 {
			dst = append(dst, Offer{cand.part, n, reason(core.LargestGain, cand, n)})
		}
	}
	if len(dst) == start {
		return FPSMA{}.Grow(v, c, free, dst)
	}
	return dst
}

// Shrink takes from whom it hurts least: the processors above the minima, less
// those needed, are given out anew.
func (Marginal) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	list := candidates(v, c.Shrinkable(), (*world.Part).Min)
	for i := range list {
		// Not more than it has: nobody grows while somebody is in need.
		list[i].rest += 0
	}
	pour(list, c.Reclaimable()-min(need, c.Reclaimable()))
	return shrinks(list, dst)
}

// Rebalance takes from those who hold more than they would get if everything
// were given out anew, if that speeds things up enough.
func (Marginal) Rebalance(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	list := candidates(v, c.Malleable(), (*world.Part).Min)
	pour(list, free+c.Reclaimable())
	var now, then float64
	for i := range list {
		now += list[i].speed(list[i].part.Size())
		then += list[i].speed(list[i].size)
	}
	if then-now < worthMoving*now {
		return dst
	}
	return shrinks(list, dst)
}

func shrinks(list []candidate, dst []Offer) []Offer {
	for i := range list {
		cand := &list[i]
		if n := cand.part.Size() - cand.size; n > 0 {
			dst = append(dst, Offer{cand.part, -n, reason(core.SmallestLoss, cand, n)})
		}
	}
	return dst
}

// reason tells by how many seconds the job's predicted end changes.
func reason(code core.ReasonCode, c *candidate, n int) core.Reason {
	before := c.work / c.curve.Relative(c.rest+c.part.Size())
	after := c.work / c.curve.Relative(c.rest+c.size)
	return core.Reason{Code: code, A: math.Abs(before - after), B: float64(n)}
}
