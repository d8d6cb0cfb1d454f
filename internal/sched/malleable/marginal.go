package malleable

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// Marginal is our own policy: each processor goes to the job whose predicted
// remaining time falls most by it, from the speed-up measured so far. Where
// shrinking is allowed it also moves processors to where they do more.
//
// A remaining time T is judged by its worth T^(-g), here 1/⁴√T. With g = 0 (the logarithm)
// a tenth less of any job counts the same, which shares processors equally
// among programs that scale alike; with g = 1 only the shortest counts, which
// lets short jobs go first but uses many processors badly. A quarter was best
// or near the best on generated workloads and real traces, with and without
// shrinking (docs/decisions/0005-marginal.md).
type Marginal struct{}

const (
	// worthMoving is by how much the worth of all jobs must rise before running
	// jobs are shrunk for others.
	worthMoving = 0.01
	// keptBack is the part of a cluster that is not given to those who gain
	// nothing by it where it could not be taken back from them.
	keptBack = 0.4
)

// candidate is a part that may get processors.
type candidate struct {
	part  *world.Part
	curve *world.Scaling
	work  float64 // remaining, in seconds at relative speed 1
	scale float64 // worth at relative speed 1
	rest  int     // processors of the job's other parts
	size  int     // given so far
	most  int     // that it may get
	next  int     // the size it would go to next, 0 if none
	gain  float64 // in worth, per processor of that step
}

// candidates looks at parts that begin with so many processors as base says.
func candidates(v world.View, parts []*world.Part, base func(*world.Part) int) []candidate {
	list := make([]candidate, len(parts))
	for i, p := range parts {
		j := p.Job()
		total := j.Size()
		done, rate := j.Pace(total, v.Now)
		list[i] = candidate{part: p, curve: j.Scaling(), size: base(p), most: p.Max(), rest: total - p.Size(),
			work: (1 - done) / rate * j.Scaling().Relative(total)}
		list[i].scale = worth(list[i].work)
	}
	return list
}

// time is how long the job will still run if the part has n processors.
func (c *candidate) time(n int) float64 { return c.work / c.curve.Relative(c.rest+n) }

func worth(t float64) float64 { return 1 / math.Sqrt(math.Sqrt(t)) }

// look finds the next step up and what each of its processors is worth. Where
// the program is known to refuse small steps, a larger one is looked at.
func (c *candidate) look(free int) {
	c.next = 0
	limit := min(c.most, c.size+free)
	for n := c.curve.Next(c.size, limit); n > 0; n = c.curve.Next(n, limit) {
		if grown := n - c.part.Size(); grown > 0 && grown <= c.part.Refused() {
			continue
		}
		c.next = n
		c.gain = c.scale * (c.curve.Root(c.rest+n) - c.curve.Root(c.rest+c.size)) / float64(n-c.size)
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
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
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

// Grow gives what is free to whom it helps most. Whoever waits and could start
// with it gains more than anybody by growing, so then nothing is given. What
// helps nobody is given away all the same where that costs nothing; if it could
// not be taken back, only what is not likely to be missed.
func (Marginal) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	if v.SomebodyFits(c) {
		return dst
	}
	list := candidates(v, c.Growable(), (*world.Part).Size)
	if v.NeverShrinks {
		for i := range list {
			list[i].most = min(list[i].most, list[i].curve.LevelsAt()-list[i].rest)
		}
	}
	pour(list, free)
	start := len(dst)
	for i := range list {
		cand := &list[i]
		n := cand.size - cand.part.Size()
		if n > 0 && cand.pays() {
			dst = append(dst, Offer{cand.part, n, cand.reason(core.LargestGain, n)})
		}
	}
	if v.NeverShrinks {
		free = min(free, c.Room()-int(keptBack*float64(c.Procs())))
	}
	if len(dst) == start && free > 0 {
		return leftOver(c, free, dst)
	}
	return dst
}

// leftOver offers what nobody gains from to those whom taking it costs nothing.
func leftOver(c *world.Cluster, free int, dst []Offer) []Offer {
	for _, p := range c.Growable() {
		if n := useful(p, free); n > 0 && p.Job().Scaling().Pause() == 0 {
			dst = append(dst, Offer{p, n, core.Reason{Code: core.LeftOver, A: float64(n)}})
			free -= n
		}
	}
	return dst
}

// Shrink takes from whom it hurts least: the processors above the minima, less
// those needed, are given out anew.
func (Marginal) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	parts, reclaimable := others(v, c)
	list := candidates(v, parts, (*world.Part).Min)
	pour(list, reclaimable-min(need, reclaimable))
	return shrinks(list, dst)
}

// Rebalance takes from those who hold more than they would get if everything
// were given out anew, if that is worth it.
func (Marginal) Rebalance(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	list := candidates(v, c.Malleable(), (*world.Part).Min)
	pour(list, free+c.Reclaimable())
	var now, then float64
	for i := range list {
		cand := &list[i]
		now += worth(cand.time(cand.part.Size()))
		then += worth(cand.time(cand.size) + cand.pause())
	}
	if then-now < worthMoving*now {
		return dst
	}
	return shrinks(list, dst)
}

// pause is how long the change to the size given stops the program.
func (c *candidate) pause() float64 {
	if c.size == c.part.Size() {
		return 0
	}
	return c.curve.Pause()
}

// pays reports whether the job ends sooner although it is stopped for the
// change.
func (c *candidate) pays() bool {
	return c.curve.Pause() == 0 || c.time(c.size)+c.pause() < c.time(c.part.Size())
}

func shrinks(list []candidate, dst []Offer) []Offer {
	for i := range list {
		cand := &list[i]
		if n := cand.part.Size() - cand.size; n > 0 {
			dst = append(dst, Offer{cand.part, -n, cand.reason(core.SmallestLoss, n)})
		}
	}
	return dst
}

// reason tells by how many seconds the job's predicted end changes.
func (c *candidate) reason(code core.ReasonCode, n int) core.Reason {
	return core.Reason{Code: code, A: math.Abs(c.time(c.part.Size()) - c.time(c.size)), B: float64(n)}
}
