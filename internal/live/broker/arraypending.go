package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/jobarray"
)

// What is shown of elements of an array whose turn has not come.

// pendingReason says why elements are not in the queue that the engine does not know: for
// the same as those that it holds until other jobs have done something, if it holds any.
func (b *Broker) pendingReason(a *array) string {
	if len(a.Template.After) > 0 {
		wait := a.Template.After[0] // who waits for one of them waits for all
		first := b.jobs[b.eng.NextWaiter(wait.Job, arrayOfWait(wait), a.ID-1)]
		if first != nil && first.rec.Parent == a.ID {
			return first.rec.Reason
		}
	}
	return a.whyHeld()
}

// whyHeld says why elements that could start are not in the queue.
func (a *array) whyHeld() string {
	if a.Spec != nil && a.Spec.Array.AtOnce > 0 {
		return core.Reason{Code: core.ArrayFull, A: float64(a.Spec.Array.AtOnce)}.String()
	}
	return fmt.Sprintf("at most %d jobs of an array wait in the queue at once", jobarray.QueueDepth)
}

// currentRecord is the record of a job as it is now. An element whose turn has not come waits
// for what the others of its array wait for, and begins with what they begin with.
func (b *Broker) currentRecord(j *job) store.Job {
	rec := j.rec
	if b.isAhead(j) && !rec.State.IsTerminal() && !b.eng.IsLive(rec.ID) {
		a := b.partial[rec.Parent]
		rec.Reason, rec.Work = b.pendingReason(a), a.Template.Work
	}
	return rec
}

// pendingElements is the elements of an array that have no record, as they are at
// one moment.
type pendingElements struct {
	array  array
	skip   map[int]bool
	reason string // why they wait
}

// snapshotPending is what is pending of the arrays for which is holds.
func (b *Broker) snapshotPending(is func(*array) bool) []pendingElements {
	var list []pendingElements
	for _, id := range slices.Sorted(maps.Keys(b.partial)) {
		if a := b.partial[id]; a.pendingCount() > 0 && is(a) {
			list = append(list, pendingElements{array{Array: a.Array, indices: a.indices, each: a.each},
				maps.Clone(a.ahead), b.pendingReason(a)})
		}
	}
	return list
}

// eachElement calls f with every one of them, until it returns false.
func (p *pendingElements) eachElement(f func(n int) bool) {
	for n := p.array.Next; n < p.array.Count; n++ {
		if !p.skip[n] && !f(n) {
			return
		}
	}
}

// elementView is one of them as a job.
func (p *pendingElements) elementView(n int) View {
	rec := p.array.elementRecord(n)
	rec.Reason = p.reason
	return View{Job: rec}
}

// pendingViews gives the pending elements of arrays, which are in the order of their numbers. If
// they are listed together they are one job, the first, that says how many there are.
func pendingViews(arrays []pendingElements, q *viewQuery) *viewSource {
	if !q.oldestFirst {
		slices.Reverse(arrays)
	}
	seen := 0 // of the elements of the first array that is left
	return &viewSource{more: func() (page []View, last bool, err error) {
		for len(arrays) > 0 && len(page) < viewsPerTurn {
			p := &arrays[0]
			n := p.array.Next + seen
			if !q.oldestFirst && !q.together {
				n = p.array.Count - 1 - seen
			}
			if seen++; n < p.array.Next || n >= p.array.Count {
				arrays, seen = arrays[1:], 0
				continue
			}
			if p.skip[n] {
				continue
			}
			v := p.elementView(n)
			if q.together {
				v.Pending = p.array.Count - p.array.Next - len(p.skip)
				arrays, seen = arrays[1:], 0
			}
			if q.includesJob(v.ID, v.Parent) {
				page = append(page, v)
			}
		}
		return page, len(arrays) == 0, nil
	}}
}

// pendingByUnique finds the number of a pending element whose unique id begins like
// this, among those that who asks may see; 0 if there is none, or several.
func (b *Broker) pendingByUnique(ctx context.Context, ref string) (found core.JobID, err error) {
	var list []pendingElements
	isSeen := func(a *array) bool { return b.maySee(ctx, &a.Template) }
	err = b.readLoop(ctx, func(writing *turn) bool {
		list = b.snapshotPending(isSeen)
		return !writing.isWritingArray(isSeen)
	})
	if err != nil {
		return 0, err
	}
	several := false
	for i := range list {
		a := &list[i].array
		list[i].eachElement(func(n int) bool {
			if unique := a.UniqueID(n); strings.HasPrefix(unique, ref) {
				several, found = found != 0, a.ID+core.JobID(n)
			}
			return !several
		})
	}
	if several {
		return 0, store.ErrManyJobs
	}
	return found, nil
}
