package predict

import "math"

// series follows a rate (the share of a CPU, bytes a second, steps a second)
// and finds the moments when its level changes.
//
// The samples since the last change are kept as sums over blocks that get
// longer with age, so that a series of any length takes a few kilobytes. With
// every sample each boundary between two blocks is tried as the moment of a
// change: a t-test of the mean before against the mean after (the generalised
// likelihood ratio for a shift of the mean). Its variance is taken from both
// sides and from the noise at their time scale, so that samples that depend on
// each other raise few more alarms; outliers are tamed, so that a few of them
// raise none. The threshold follows from the false-alarm rate.
type series struct {
	barrier float64 // square of the normal score that raises the alarm; 0: no test
	oneSide int     // FixedN: so many samples on one side of the mean; 0: does not count
	grain   float64 // standard deviation that measuring alone brings about
	top     float64 // the level cannot be higher; 0: it can

	blocks [maxBlocks]block // since the last change, oldest first
	used   int
	whole  block            // all of them together
	total  block            // since the beginning
	run    block            // the last samples, all on one side of the mean of all
	recent [nRecent]float64 // not yet in noise: perhaps after a change
	held   int              // of them
	noise  noise

	past    [maxPast]level // levels that it has left
	nPast   int
	changes float64 // found
	steady  Steadiness
	jumps   float64 // sum of squares of the logarithm of new level / old level

	strays float64 // samples far from the level that were no change
	stray  int     // the last samples that are far from it, all on one side
	above  bool    // on which
}

// block is a stretch of samples.
type block struct {
	n    float64
	mean float64 // weighted by duration
	dur  float64 // seconds
	tame float64 // mean of the samples with outliers tamed
	m2   float64 // sum of their squared deviations from it
}

// level is where the series stayed for a while.
type level struct{ mean, dur float64 }

const (
	maxBlocks = 96
	perSize   = 4 // blocks of the same length, before two of them are joined
	maxPast   = 8
	nRecent   = 8
	// minSide is how many samples it takes on each side of a change: less is
	// an outlier, not a level.
	minSide = 3
	// tameAt standard deviations from the level is where outliers end up.
	tameAt = 2.5
)

func (b *block) joinBlock(o block) {
	n := b.n + o.n
	if n == 0 {
		return
	}
	d := o.tame - b.tame
	b.m2 += o.m2 + d*d*b.n*o.n/n
	b.tame += d * o.n / n
	b.n = n
	if dur := b.dur + o.dur; dur > 0 {
		b.mean += (o.mean - b.mean) * o.dur / dur
		b.dur = dur
	}
}

// addRate takes the mean rate x over the last dur seconds, and tells if the level
// is found to have changed.
func (s *series) addRate(x, dur float64) (shift, bool) {
	tame := s.tameOutlier(x)
	s.countStray(x - tame)
	one := block{n: 1, mean: x, tame: tame, dur: dur}
	s.total.joinBlock(one)
	s.countSide(one)
	s.whole.joinBlock(one)
	if s.held == nRecent {
		s.settleOldest()
	}
	s.recent[s.held] = x
	s.held++
	s.appendBlock(one)
	if s.top > 0 && x > s.top {
		s.top = x // more threads than processors asked for
	}
	if s.barrier == 0 {
		return shift{}, false
	}
	return s.testChange()
}

// leastVariance is the least variance of a sample.
func (s *series) leastVariance() float64 { return s.grain * s.grain }

// settleOldest takes the oldest recent sample for one of the present level.
func (s *series) settleOldest() {
	s.noise.addSample(s.recent[0], s.leastVariance())
	s.held--
	copy(s.recent[:s.held], s.recent[1:])
}

// tameOutlier is x, but no farther from the level than is usual.
func (s *series) tameOutlier(x float64) float64 {
	if s.whole.n < 2*minSide {
		return x
	}
	far := tameAt * math.Sqrt(max(s.noise.varianceAt(1, s.leastVariance()), s.whole.m2/s.whole.n))
	return min(max(x, s.whole.tame-far), s.whole.tame+far)
}

// countStray keeps count of samples that are far from the level, by so much.
func (s *series) countStray(excess float64) {
	if excess == 0 || s.above != (excess > 0) {
		s.stray = 0
	}
	if excess != 0 {
		s.above = excess > 0
		s.stray++
		s.strays++
	}
}

// countSide keeps the last samples that are all on one side of the mean.
func (s *series) countSide(one block) {
	if s.run.n > 0 && (one.mean > s.total.mean) != (s.run.mean > s.total.mean) {
		s.run = block{}
	}
	s.run.joinBlock(one)
}

// appendBlock adds a block and joins old ones of the same length.
func (s *series) appendBlock(b block) {
	if s.used == maxBlocks { // not before 2^24 samples
		s.blocks[0].joinBlock(s.blocks[1])
		copy(s.blocks[1:], s.blocks[2:])
		s.used--
	}
	s.blocks[s.used] = b
	s.used++
	// From the newest back: a group of equal length that got too long gives
	// its two oldest to the next.
	for end := s.used; end > 0; {
		first := end - 1
		for first > 0 && s.blocks[first-1].n == s.blocks[end-1].n {
			first--
		}
		if end-first <= perSize {
			return
		}
		s.blocks[first].joinBlock(s.blocks[first+1])
		copy(s.blocks[first+1:s.used-1], s.blocks[first+2:s.used])
		s.used--
		end = first + 1
	}
}
