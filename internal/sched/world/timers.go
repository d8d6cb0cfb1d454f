package world

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// TimerKind says what is due.
type TimerKind uint8

const (
	ClaimDue  TimerKind = iota // a late claim
	AnswerDue                  // the answer to an offer
	JobDue                     // a job that was told to stop must have left, one that is queued must have its claims
	HoldDue                    // a held job is to be looked at again
)

// Timer is something that falls due. It may have become pointless by then:
// whoever takes it checks.
type Timer struct {
	At    core.Time
	Kind  TimerKind
	Job   core.JobID
	Epoch core.Epoch
	Part  int
	seq   int64
}

// timers gives the earliest first, of equal ones the one set first.
type timers struct {
	// line has answers, in the order in which they fall due: that in which they were asked for, as long as the grace
	// time stays the same. There are many, and hardly any matters when it falls due.
	line  []Timer
	first int     // of line that has not been dropped
	heap  []Timer // the others
	seq   int64
}

func (t *Timer) isBefore(u *Timer) bool { return t.At < u.At || t.At == u.At && t.seq < u.seq }

func (t *timers) isBefore(i, j int) bool { return t.heap[i].isBefore(&t.heap[j]) }

// firstTimer is the earliest, nil if there is none.
func (t *timers) firstTimer() *Timer {
	switch {
	case t.first < len(t.line) && (len(t.heap) == 0 || t.line[t.first].isBefore(&t.heap[0])):
		return &t.line[t.first]
	case len(t.heap) > 0:
		return &t.heap[0]
	}
	return nil
}

// all lists them in no order.
func (t *timers) all() []Timer { return slices.Concat(t.line[t.first:], t.heap) }

func (t *timers) addTimer(x Timer) {
	x.seq = t.seq
	t.seq++
	if n := len(t.line); x.Kind == AnswerDue && (n == 0 || t.line[n-1].At <= x.At) {
		if t.first > len(t.line)/2 && len(t.line) == cap(t.line) { // rather than to ask for more memory
			t.line = append(t.line[:0], t.line[t.first:]...)
			t.first = 0
		}
		t.line = append(t.line, x)
		return
	}
	t.heap = append(t.heap, x)
	for i := len(t.heap) - 1; i > 0 && t.isBefore(i, (i-1)/2); i = (i - 1) / 2 {
		t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
	}
}

func (t *timers) dropFirst() {
	if t.first < len(t.line) && t.firstTimer() == &t.line[t.first] {
		if t.first++; t.first == len(t.line) {
			t.line, t.first = t.line[:0], 0
		}
		return
	}
	last := len(t.heap) - 1
	t.heap[0] = t.heap[last]
	t.heap = t.heap[:last]
	for i := 0; ; {
		first := i
		for _, c := range [2]int{2*i + 1, 2*i + 2} {
			if c < last && t.isBefore(c, first) {
				first = c
			}
		}
		if first == i {
			return
		}
		t.heap[i], t.heap[first] = t.heap[first], t.heap[i]
		i = first
	}
}

// setDue sets the time by which a job must have come further.
func (w *World) setDue(j *Job, due core.Time) {
	j.due = due
	if due > 0 && due < core.Never {
		w.timers.addTimer(Timer{At: due, Kind: JobDue, Job: j.spec.ID, Epoch: j.epoch})
	}
}

// NextTimer is when the next timer that still matters falls due.
func (w *World) NextTimer() core.Time {
	for t := w.timers.firstTimer(); t != nil; t = w.timers.firstTimer() {
		if w.timerMatters(t) {
			return t.At
		}
		w.timers.dropFirst()
	}
	return core.Never
}

// NextRetry is when the next of the jobs in the queue may be tried that were put
// off, and that nobody has looked at since.
func (w *World) NextRetry() core.Time {
	for t := w.retries.firstTimer(); t != nil; t = w.retries.firstTimer() {
		if j := w.Job(t.Job); j != nil && j.queued && j.notBefore == t.At && t.At > w.scanned {
			return t.At
		}
		w.retries.dropFirst()
	}
	return core.Never
}

// timerMatters reports whether what the timer waits for is still open.
func (w *World) timerMatters(t *Timer) bool {
	j := w.Job(t.Job)
	if j == nil || j.epoch != t.Epoch {
		return false
	}
	if t.Kind == JobDue {
		return j.due == t.At && (j.state == core.Stopping || j.state == core.Queued && !j.IsClaimed())
	}
	if t.Kind == HoldDue {
		return j.hold != core.NotHeld && j.holdUntil == t.At
	}
	p := j.Part(t.Part)
	if p == nil {
		return false
	}
	if t.Kind == ClaimDue {
		return !p.held && p.claimAt == t.At
	}
	return p.offer.n != 0 && p.offer.due == t.At && !p.offer.silent
}

// DueTimer is the next timer that has fallen due by now and still matters. It
// stays due until what it waits for has happened.
func (w *World) DueTimer(now core.Time) (Timer, bool) {
	if first := w.timers.firstTimer(); first == nil || first.At > now {
		return Timer{}, false // whether it still matters is looked at when it is due
	}
	if next := w.NextTimer(); next > now || next == core.Never {
		return Timer{}, false
	}
	return *w.timers.firstTimer(), true
}
