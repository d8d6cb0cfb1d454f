package localq

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// EstimateStart is when a job of that size would start if it were submitted
// now, every job ran exactly as long as its user said, and nobody else came.
// It is core.Never if by the estimates that will not happen.
//
// A job that could start at once is answered without looking at the queue.
// For all others the schedule is played forward on a copy, so the cost grows
// with the queue and the running jobs; nothing of the queue itself changes.
func (q *Queue) EstimateStart(now core.Time, procs int, estimate time.Duration) core.Time {
	if procs < 1 || procs > min(q.capacity, math.MaxInt32) {
		return core.Never
	}
	s := shape{int32(procs), max(estimate, 0)}
	if q.startsAtOnce(now, s) {
		return now
	}
	if q.forecast == nil {
		q.forecast = &Queue{}
	}
	f := q.forecast
	f.copyFrom(q)
	return f.playUntil(now, f.allocJob(Job{Procs: procs, Estimate: estimate}))
}

func (q *Queue) startsAtOnce(now core.Time, s shape) bool {
	if !q.settled || len(q.arrivals) > 0 || len(q.ends) > 0 || int(s.procs) > q.free || q.isHeadOverdue(now) {
		return false
	}
	return q.head == none || q.policy != FCFS && q.canBackfill(now, s)
}

// playUntil submits job at and lets the others run until it starts. All ends
// are punctual here.
func (q *Queue) playUntil(now core.Time, at int32) core.Time {
	q.arrivals = append(q.arrivals, at)
	for {
		q.StartJobs(now)
		if q.jobs[at].state == active {
			return now
		}
		_, end := q.running.firstEnding()
		if end == core.Never {
			return core.Never
		}
		now = max(now, end)
		q.endBy(now)
	}
}

// endBy ends all jobs that are expected to have ended by now.
func (q *Queue) endBy(now core.Time) {
	for {
		job, end := q.running.firstEnding()
		if job == none || end > now {
			return
		}
		q.releaseProcs(job)
	}
}

func (q *Queue) copyFrom(o *Queue) {
	behind, run, line, jobs, spare := q.behind, q.running, q.line, q.jobs, q.spare
	arrivals, ends, started := q.arrivals, q.ends, q.started
	*q = *o
	q.behind, q.running, q.line = behind, run, line
	q.line.copyFrom(&o.line)
	q.behind.copyFrom(&o.behind.trie)
	q.behind.byTime = o.behind.byTime
	q.running.copyFrom(&o.running.trie)
	q.jobs = append(jobs[:0], o.jobs...)
	q.spare = append(spare[:0], o.spare...)
	q.arrivals = append(arrivals[:0], o.arrivals...)
	q.ends = append(ends[:0], o.ends...)
	q.started = started
	q.ids, q.forecast = nil, nil
}
