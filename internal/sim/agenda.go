package sim

import "github.com/godwit-hpc/godwit/internal/sched/core"

// entry is something that will happen in virtual time.
type entry struct {
	at      core.Time
	order   uint64 // kind first, then order of entering: what happens first within an instant
	task    *task  // nil: it is about none
	version uint32 // of the task, or of an acquisition: an entry of an old one is void
	number  int32  // of a background job, or of the part that a grant is about
}

type entryKind uint8

// The kinds in the order in which they happen within one instant: what frees
// processors comes before what wants them.
const (
	grantDue entryKind = iota // a cluster's own queue had until now
	jobEnds
	backgroundEnds
	hostChanges
	linkChanges
	loadChanges
	drainChanges
	backgroundComes
	jobArrives
	progressDue
	saveEnds
	phaseEnds
	pollDue
)

const orderBits = 56

func (e *entry) entryKind() entryKind { return entryKind(e.order >> orderBits) }

func (e *entry) isBefore(f *entry) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// agenda is the heap of what will happen. Four children a node: fewer levels,
// and the children share a cache line or two.
type agenda struct {
	heap    []entry
	seq     uint64
	crowded int // length from which on void entries are looked for
}

func (a *agenda) addEntry(at core.Time, kind entryKind, e entry) {
	if at == core.Never {
		return
	}
	a.seq++
	e.at, e.order = at, uint64(kind)<<orderBits|a.seq
	i := a.findVoid(&e)
	switch {
	case i == len(a.heap):
		a.heap = append(a.heap, e)
		fallthrough
	case e.isBefore(&a.heap[i]):
		a.raiseEntry(i, e)
	default:
		a.sinkEntry(i, e)
	}
}

// findVoid is where a void entry of the same task and kind is, whose place e takes; the end of the heap if none is
// known. A program that changes its size often would leave one behind each time.
func (a *agenda) findVoid(e *entry) int {
	if p := e.placeInTask(); p != nil && *p < len(a.heap) {
		if f := &a.heap[*p]; f.task == e.task && f.entryKind() == e.entryKind() && f.version != e.version {
			return *p
		}
	}
	return len(a.heap)
}

// placeInTask is where the task keeps the place of such an entry; nil: nowhere.
func (e *entry) placeInTask() *int {
	switch k := e.entryKind(); {
	case e.task == nil:
	case k == jobEnds:
		return &e.task.endAt
	case k == progressDue:
		return &e.task.reportAt
	}
	return nil
}

// raiseEntry puts e where i is, or above.
func (a *agenda) raiseEntry(i int, e entry) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.isBefore(&a.heap[parent]) {
			break
		}
		a.setEntry(i, a.heap[parent])
		i = parent
	}
	a.setEntry(i, e)
}

func (a *agenda) setEntry(i int, e entry) {
	a.heap[i] = e
	if p := e.placeInTask(); p != nil {
		*p = i
	}
}

// nextTime is when the first entry happens.
func (a *agenda) nextTime() core.Time {
	if len(a.heap) == 0 {
		return core.Never
	}
	return a.heap[0].at
}

func (a *agenda) popEntry() entry {
	top := a.heap[0]
	n := len(a.heap) - 1
	last := a.heap[n]
	a.heap = a.heap[:n]
	if n > 0 {
		a.sinkEntry(0, last)
	}
	return top
}

// sinkEntry puts e where i is, or below.
func (a *agenda) sinkEntry(i int, e entry) {
	n := len(a.heap)
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if a.heap[c].isBefore(&a.heap[least]) {
				least = c
			}
		}
		if !a.heap[least].isBefore(&e) {
			break
		}
		a.setEntry(i, a.heap[least])
		i = least
	}
	a.setEntry(i, e)
}

// leastCrowded is the length below which void entries do no harm.
const leastCrowded = 128

// dropVoid drops void entries once the agenda has doubled since the last time: a
// job that changes its size every minute and runs for a month leaves an entry
// behind each time. Costs a constant per entry added.
func (a *agenda) dropVoid(void func(*entry) bool) {
	if len(a.heap) < max(a.crowded, leastCrowded) {
		return
	}
	kept := a.heap[:0]
	for i := range a.heap {
		if !void(&a.heap[i]) {
			kept = append(kept, a.heap[i])
		}
	}
	a.heap = kept
	for i := len(kept) - 1; i >= 0; i-- {
		a.sinkEntry(i, kept[i])
	}
	a.crowded = 2 * len(kept)
}
