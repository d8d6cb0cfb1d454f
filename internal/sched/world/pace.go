package world

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// pace is what is known of one job's progress.
type pace struct {
	at    core.Time // of the last report
	done  float64   // then
	from  core.Time // since when it runs at its present size
	start float64   // done then
	size  int       // to which rate belongs
	rate  float64   // of work per second; 0 while unmeasured
	blind bool      // it began with an unknown part of its work done
}

// beginAttempt notes that an attempt runs from now on. Only of the first is it known
// that it begins at the beginning: a later one may resume from a checkpoint.
func (p *pace) beginAttempt(now core.Time, first bool) {
	*p = pace{at: now, from: now, size: p.size, rate: p.rate, blind: !first}
}

// recordResize notes that the job runs at another size from now on.
func (p *pace) recordResize(now core.Time, done float64) {
	p.at, p.done = now, max(done, p.done)
	p.from, p.start = p.at, p.done
}

// recordProgress takes a progress report of a job that has run at one size since
// p.from, and teaches the program's scaling.
func (p *pace) recordProgress(now core.Time, done float64, size int, s *Scaling) {
	if s == nil || done < p.done || done > 1 || math.IsNaN(done) {
		return // rigid, or nonsense
	}
	if p.blind { // what was done before does not measure the speed
		p.blind = false
		p.recordResize(now, done)
		return
	}
	p.at, p.done = now, done
	dt := now.Sub(p.from).Seconds()
	if dt <= 0 {
		return
	}
	if done == p.start { // it stood still until now
		if p.size != 0 {
			s.learnPause(dt)
		}
		p.from = now
		return
	}
	rate := (done - p.start) / dt
	if p.rate > 0 && p.size != size {
		s.learnRatio(p.size, p.rate, size, rate)
	}
	p.size, p.rate = size, rate
	s.ranAt(size)
}

// Scaling is what is known of how the job's program scales; nil for a rigid
// job.
func (j *Job) Scaling() *Scaling { return j.scaling }

// RemainingSeconds predicts for how many seconds more the job will run if its size
// is n from now on.
func (j *Job) RemainingSeconds(n int, now core.Time) float64 {
	done, rate := j.ProgressRate(n, now)
	return max(0, 1-done) / rate
}

// unknownRun is how many seconds a job is taken to need on one processor when
// nothing at all is known of it.
const unknownRun = 3600

// ProgressRate is the part of its work that the job is expected to have done by now,
// and the work per second that it would do on n processors: from its own
// measurements, else from what other jobs of the program did, else from the
// user's estimate.
func (j *Job) ProgressRate(n int, now core.Time) (done, rate float64) {
	s, p := j.scaling, &j.pace
	size := max(1, j.Size())
	var here float64 // rate at the present size
	switch {
	case p.rate > 0:
		here = p.rate * s.RelativeSpeed(size) / s.RelativeSpeed(p.size)
	case s != nil && s.unit > 0:
		here = s.unit * s.RelativeSpeed(size) * j.slowestSpeed()
	case j.spec.Estimate > 0:
		here = s.RelativeSpeed(size) / s.RelativeSpeed(max(1,
			j.spec.MinSize())) / j.spec.Estimate.Seconds() * j.slowestSpeed()
	default:
		here = s.RelativeSpeed(size) / unknownRun
	}
	done = min(p.done+here*max(0, now.Sub(p.at).Seconds()), 0.999)
	if n == size {
		return done, here
	}
	return done, here * s.RelativeSpeed(n) / s.RelativeSpeed(size)
}

// slowestSpeed is that of the slowest cluster the job runs on.
func (j *Job) slowestSpeed() float64 {
	speed := 1.0
	for i, p := range j.parts {
		if i == 0 || p.cluster.speed < speed {
			speed = p.cluster.speed
		}
	}
	return speed
}
