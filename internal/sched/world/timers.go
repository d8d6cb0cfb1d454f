package world

import "github.com/godwit-hpc/godwit/internal/sched/core"

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

// timers is a heap with the earliest on top, of equal ones the one set first.
type timers struct {
	heap []Timer
	seq  int64
}

func (t *timers) isBefore(i, j int) bool {
	a, b := &t.heap[i], &t.heap[j]
	return a.At < b.At || a.At == b.At && a.seq < b.seq
}

func (t *timers) addTimer(x Timer) {
	x.seq = t.seq
	t.seq++
	t.heap = append(t.heap, x)
	for i := len(t.heap) - 1; i > 0 && t.isBefore(i, (i-1)/2); i = (i - 1) / 2 {
		t.heap[i], t.heap[(i-1)/2] = t.heap[(i-1)/2], t.heap[i]
	}
}

func (t *timers) dropFirst() {
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
	for len(w.timers.heap) > 0 {
		t := w.timers.heap[0]
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
	for len(w.retries.heap) > 0 {
		t := w.retries.heap[0]
		if j := w.jobs[t.Job]; j != nil && j.queued && j.notBefore == t.At && t.At > w.scanned {
			return t.At
		}
		w.retries.dropFirst()
	}
	return core.Never
}

// timerMatters reports whether what the timer waits for is still open.
func (w *World) timerMatters(t Timer) bool {
	j := w.jobs[t.Job]
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
	if next := w.NextTimer(); next > now || next == core.Never {
		return Timer{}, false
	}
	return w.timers.heap[0], true
}
