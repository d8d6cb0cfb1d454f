package app

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// WorkLeft is the work that is left at the moment given, in seconds on one
// processor of a speed-1 host.
func (p *Progress) WorkLeft(at core.Time) float64 {
	if at >= p.FinishTime() {
		return 0
	}
	return (p.work - p.finishedWork(at)) / float64(time.Second)
}

// RemainingTime is how long the rest would take from the moment given on with
// another rate, not counting any pause.
func (p *Progress) RemainingTime(at core.Time, rate float64) time.Duration {
	if at >= p.FinishTime() {
		return 0
	}
	return neededTime(p.work-p.finishedWork(at), rate)
}
