package core

import (
	"math"
	"time"
)

// Time is a moment in nanoseconds: since the Unix epoch in the live broker,
// since second 0 of the trace or scenario in the simulator. The core never
// asks for the time, it is told.
type Time int64

// Never is later than every moment that can occur.
const Never = Time(math.MaxInt64)

// Add moves t by d; it stays at Never rather than wrapping around.
func (t Time) Add(d time.Duration) Time {
	if d > 0 && t > Never-Time(d) {
		return Never
	}
	return t + Time(d)
}

// Sub is the time that passes from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Seconds is t in seconds since its epoch.
func (t Time) Seconds() float64 { return time.Duration(t).Seconds() }

// AtSecond is the moment s seconds after the epoch.
func AtSecond(s float64) Time { return Time(DurationFromSeconds(s)) }

// DurationFromSeconds converts s to a duration, rounded to a nanosecond and clamped to
// what a duration can hold.
func DurationFromSeconds(s float64) time.Duration {
	ns := s * float64(time.Second)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	if ns <= math.MinInt64 {
		return math.MinInt64
	}
	return time.Duration(math.Round(ns))
}
