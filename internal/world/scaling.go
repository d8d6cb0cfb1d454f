package world

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
)

// Scaling is what has been measured of how a program's speed depends on its
// size, over all jobs of that program: relative speeds at the sizes seen, and
// how fast a whole job is done. Only ratios within one job enter the relative
// speeds, so jobs of different length can share them.
type Scaling struct {
	points []scalePoint // by size
	unit   float64      // work per second at relative speed 1, mean over jobs
	jobs   int
	picky  bool    // it has refused processors below its maximum: not every size suits it
	pause  float64 // seconds that a change of size stops it, mean
	pauses int
	cache  []float64 // of Relative
}

type scalePoint struct {
	size   int
	log    float64 // of the relative speed
	weight float64
}

// Exponents of size by which speed is taken to grow where nothing has been
// measured: upwards from the largest size seen the last measured slope goes
// on, damped, because speed-up curves flatten.
const (
	priorExponent = 0.8
	damping       = 0.5
	maxWeight     = 8 // old measurements fade: a program may change
)

// Relative is the speed at n processors relative to the program's others.
func (s *Scaling) Relative(n int) float64 {
	if s == nil {
		return math.Pow(float64(n), priorExponent)
	}
	// Policies ask for the same few sizes again and again between two
	// measurements, so the answers are kept until the next one.
	if n >= len(s.cache) {
		s.cache = append(s.cache, make([]float64, n+1-len(s.cache))...)
	}
	if s.cache[n] == 0 {
		s.cache[n] = math.Exp(s.logRelative(float64(n)))
	}
	return s.cache[n]
}

func (s *Scaling) logRelative(n float64) float64 {
	x := math.Log(n)
	if len(s.points) == 0 {
		return priorExponent * x
	}
	i, exact := s.find(int(n))
	if exact {
		return s.points[i].log
	}
	switch i {
	case 0:
		first := s.points[0]
		return first.log + (x - math.Log(float64(first.size))) // downwards: no worse than linear
	case len(s.points):
		last := s.points[i-1]
		slope := priorExponent
		if i > 1 {
			slope = damping * max(0, s.slope(i-2))
		}
		return last.log + slope*(x-math.Log(float64(last.size)))
	}
	a := s.points[i-1]
	return a.log + s.slope(i-1)*(x-math.Log(float64(a.size)))
}

// slope is the exponent of size between points i and i+1.
func (s *Scaling) slope(i int) float64 {
	a, b := s.points[i], s.points[i+1]
	return (b.log - a.log) / (math.Log(float64(b.size)) - math.Log(float64(a.size)))
}

// Pause is how many seconds a change of size stops the program, as measured.
func (s *Scaling) Pause() float64 { return s.pause }

// Next is the next size above n that may suit the program, at most limit; 0 if
// there is none. A program that has refused sizes is offered only those that
// it has run at, and doubling.
func (s *Scaling) Next(n, limit int) int {
	if n >= limit {
		return 0
	}
	if !s.picky {
		return n + 1
	}
	i, exact := s.find(n)
	if exact {
		i++
	}
	next := 2 * n
	if i < len(s.points) {
		next = min(next, s.points[i].size)
	}
	if next > limit {
		return 0
	}
	return next
}

func (s *Scaling) find(n int) (int, bool) {
	return slices.BinarySearchFunc(s.points, n, func(p scalePoint, n int) int { return p.size - n })
}

// Previous is the next size below n that may suit the program, at least least;
// 0 if there is none.
func (s *Scaling) Previous(n, least int) int {
	if n <= least {
		return 0
	}
	if !s.picky {
		return n - 1
	}
	previous := n / 2
	if i, _ := s.find(n); i > 0 {
		previous = max(previous, s.points[i-1].size)
	}
	if previous < least {
		return 0
	}
	return previous
}

// paused learns from one change of size.
func (s *Scaling) paused(seconds float64) {
	s.pauses++
	s.pause += (seconds - s.pause) / float64(min(s.pauses, maxWeight))
}

// compare learns from one job that ran at rate ra on a processors and at rate
// rb on b.
func (s *Scaling) compare(a int, ra float64, b int, rb float64) {
	if a == b || ra <= 0 || rb <= 0 {
		return
	}
	s.move(a, s.logRelative(float64(a)), 0)
	s.move(b, s.logRelative(float64(a))+math.Log(rb/ra), 1)
}

// move draws the point at a size towards a measured value.
func (s *Scaling) move(size int, log, weight float64) {
	clear(s.cache)
	i, exact := s.find(size)
	if !exact {
		s.points = slices.Insert(s.points, i, scalePoint{size: size, log: log, weight: weight})
		return
	}
	p := &s.points[i]
	if w := p.weight + weight; w > 0 {
		p.log += (log - p.log) * weight / w
		p.weight = min(w, maxWeight)
	}
}

// finished learns how fast a whole job of the program gets done.
func (s *Scaling) finished(rate float64, size int) {
	u := rate / s.Relative(size)
	s.jobs++
	s.unit += (u - s.unit) / float64(min(s.jobs, maxWeight))
}

// pace is what is known of one job's progress.
type pace struct {
	at    core.Time // of the last report
	done  float64
	from  core.Time // since when it runs at its present size
	start float64   // done then
	size  int       // to which rate belongs
	rate  float64   // of work per second; 0 while unmeasured
}

// resized notes that the job runs at another size from now on.
func (p *pace) resized(now core.Time, done float64) {
	p.at, p.done = now, max(done, p.done)
	p.from, p.start = p.at, p.done
}

// report takes a progress report of a job that has run at one size since
// p.from, and teaches the program's scaling.
func (p *pace) report(now core.Time, done float64, size int, s *Scaling) {
	if done < p.done || done > 1 || math.IsNaN(done) {
		return // a restart from an older checkpoint, or nonsense: measured anew after the next resize
	}
	p.at, p.done = now, done
	dt := now.Sub(p.from).Seconds()
	if dt <= 0 {
		return
	}
	if done == p.start { // it stood still until now
		if p.size != 0 {
			s.paused(dt)
		}
		p.from = now
		return
	}
	rate := (done - p.start) / dt
	if p.rate > 0 && p.size != size {
		s.compare(p.size, p.rate, size, rate)
	}
	p.size, p.rate = size, rate
}

// Remaining predicts for how many seconds more the job will run if its size
// is n from now on.
func (j *Job) Remaining(n int, now core.Time) float64 {
	done, rate := j.Pace(n, now)
	return max(0, 1-done) / rate
}

// Pace is the part of its work that the job is expected to have done by now,
// and the work per second that it would do on n processors: from its own
// measurements, else from what other jobs of the program did, else from the
// user's estimate.
func (j *Job) Pace(n int, now core.Time) (done, rate float64) {
	s, p := j.scaling, &j.pace
	size := max(1, j.Size())
	var here float64 // rate at the present size
	switch {
	case p.rate > 0:
		here = p.rate * s.Relative(size) / s.Relative(p.size)
	case s != nil && s.unit > 0:
		here = s.unit * s.Relative(size) * j.speed()
	case j.spec.Estimate > 0:
		here = s.Relative(size) / s.Relative(max(1, j.spec.MinSize())) / j.spec.Estimate.Seconds() * j.speed()
	default:
		here = s.Relative(size) / 3600
	}
	done = min(p.done+here*now.Sub(p.at).Seconds(), 0.999)
	if n == size {
		return done, here
	}
	return done, here * s.Relative(n) / s.Relative(size)
}

// speed is that of the slowest cluster the job runs on.
func (j *Job) speed() float64 {
	speed := 1.0
	for i, p := range j.parts {
		if i == 0 || p.cluster.speed < speed {
			speed = p.cluster.speed
		}
	}
	return speed
}
