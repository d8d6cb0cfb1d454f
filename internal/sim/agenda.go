package sim

import "github.com/godwit-hpc/godwit/internal/core"

// entry is something that will happen in virtual time.
type entry struct {
	at      core.Time
	order   uint64 // kind first, then order of entering: what happens first within an instant
	job     core.JobID
	index   int32  // of what the kind is about
	version uint32 // of the task: an entry of an old version is void
}

type entryKind uint8

// The kinds in the order in which they happen within one instant: what frees
// processors comes before what wants them.
const (
	jobEnds entryKind = iota
	backgroundEnds
	hostChanges
	linkChanges
	transferMoves
	backgroundComes
	jobArrives
	progressDue
	pollDue
	engineWakes
)

const orderBits = 56

func (e *entry) kind() entryKind { return entryKind(e.order >> orderBits) }

// agenda is the heap of what will happen. Four children a node: fewer levels,
// and the children share a cache line or two.
type agenda struct {
	heap []entry
	seq  uint64
}

func (a *agenda) add(at core.Time, kind entryKind, e entry) {
	a.seq++
	e.at, e.order = at, uint64(kind)<<orderBits|a.seq
	a.heap = append(a.heap, e)
	i := len(a.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !before(&e, &a.heap[parent]) {
			break
		}
		a.heap[i] = a.heap[parent]
		i = parent
	}
	a.heap[i] = e
}

// next is when the first entry happens.
func (a *agenda) next() core.Time {
	if len(a.heap) == 0 {
		return core.Never
	}
	return a.heap[0].at
}

func (a *agenda) pop() entry {
	top := a.heap[0]
	n := len(a.heap) - 1
	last := a.heap[n]
	a.heap = a.heap[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= n {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, n); c++ {
			if before(&a.heap[c], &a.heap[least]) {
				least = c
			}
		}
		if !before(&a.heap[least], &last) {
			break
		}
		a.heap[i] = a.heap[least]
		i = least
	}
	a.heap[i] = last
	return top
}

func before(a, b *entry) bool { return a.at < b.at || a.at == b.at && a.order < b.order }
