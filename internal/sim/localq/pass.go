package localq

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// reserved is the reservation of the head.
type reserved struct {
	known  bool // else shadow and extra are still to be found
	shadow core.Time
	extra  int
}

// StartJobs returns the jobs that start now, in the order in which they start,
// after all events of this instant. The slice is valid until the next call.
func (q *Queue) StartJobs(now core.Time) []int64 {
	q.started, q.passed = q.started[:0], false
	if q.opts.EndsFirst {
		q.takeEnds(now)
		q.takeArrivals(now)
	} else {
		q.takeArrivals(now)
		q.takeEnds(now)
	}
	if !q.passed && (!q.settled || q.isHeadOverdue(now)) {
		q.runPass(now)
	}
	return q.started
}

func (q *Queue) takeArrivals(now core.Time) {
	for _, at := range q.arrivals {
		switch {
		case q.jobs[at].state == absent: // cancelled since
			q.spare = append(q.spare, at)
		case q.opts.OncePerInstant:
			q.enqueueJob(at)
			q.settled = false
		default:
			q.admitJob(now, at)
		}
	}
	q.arrivals, q.coming = q.arrivals[:0], 0
}

// takeEnds makes the passes of the ends, in the order in which the jobs had
// started. A punctual end has its turn too, but at most the first one of an
// instant finds anything to do.
func (q *Queue) takeEnds(now core.Time) {
	if len(q.ends) > 1 {
		slices.SortFunc(q.ends, func(a, b int32) int { return cmp.Compare(q.jobs[a].seq, q.jobs[b].seq) })
	}
	for _, at := range q.ends {
		if !q.passed && q.punctual != 0 && q.punctual < q.jobs[at].seq {
			q.runPass(now)
		}
		q.releaseProcs(at)
		q.runPass(now)
	}
	if !q.passed && q.punctual != 0 {
		q.runPass(now)
	}
	q.ends, q.ending, q.punctual = q.ends[:0], 0, 0
}

// admitJob takes in a new job and makes the pass that follows its arrival. When
// none of the jobs before it can start, only it is looked at.
func (q *Queue) admitJob(now core.Time, at int32) {
	q.passed = true
	if q.isHeadOverdue(now) {
		q.invalidatePass()
	}
	if !q.settled {
		q.enqueueJob(at)
		q.runPass(now)
		return
	}
	j := &q.jobs[at]
	switch {
	case int(j.procs) > q.free:
	case q.head == none:
		q.startJob(now, at)
		return
	case q.policy != FCFS && q.canBackfill(now, j.shape):
		q.startBackfill(now, at)
		return
	}
	q.enqueueJob(at)
}

// runPass starts every job that may start now.
func (q *Queue) runPass(now core.Time) {
	q.passed = true
	for q.head != none && int(q.jobs[q.head].procs) <= q.free {
		at := q.head
		q.unqueueJob(at)
		q.startJob(now, at)
	}
	q.settled = !q.opts.ExtraInOrder
	q.known = false
	if q.head == none || q.policy == FCFS {
		return
	}
	for !q.behind.isEmpty() && q.behind.narrowestJob() <= q.free {
		at := q.behind.findCandidate(q.backfillRoom(now))
		if at == none {
			return
		}
		q.unqueueJob(at)
		q.startBackfill(now, at)
	}
}

// startBackfill starts a job ahead of the head.
func (q *Queue) startBackfill(now core.Time, at int32) {
	j := &q.jobs[at]
	if j.estimate > q.shadowWindow(now) {
		q.extra -= int(j.procs)
	}
	q.startJob(now, at)
	if q.opts.ExtraInOrder {
		q.settled = false // the order of ends has changed, and so may what is extra
	}
}

func (q *Queue) canBackfill(now core.Time, s shape) bool {
	r := q.backfillRoom(now)
	return r.hasRoom(s.procs, s.estimate)
}

func (q *Queue) backfillRoom(now core.Time) room {
	q.reserveHead(now)
	return room{free: q.free, window: q.shadowWindow(now), extra: min(q.extra, q.free)}
}

// shadowWindow is the time until the shadow time.
func (q *Queue) shadowWindow(now core.Time) time.Duration {
	if q.shadow == core.Never {
		return math.MaxInt64
	}
	return q.shadow.Sub(now)
}

// reserveHead finds the shadow time and the extra processors. They stay as they
// are while jobs are backfilled, but for the extra ones that those take: what
// is available at the shadow time does not change by a job that ends before,
// and nothing comes free earlier.
func (q *Queue) reserveHead(now core.Time) {
	if q.known {
		return
	}
	need := int(q.jobs[q.head].procs) - q.free
	shadow, released := q.running.earliestRelease(need)
	if shadow < now {
		shadow = now // jobs beyond their estimate are expected to end now
	}
	if !q.opts.ExtraInOrder {
		released = q.running.releasedBy(shadow)
	}
	q.reserved = reserved{known: true, shadow: shadow, extra: released - need}
}

// isHeadOverdue says that the head should have started by now. Then the shadow time
// moves with the clock and more jobs may come to be expected by it.
func (q *Queue) isHeadOverdue(now core.Time) bool { return q.known && q.shadow < now }

// invalidatePass says that jobs may start that could not in the last pass.
func (q *Queue) invalidatePass() {
	q.settled = false
	q.known = false
}
