// Package itempool decides about a pool of work items: which worker gets which items, how many
// at a time, what becomes of the items of a worker that is lost, and how many workers a pool
// has. Every item is counted exactly once, however often it is run. It must not know how items
// are run, stored or carried.
package itempool

import (
	"math/bits"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// WorkerID names a worker: one attempt of the job that it is. The next attempt of the same job
// is another worker, which holds nothing of what the one before held.
type WorkerID struct {
	Job   core.JobID
	Epoch core.Epoch
}

const (
	// suspectLosses is from how many lost workers on an item is given out alone: it may be what
	// ends them.
	suspectLosses = 2
	// MaxLosses is how many workers may be lost with an item before it counts as failed.
	MaxLosses = 5
)

// Queue is the items of a pool by number, from 0: those that are counted, those that workers
// hold, and the others, which wait. Its cost does not depend on how many items there are, but
// for the passing over of those that were counted before it was made.
type Queue struct {
	items   int
	counted []uint64 // bitmap
	left    int      // items that are not counted
	next    int      // items from here on were not given out yet
	back    []int    // items that came back, by number
	holder  map[int]WorkerID
	held    map[WorkerID][]int
	losses  map[int]int // of items that came back from lost workers
}

// NewQueue is a queue of so many items, of which those in the bitmap are counted already; nil:
// none are.
func NewQueue(items int, counted []uint64) *Queue {
	q := &Queue{items: items, counted: make([]uint64, (items+63)/64), left: items, holder: map[int]WorkerID{},
		held: map[WorkerID][]int{}, losses: map[int]int{}}
	copy(q.counted, counted)
	if rest := items % 64; rest != 0 {
		q.counted[len(q.counted)-1] &= 1<<rest - 1
	}
	for _, word := range q.counted {
		q.left -= bits.OnesCount64(word)
	}
	return q
}

// Left is how many items are not counted.
func (q *Queue) Left() int { return q.left }

// Waiting is how many items are neither counted nor held.
func (q *Queue) Waiting() int { return q.left - len(q.holder) }

// HeldBy is how many items a worker holds.
func (q *Queue) HeldBy(w WorkerID) int { return len(q.held[w]) }

// IsCounted reports whether an item is counted.
func (q *Queue) IsCounted(item int) bool { return q.counted[item/64]&(1<<(item%64)) != 0 }

func (q *Queue) isItem(item int) bool { return item >= 0 && item < q.items }

// TakeReport takes in what a worker says: the items that it has done, and those that it holds
// besides. It returns those of the done that count, each of them for the only time, and those
// of the held that it is to drop, because they are counted or somebody else holds them. What
// it should hold and does not, as the answer that gave it out was lost, waits again.
func (q *Queue) TakeReport(w WorkerID, done, holds []int) (count, drop []int) {
	before := q.held[w]
	delete(q.held, w)
	for _, item := range before {
		delete(q.holder, item)
	}
	for _, item := range done {
		if q.isItem(item) && q.mayHold(w, item) {
			q.markCounted(item)
			count = append(count, item)
		}
	}
	for _, item := range holds {
		switch {
		case !q.isItem(item) || !q.mayHold(w, item):
			drop = append(drop, item)
		case q.holder[item] != w: // else it is named twice
			q.holder[item] = w
			q.held[w] = append(q.held[w], item)
		}
	}
	for _, item := range before {
		if _, isHeld := q.holder[item]; !isHeld && !q.IsCounted(item) {
			q.back = append(q.back, item)
		}
	}
	q.sortBack()
	return count, drop
}

// mayHold reports whether an item is not counted, and with nobody else.
func (q *Queue) mayHold(w WorkerID, item int) bool {
	other, isHeld := q.holder[item]
	return !q.IsCounted(item) && (!isHeld || other == w)
}

func (q *Queue) markCounted(item int) {
	q.counted[item/64] |= 1 << (item % 64)
	q.left--
	delete(q.losses, item)
}

// sortBack has what came back in order, without what was counted or taken up by somebody
// meanwhile.
func (q *Queue) sortBack() {
	q.back = slices.DeleteFunc(q.back, func(item int) bool {
		_, isHeld := q.holder[item]
		return isHeld || q.IsCounted(item)
	})
	slices.Sort(q.back)
	q.back = slices.Compact(q.back)
}

// GiveItems gives a worker up to n more items, those that came back first. One that may be what
// ends workers is given alone, to a worker that holds nothing else.
func (q *Queue) GiveItems(w WorkerID, n int) []int {
	if slices.ContainsFunc(q.held[w], q.isSuspect) {
		return nil
	}
	var given []int
	for i := 0; i < len(q.back) && len(given) < n; {
		item := q.back[i]
		isSuspect := q.isSuspect(item)
		if isSuspect && len(given)+len(q.held[w]) > 0 {
			i++
			continue
		}
		q.back = slices.Delete(q.back, i, i+1)
		given = append(given, item)
		if isSuspect {
			break
		}
	}
	alone := len(given) == 1 && q.isSuspect(given[0])
	for ; len(given) < n && !alone && q.next < q.items; q.next++ {
		if _, isHeld := q.holder[q.next]; !isHeld && !q.IsCounted(q.next) && !q.isBack(q.next) {
			given = append(given, q.next)
		}
	}
	for _, item := range given {
		q.holder[item] = w
	}
	if len(given) > 0 {
		q.held[w] = append(q.held[w], given...)
	}
	return given
}

func (q *Queue) isBack(item int) bool {
	_, found := slices.BinarySearch(q.back, item)
	return found
}

func (q *Queue) isSuspect(item int) bool { return q.losses[item] >= suspectLosses }

// ReleaseWorker takes back what a worker holds that is no more. If it was lost, rather than told
// to leave, that is held against the items: those with which too many were lost are returned,
// and count as failed.
func (q *Queue) ReleaseWorker(w WorkerID, lost bool) (failed []int) {
	items := q.held[w]
	delete(q.held, w)
	for _, item := range items {
		delete(q.holder, item)
		if lost {
			q.losses[item]++
		}
		if q.losses[item] >= MaxLosses {
			q.markCounted(item)
			failed = append(failed, item)
			continue
		}
		q.back = append(q.back, item)
	}
	q.sortBack()
	slices.Sort(failed)
	return failed
}
