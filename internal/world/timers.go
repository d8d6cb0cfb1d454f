package world

import (
	"container/heap"

	"github.com/godwit-hpc/godwit/internal/core"
)

// TimerKind says what is due.
type TimerKind uint8

const (
	ClaimDue  TimerKind = iota // a late claim
	AnswerDue                  // the answer to a mandatory offer
	JobDue                     // a job that was told to stop must have left, one that is queued must have its claims
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

type timers struct {
	heap timerHeap
	seq  int64
}

type timerHeap []Timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].At < h[j].At || h[i].At == h[j].At && h[i].seq < h[j].seq
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(Timer)) }
func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}

func (t *timers) add(x Timer) {
	x.seq = t.seq
	t.seq++
	heap.Push(&t.heap, x)
}

// setDue sets the time by which a job must have come further.
func (w *World) setDue(j *Job, due core.Time) {
	j.due = due
	if due > 0 && due < core.Never {
		w.timers.add(Timer{At: due, Kind: JobDue, Job: j.spec.ID, Epoch: j.epoch})
	}
}

// NextTimer is when the next timer that still matters falls due.
func (w *World) NextTimer() core.Time {
	for len(w.timers.heap) > 0 {
		t := w.timers.heap[0]
		if w.matters(t) {
			return t.At
		}
		heap.Pop(&w.timers.heap)
	}
	return core.Never
}

// matters reports whether what the timer waits for is still open.
func (w *World) matters(t Timer) bool {
	j := w.jobs[t.Job]
	if j == nil || j.epoch != t.Epoch {
		return false
	}
	if t.Kind == JobDue {
		return j.due == t.At && (j.state == core.Stopping || j.state == core.Queued && !j.Claimed())
	}
	p := j.Part(t.Part)
	if p == nil {
		return false
	}
	if t.Kind == ClaimDue {
		return !p.held && p.claimAt == t.At
	}
	return p.offer.n != 0 && p.offer.due == t.At
}

// Due is the next timer that has fallen due by now and still matters. It
// stays due until what it waits for has happened.
func (w *World) Due(now core.Time) (Timer, bool) {
	if next := w.NextTimer(); next > now || next == core.Never {
		return Timer{}, false
	}
	return w.timers.heap[0], true
}
