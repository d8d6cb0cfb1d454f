package world

import (
	"math"
	"slices"
)

// Scaling is what has been learnt of how a program's speed depends on its
// size, over all jobs of that program: a speed-up curve, how fast a whole job
// is done, and what a change of size costs. Only ratios of speeds within one
// job teach the curve, so jobs of different length can share it.
type Scaling struct {
	misfit [len(curves)]float64 // squared error of each curve, old errors fading
	best   int                  // the curve with the least
	seen   int                  // measurements behind it
	cache  []relative           // of RelativeSpeed, SpeedRoot and StepUp

	unit   float64 // work per second at relative speed 1, mean over jobs
	jobs   int
	pause  float64 // seconds that a change of size stops the program, mean
	pauses int
	flat   int   // from this size on it was seen to gain nothing
	picky  bool  // it has refused processors below its maximum: not every size suits it
	sizes  []int // that it has run at, ascending
}

// curve is a speed-up curve that rises like the size at first and levels off
// at about K processors; the larger the sharpness Q, the more abruptly. With
// Q = 1 it is Amdahl's law, with Q = 4 nearly Downey's for little variance:
// two parameters describe all we know of well enough to compare what a
// processor is worth here and there.
//
//	S(n) = n / (1 + (n/K)^Q)^(1/Q)
type curve struct{ k, q float64 }

// curves is what the measurements choose from: K in steps of √2.
var curves = [...]curve{
	{1, 0.5}, {1.41, 0.5}, {2, 0.5}, {2.83, 0.5}, {4, 0.5}, {5.66, 0.5}, {8, 0.5}, {11.3, 0.5}, {16, 0.5}, {22.6, 0.5},
	{32, 0.5}, {45.3, 0.5}, {64, 0.5}, {90.5, 0.5}, {128, 0.5}, {181, 0.5}, {256, 0.5}, {512, 0.5}, {1024, 0.5},
	{4096, 0.5},
	{1, 1}, {1.41, 1}, {2, 1}, {2.83, 1}, {4, 1}, {5.66, 1}, {8, 1}, {11.3, 1}, {16, 1}, {22.6, 1}, {32, 1}, {45.3, 1},
	{64, 1}, {90.5, 1}, {128, 1}, {181, 1}, {256, 1}, {362, 1}, {512, 1}, {724, 1}, {1024, 1}, {2048, 1}, {8192, 1},
	{2, 2}, {2.83, 2}, {4, 2}, {5.66, 2}, {8, 2}, {11.3, 2}, {16, 2}, {22.6, 2}, {32, 2}, {45.3, 2}, {64, 2}, {90.5, 2},
	{128, 2}, {181, 2}, {256, 2}, {362, 2}, {512, 2}, {724, 2}, {1024, 2}, {2048, 2},
	{2, 6}, {2.83, 6}, {4, 6}, {5.66, 6}, {8, 6}, {11.3, 6}, {16, 6}, {22.6, 6}, {32, 6}, {45.3, 6}, {64, 6}, {90.5, 6},
	{128, 6}, {181, 6}, {256, 6}, {362, 6}, {512, 6}, {724, 6}, {1024, 6}, {2048, 6},
}

// priorK and priorQ are the curve that a program is taken to have until it has
// been measured; priorWeight is how strongly the others are doubted at first.
const (
	priorK              = 32
	priorQ              = 1
	priorWeight         = 0.002
	errorDecay          = 0.97 // of old errors with each measurement: programs change
	fewJobs             = 8    // over which means reach back
	settledMeasurements = 16   // measurements after which only surprises teach
	uselessExponent     = 0.1  // exponent of size below which speed does not rise
	usefulExponent      = 0.3  // from which on it does after all
	surprisingError     = 0.03 // relative error of the best curve from which on they do
)

func newScaling() *Scaling {
	s := &Scaling{flat: math.MaxInt}
	for i, c := range curves {
		doubt := math.Log2(c.k / priorK)
		s.misfit[i] = priorWeight * (doubt*doubt + 4*(c.q-priorQ)*(c.q-priorQ))
		if s.misfit[i] < s.misfit[s.best] {
			s.best = i
		}
	}
	return s
}

func (c curve) logSpeedup(n float64) float64 {
	return math.Log(n) - math.Log1p(math.Pow(n/c.k, c.q))/c.q
}

// RelativeSpeed is the speed at n processors relative to one; as measured, or as
// assumed while nothing has been.
func (s *Scaling) RelativeSpeed(n int) float64 {
	if s == nil {
		return float64(n) // a rigid job: its size never changes
	}
	// Policies ask for the same sizes again and again between two measurements,
	// so the answers are kept until the curve changes.
	return s.relativeAt(n).speed
}

// SpeedRoot is the fourth root of RelativeSpeed, by which policies weigh speeds.
func (s *Scaling) SpeedRoot(n int) float64 { return s.relativeAt(n).root }

// StepUp is the next size above n that may suit the program, without a limit, and by how much SpeedRoot rises up to it.
func (s *Scaling) StepUp(n int) (next int, rise float64) {
	r := s.relativeAt(n)
	if r.next == 0 {
		next, root := s.stepFrom(n), r.root
		above := s.relativeAt(next).root
		r = &s.cache[n]
		r.next, r.rise = next, above-root
	}
	return r.next, r.rise
}

// relative is a relative speed and its fourth root, and the step up from there.
type relative struct {
	speed, root float64 // 0: not computed
	next        int     // 0: not computed, or sizes that suit the program have changed
	rise        float64
}

// relativeAt stays valid until it is asked for another size.
func (s *Scaling) relativeAt(n int) *relative {
	if n >= len(s.cache) {
		s.cache = append(s.cache, make([]relative, n+1-len(s.cache))...)
	}
	c := &s.cache[n]
	if c.speed == 0 {
		log := curves[s.best].logSpeedup(float64(n))
		c.speed, c.root = math.Exp(log), math.Exp(log/4)
	}
	return c
}

// learnRatio learns from one job that ran at rate ra on a processors and at rate
// rb on b.
func (s *Scaling) learnRatio(a int, ra float64, b int, rb float64) {
	if a == b || ra <= 0 || rb <= 0 {
		return
	}
	ratio := math.Log(rb / ra)
	s.learnPlateau(min(a, b), max(a, b), ratio/math.Log(float64(b)/float64(a)))
	if e := ratio - math.Log(s.RelativeSpeed(b)/s.RelativeSpeed(a)); s.seen >= settledMeasurements &&
		math.Abs(e) < surprisingError {
		return
	}
	best := 0
	for i, c := range curves {
		e := ratio - (c.logSpeedup(float64(b)) - c.logSpeedup(float64(a)))
		s.misfit[i] = s.misfit[i]*errorDecay + e*e
		if s.misfit[i] < s.misfit[best] {
			best = i
		}
	}
	s.seen++
	if best != s.best {
		s.best = best
		clear(s.cache)
	}
}

// learnPlateau learns whether more than lo processors are of any use, from the
// exponent by which speed rose between lo and hi.
func (s *Scaling) learnPlateau(lo, hi int, exponent float64) {
	switch {
	case exponent < uselessExponent && lo < s.flat:
		s.flat = lo
	case exponent > usefulExponent && lo >= s.flat:
		s.flat = hi
	}
}

// LevelsAt is the size from which on the program was seen to gain nothing; very
// large while it has not been.
func (s *Scaling) LevelsAt() int { return s.flat }

// ranAt notes a size that suited the program.
func (s *Scaling) ranAt(n int) {
	const most = 64 // a program that runs at more sizes is not picky
	if i, there := slices.BinarySearch(s.sizes, n); !there && len(s.sizes) < most {
		s.sizes = slices.Insert(s.sizes, i, n)
		s.forgetSteps()
	}
}

// refuses notes that the program has refused sizes.
func (s *Scaling) refuses() {
	if !s.picky {
		s.picky = true
		s.forgetSteps()
	}
}

func (s *Scaling) forgetSteps() {
	for i := range s.cache {
		s.cache[i].next = 0
	}
}

// NextSize is the next size above n that may suit the program, at most limit; 0 if
// there is none. A program that has refused sizes is offered only those that
// it has run at, and doubling. Others go up in steps of a sixteenth: finer
// ones would not change what comes out.
func (s *Scaling) NextSize(n, limit int) int {
	if n >= limit {
		return 0
	}
	next := s.stepFrom(n)
	switch {
	case next <= limit:
		return next
	case s.picky:
		return 0
	}
	return limit
}

func (s *Scaling) stepFrom(n int) int {
	if !s.picky {
		return n + max(1, n/16)
	}
	i, there := slices.BinarySearch(s.sizes, n)
	if there {
		i++
	}
	next := 2 * n
	if i < len(s.sizes) {
		next = min(next, s.sizes[i])
	}
	return next
}

// ResizePause is how many seconds a change of size stops the program, as measured.
func (s *Scaling) ResizePause() float64 { return s.pause }

// learnPause learns from one change of size.
func (s *Scaling) learnPause(seconds float64) {
	s.pauses++
	s.pause += (seconds - s.pause) / float64(min(s.pauses, fewJobs))
}

// learnRate learns how fast a whole job of the program gets done.
func (s *Scaling) learnRate(rate float64, size int) {
	u := rate / s.RelativeSpeed(size)
	s.jobs++
	s.unit += (u - s.unit) / float64(min(s.jobs, fewJobs))
}
