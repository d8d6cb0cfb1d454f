package app

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Progress is how far one running job has come. It counts work, not time, so
// that the size and the speed may change on the way. Asking never changes it,
// and it is brought forward only when the rate changes: however often it is
// asked, no rounding adds up. It is a plain value without pointers.
type Progress struct {
	work  float64   // all of it, in nanoseconds on one processor of a speed-1 host
	done  float64   // the part that was finished at since, in the same unit
	rate  float64   // work per time from since on
	since core.Time // in the future while the job stands still to change its size
}

// BeginProgress is a job with so many seconds of work, measured on one processor of a
// speed-1 host, that starts at the moment given with the rate given.
func BeginProgress(work float64, at core.Time, rate float64) Progress {
	return Progress{work: max(work, 0) * float64(time.Second), rate: max(rate, 0), since: at}
}

// ResumeProgress is Begin for a job that had finished the given part of its work, 0 to
// 1, when it was last stopped.
func ResumeProgress(work, part float64, at core.Time, rate float64) Progress {
	p := BeginProgress(work, at, rate)
	p.done = p.work * max(0, min(part, 1))
	return p
}

// SetRate lets the job go on at another rate from the moment given on, after
// standing still for the pause. Moments never go backwards.
func (p *Progress) SetRate(at core.Time, rate float64, pause time.Duration) {
	rate = max(rate, 0)
	if rate == p.rate && pause <= 0 {
		return // moving the anchor would only add a rounding
	}
	p.done = p.finishedWork(at)
	p.rate = rate
	p.since = max(p.since, at.Add(max(pause, 0)))
}

// DonePart is the finished part of the work at the moment given, 0 to 1; it is 1
// exactly from Finish on.
func (p *Progress) DonePart(at core.Time) float64 {
	if at >= p.FinishTime() {
		return 1
	}
	if p.work == 0 {
		return 0 // nothing to do, but not begun
	}
	return min(p.finishedWork(at)/p.work, math.Nextafter(1, 0))
}

// FinishTime is the moment at which all work is done, if the rate stays; Never
// when nothing moves. It is the first nanosecond at which that is so: never
// earlier.
func (p *Progress) FinishTime() core.Time {
	return p.since.Add(neededTime(p.work-p.done, p.rate))
}

// CurrentRate is how much work it does in a second.
func (p *Progress) CurrentRate() float64 { return p.rate }

// TimeOfPart is the moment at which a part of the work is done, if the rate stays.
func (p *Progress) TimeOfPart(part float64) core.Time {
	return p.since.Add(neededTime(p.work*part-p.done, p.rate))
}

// finishedWork is the work done until the moment given, in nanoseconds.
func (p *Progress) finishedWork(at core.Time) float64 {
	if at <= p.since {
		return p.done
	}
	return min(p.work, p.done+p.rate*float64(at-p.since))
}

// neededTime is how long so many nanoseconds of work take, in whole nanoseconds,
// rounded up. What exceeds a whole number by no more than a few roundings of
// the arithmetic itself is not rounded up: a job of 600 s of work at rate 3
// that has done 100 s of it takes 500/3 s, but one of 420 s at the rate of a
// table that says 420 s takes 420 s, not one nanosecond more.
func neededTime(work, rate float64) time.Duration {
	const roundings = 1.0 / (1 << 50) // eight units in the last place
	if work <= 0 {
		return 0
	}
	if rate <= 0 {
		return math.MaxInt64
	}
	ns := work / rate
	ns = math.Ceil(ns - ns*roundings)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}
