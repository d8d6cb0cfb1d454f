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
	now   int     // that it has
	size  int     // given so far
	most  int     // that it may get
	next  int     // the size it would go to next, 0 if none
	gain  float64 // in worth, per processor of that step
}

// appendCandidates looks at parts that begin with so many processors as base says.
func appendCandidates(list []candidate, v world.View, parts []*world.Part, base func(*world.Part) int) []candidate {
	for _, p := range parts {
		j := p.Job()
		total := j.Size()
		done, rate := j.ProgressRate(total, v.Now)
		work := (1 - done) / rate * j.Scaling().RelativeSpeed(total)
		list = append(list, candidate{part: p, curve: j.Scaling(), now: p.Size(), size: base(p), most: p.MaxSize(),
			rest: total - p.Size(), work: work, scale: timeWorth(work)})
	}
	return list
}

// remainingTime is how long the job will still run if the part has n processors.
func (c *candidate) remainingTime(n int) float64 { return c.work / c.curve.RelativeSpeed(c.rest+n) }

func timeWorth(t float64) float64 { return 1 / math.Sqrt(math.Sqrt(t)) }

// findNextStep finds the next step up and what each of its processors is worth. Where
// the program is known to refuse small steps, a larger one is looked at. It reports whether there is one.
func (c *candidate) findNextStep(free int) bool {
	c.next = 0
	limit := min(c.most, c.size+free)
	if c.size >= limit {
		return false
	}
	if c.rest == 0 { // what is the same for all jobs of the program is kept
		if next, rise := c.curve.StepUp(c.size); next <= limit && !c.hasRefused(next) {
			c.next, c.gain = next, c.scale*rise
			if more := next - c.size; more > 1 { // dividing takes longer than all the rest
				c.gain /= float64(more)
			}
			return true
		}
	}
	for n := c.curve.NextSize(c.size, limit); n > 0; n = c.curve.NextSize(n, limit) {
		if !c.hasRefused(n) {
			c.next = n
			c.gain = c.scale * (c.curve.SpeedRoot(c.rest+n) - c.curve.SpeedRoot(c.rest+c.size)) / float64(n-c.size)
			return true
		}
	}
	return false
}

// hasRefused reports whether the program is known to refuse to grow to a size.
func (c *candidate) hasRefused(size int) bool {
	return size > c.now && size-c.now <= c.part.RefusedOffer()
}

// pourCores gives free processors to the candidates, step by step to whom the step
// is worth most. O(s log n) for s steps.
func pourCores(list []candidate, free int) {
	var buf [usualParts]gainOf
	h := gainHeap(buf[:0])
	for i := range list {
		if list[i].findNextStep(free) {
			h = append(h, gainOf{list[i].gain, i})
		}
	}
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.siftDown(i, h[i])
	}
	for len(h) > 0 && free > 0 {
		first := h[0].candidate
		c := &list[first]
		if c.next-c.size <= free {
			free -= c.next - c.size
			c.size = c.next
		}
		if c.findNextStep(free) {
			h.siftDown(0, gainOf{c.gain, first})
		} else if last := len(h) - 1; last >= 0 {
			moved := h[last]
			h = h[:last]
			h.siftDown(0, moved)
		}
	}
}

// gainOf is what the next step of a candidate is worth.
type gainOf struct {
	gain      float64
	candidate int // in the list, where those that started earlier come first
}

func (g *gainOf) isBefore(f *gainOf) bool {
	return g.gain > f.gain || g.gain == f.gain && g.candidate < f.candidate
}

// gainHeap has the candidate with the largest gain on top, of equal ones the
// one that started first.
type gainHeap []gainOf

// siftDown puts g where i is, or below.
func (h gainHeap) siftDown(i int, g gainOf) {
	for c := 2*i + 1; c < len(h); c = 2*i + 1 {
		if c+1 < len(h) && h[c+1].isBefore(&h[c]) {
			c++
		}
		if !h[c].isBefore(&g) {
			break
		}
		h[i] = h[c]
		i = c
	}
	if i < len(h) {
		h[i] = g
	}
}

// Grow gives what is free to whom it helps most. Whoever waits and could start
// with it gains more than anybody by growing, so then nothing is given. What
// helps nobody is given away all the same where that costs nothing; if it could
// not be taken back, only what is not likely to be missed.
func (Marginal) Grow(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	if v.SomebodyFits(c) {
		return dst
	}
	var buf [usualParts]candidate
	list := appendCandidates(buf[:0], v, c.GrowableParts(), (*world.Part).Size)
	for i := range list {
		list[i].most = usableSize(list[i].part)
		if v.NeverShrinks {
			list[i].most = min(list[i].most, list[i].curve.LevelsAt()-list[i].rest)
		}
	}
	pourCores(list, free)
	start := len(dst)
	for i := range list {
		cand := &list[i]
		n := cand.size - cand.part.Size()
		if n > 0 && cand.paysOff() {
			dst = append(dst, Offer{cand.part, n, cand.changeReason(core.LargestGain, n)})
		}
	}
	if v.NeverShrinks {
		free = min(free, c.AvailableProcs()-int(keptBack*float64(c.Procs())))
	}
	if len(dst) == start && free > 0 {
		return leftOver(c, free, dst)
	}
	return dst
}

// leftOver offers what nobody gains from to those whom taking it costs nothing.
func leftOver(c *world.Cluster, free int, dst []Offer) []Offer {
	for _, p := range c.GrowableParts() {
		if n := usefulOffer(p, free); n > 0 && p.Job().Scaling().ResizePause() == 0 {
			dst = append(dst, Offer{p, n, core.Reason{Code: core.LeftOver, A: float64(n)}})
			free -= n
		}
	}
	return dst
}

// Shrink takes from whom it hurts least: the processors above the minima, less
// those needed, are given out anew.
func (Marginal) Shrink(v world.View, c *world.Cluster, need int, dst []Offer) []Offer {
	parts, reclaimable := otherParts(v, c)
	var buf [usualParts]candidate
	list := appendCandidates(buf[:0], v, parts, (*world.Part).MinSize)
	pourCores(list, reclaimable-min(need, reclaimable))
	return shrinkOffers(list, dst)
}

// Rebalance takes from those who hold more than they would get if everything
// were given out anew, if that is worth it.
func (Marginal) Rebalance(v world.View, c *world.Cluster, free int, dst []Offer) []Offer {
	var buf [usualParts]candidate
	list := appendCandidates(buf[:0], v, c.MalleableParts(), (*world.Part).MinSize)
	pourCores(list, free+c.ReclaimableProcs())
	var now, then float64
	for i := range list {
		cand := &list[i]
		now += timeWorth(cand.remainingTime(cand.part.Size()))
		then += timeWorth(cand.remainingTime(cand.size) + cand.pauseSeconds())
	}
	if then-now < worthMoving*now {
		return dst
	}
	return shrinkOffers(list, dst)
}

// pauseSeconds is how long the change to the size given stops the program.
func (c *candidate) pauseSeconds() float64 {
	if c.size == c.part.Size() {
		return 0
	}
	return c.curve.ResizePause()
}

// paysOff reports whether the job ends sooner although it is stopped for the
// change.
func (c *candidate) paysOff() bool {
	return c.curve.ResizePause() == 0 || c.remainingTime(c.size)+c.pauseSeconds() < c.remainingTime(c.part.Size())
}

func shrinkOffers(list []candidate, dst []Offer) []Offer {
	for i := range list {
		cand := &list[i]
		if n := cand.part.Size() - cand.size; n > 0 {
			dst = append(dst, Offer{cand.part, -n, cand.changeReason(core.SmallestLoss, n)})
		}
	}
	return dst
}

// changeReason tells by how many seconds the job's predicted end changes.
func (c *candidate) changeReason(code core.ReasonCode, n int) core.Reason {
	return core.Reason{Code: code, A: math.Abs(c.remainingTime(c.part.Size()) - c.remainingTime(c.size)), B: float64(n)}
}
