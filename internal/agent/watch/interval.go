package watch

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// How often a program is looked at.
const (
	usualSample = 2 * time.Second
	minSample   = 100 * time.Millisecond
	maxSample   = 2 * time.Minute
)

// A short program with a deadline is looked at more often than usual, so that a
// deadline in danger is seen while there is time: so many times, but no more often than
// this.
const (
	samplesOfRun = 20
	briefSample  = 250 * time.Millisecond
)

// SampleInterval is the time between two samples of a program.
func SampleInterval(a *wire.Attempt) time.Duration {
	every := usualSample
	if a.Every.Sample > 0 {
		every = min(max(a.Every.Sample, minSample), maxSample)
	}
	if len(a.Alone.Seconds) > 0 && a.Deadline > 0 {
		every = min(every, max(ExpectedRunTime(a)/samplesOfRun, briefSample))
	}
	return every
}

// ExpectedRunTime is how long the program will probably run here; 0 if nobody knows.
func ExpectedRunTime(a *wire.Attempt) time.Duration {
	speed := max(a.Speed, 0.01)
	seconds := 0.0
	if n := len(a.Alone.Seconds); n > 0 {
		seconds = a.Alone.Seconds[n/2] * (a.Alone.Waiting + (1-a.Alone.Waiting)/speed)
	} else if n := len(a.Need); n > 0 {
		seconds = a.Need[n/2] / (speed * float64(max(a.Procs, 1)))
	}
	return time.Duration(seconds * float64(time.Second))
}
