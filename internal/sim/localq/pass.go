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

// Schedule returns the jobs that start now, in the order in which they start,
// after all events of this instant. The slice is valid until the next call.
func (q *Queue) Schedule(now core.Time) []int64 {
	q.started, q.passed = q.started[:0], false
	if q.opts.EndsFirst {
		q.takeEnds(now)
		q.takeArrivals(now)
	} else {
		q.takeArrivals(now)
		q.takeEnds(now)
	}
	if !q.passed && (!q.settled || q.overdue(now)) {
		q.pass(now)
	}
	return q.started
}

func (q *Queue) takeArrivals(now core.Time) {
	for _, at := range q.arrivals {
		switch {
		case q.jobs[at].state == gone: // cancelled since
			q.spare = append(q.spare, at)
		case q.opts.OncePerInstant:
			q.enqueue(at)
			q.settled = false
		default:
			q.arrive(now, at)
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
			q.pass(now)
		}
		q.release(at)
		q.pass(now)
	}
	if !q.passed && q.punctual != 0 {
		q.pass(now)
	}
	q.ends, q.ending, q.punctual = q.ends[:0], 0, 0
}

// arrive takes in a new job and makes the pass that follows its arrival. When
// none of the jobs before it can start, only it is looked at.
func (q *Queue) arrive(now core.Time, at int32) {
	q.passed = true
	if q.overdue(now) {
		q.unsettle()
	}
	if !q.settled {
		q.enqueue(at)
		q.pass(now)
		return
	}
	j := &q.jobs[at]
	switch {
	case int(j.procs) > q.free:
	case q.head == none:
		q.start(now, at)
		return
	case q.policy != FCFS && q.backfills(now, j.shape):
		q.backfill(now, at)
		return
	}
	q.enqueue(at)
}

// pass starts every job that may start now.
func (q *Queue) pass(now core.Time) {
	q.passed = true
	for q.head != none && int(q.jobs[q.head].procs) <= q.free {
		at := q.head
		q.unqueue(at)
		q.start(now, at)
	}
	q.settled = !q.opts.ExtraInOrder
	q.known = false
	if q.head == none || q.policy == FCFS {
		return
	}
	for !q.behind.empty() && q.behind.narrowest() <= q.free {
		at := q.behind.candidate(q.room(now))
		if at == none {
			return
		}
		q.unqueue(at)
		q.backfill(now, at)
	}
}

// backfill starts a job ahead of the head.
func (q *Queue) backfill(now core.Time, at int32) {
	j := &q.jobs[at]
	if j.estimate > q.window(now) {
		q.extra -= int(j.procs)
	}
	q.start(now, at)
	if q.opts.ExtraInOrder {
		q.settled = false // the order of ends has changed, and so may what is extra
	}
}

func (q *Queue) backfills(now core.Time, s shape) bool {
	r := q.room(now)
	return r.has(s.procs, s.estimate)
}

func (q *Queue) room(now core.Time) room {
	q.reserve(now)
	return room{free: q.free, window: q.window(now), extra: min(q.extra, q.free)}
}

// window is the time until the shadow time.
func (q *Queue) window(now core.Time) time.Duration {
	if q.shadow == core.Never {
		return math.MaxInt64
	}
	return q.shadow.Sub(now)
}

// reserve finds the shadow time and the extra processors. They stay as they
// are while jobs are backfilled, but for the extra ones that those take: what
// is available at the shadow time does not change by a job that ends before,
// and nothing comes free earlier.
func (q *Queue) reserve(now core.Time) {
	if q.known {
		return
	}
	need := int(q.jobs[q.head].procs) - q.free
	shadow, released := q.running.reach(need)
	if shadow < now {
		shadow = now // jobs beyond their estimate are expected to end now
	}
	if !q.opts.ExtraInOrder {
		released = q.running.releasedBy(shadow)
	}
	q.reserved = reserved{known: true, shadow: shadow, extra: released - need}
}

// overdue says that the head should have started by now. Then the shadow time
// moves with the clock and more jobs may come to be expected by it.
func (q *Queue) overdue(now core.Time) bool { return q.known && q.shadow < now }

// unsettle says that jobs may start that could not in the last pass.
func (q *Queue) unsettle() {
	q.settled = false
	q.known = false
}
