package broker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/jobarray"
)

// A large array is taken in as one record. Its elements get records of their own a
// few at a time, so that whoever else asks is answered in between, when they may come
// into the queue, or when somebody asks for one of them by its number. Until then
// they are pending: they have a number, a unique id and an index, which follow from
// the record of the array, and nothing else.

// array is a job array with elements that have not ended.
type array struct {
	store.Array              // Count is 0 if every element has its record
	indices     []int        // of the elements, if they are no single range
	ahead       map[int]bool // elements from Next on that have their record
	queued      int          // elements that the engine knows and that have not started
	live        int          // elements that are among the broker's jobs
	isFilling   bool         // what the next elements need is being looked up
	each        [][]int      // for each array of Each its indices, if they are no single range
	progress    arrayProgress
	work        string // working directory of those that wait; "": as in their records
}

// pendingCount is how many elements have no record.
func (a *array) pendingCount() int { return max(0, a.Count-a.Next) - len(a.ahead) }

// isPending reports whether an element has no record.
func (a *array) isPending(n int) bool { return n >= a.Next && n < a.Count && !a.ahead[n] }

func (a *array) elementIndex(n int) int {
	if a.indices != nil {
		return a.indices[n]
	}
	return a.Spec.Array.First + n*a.Spec.Array.Step
}

// elementRecord is the record of an element that has none yet.
func (a *array) elementRecord(n int) store.Job {
	rec := a.ElementRecord(n, a.elementIndex(n))
	rec.Inputs, rec.After = slices.Clone(rec.Inputs), append(a.eachWaits(rec.Index), rec.After...)
	rec.Reason = a.whyHeld()
	return rec
}

// whyHeld says why elements that could start are not in the queue.
func (a *array) whyHeld() string {
	if a.Spec != nil && a.Spec.Array.AtOnce > 0 {
		return core.Reason{Code: core.ArrayFull, A: float64(a.Spec.Array.AtOnce)}.String()
	}
	return fmt.Sprintf("at most %d jobs of an array wait in the queue at once", jobarray.QueueDepth)
}

// eachWaits is what the element with an index waits for in other arrays.
func (a *array) eachWaits(index int) []store.Wait {
	var list []store.Wait
	for i := range a.Each {
		e := &a.Each[i]
		if n, ok := positionOf(e.Indices, a.each[i], index); ok { // as was checked when it was submitted
			list = append(list, store.Wait{Job: e.Array + core.JobID(n), When: e.When})
		}
	}
	return list
}

// positionOf is where an index stands among those of an array, which are a list if
// they are no single range.
func positionOf(r jobfile.ArrayRange, list []int, index int) (n int, ok bool) {
	switch {
	case list != nil:
		return slices.BinarySearch(list, index)
	case r.Step < 1 || index < r.First || index > r.Last || (index-r.First)%r.Step != 0:
		return 0, false
	}
	return (index - r.First) / r.Step, true
}

// indexList is the indices of an array if they are no single range, else nil.
func indexList(r jobfile.ArrayRange) []int {
	if r.List == "" {
		return nil
	}
	return r.Indices()
}

// arrayOf is the array that a job belongs to; nil if it belongs to none.
func (b *Broker) arrayOf(rec *store.Job) *array {
	if rec.Parent == 0 {
		return nil
	}
	a := b.arrays[rec.Parent]
	if a == nil {
		a = &array{ahead: map[int]bool{}}
		if rec.Spec != nil {
			a.progress.size = rec.Spec.Array.Len()
		}
		b.arrays[rec.Parent] = a
	}
	return a
}

// loadArrays brings back the arrays that are not complete.
func (b *Broker) loadArrays(ctx context.Context, list []store.Array) error {
	for i := range list {
		a := newArray(list[i])
		early, err := b.opt.Store.ListJobs(ctx, store.Filter{Parent: a.ID, From: a.ID + core.JobID(a.Next)})
		if err != nil {
			return err
		}
		for k := range early {
			a.ahead[int(early[k].ID-a.ID)] = true
		}
		a.progress.unfinished = a.pendingCount()
		b.arrays[a.ID], b.partial[a.ID] = a, a
		b.countJobs(a.Template.Owner, a.pendingCount())
	}
	return nil
}

func newArray(rec store.Array) *array {
	a := &array{Array: rec, ahead: map[int]bool{}, indices: indexList(rec.Spec.Array)}
	for i := range rec.Each {
		a.each = append(a.each, indexList(rec.Each[i].Indices))
	}
	a.progress.size = rec.Count
	return a
}

// keepArray has the record of an array written.
func (t *turn) keepArray(a *array) {
	if a.Count > 0 {
		t.arrays[a.ID] = a
	}
}

// submitArray takes in an array as one record, and the first of its elements.
func (t *turn) submitArray(s *submission, after []store.Wait) []core.JobID {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails
	rec := s.jobRecord(t.now)
	rec.After = after
	a := newArray(store.Array{
		ID: t.b.nextJob, User: s.owner.Name, Submitted: t.now, Spec: s.spec, Template: rec,
		First: uniqueOf(s.owner, s.spec.Key), Seed: binary.LittleEndian.Uint64(seed[:]), Count: s.spec.Array.Len(),
		Why: s.why, Known: estimateInputs(s.proto), Each: eachWaitsOf(s.wants),
	})
	a.progress.unfinished = a.Count
	t.b.nextJob = a.EndID()
	t.b.arrays[a.ID], t.b.partial[a.ID] = a, a
	a.isFilling = true
	t.addElements(a, s.proto, s.quotes)
	a.isFilling = false
	t.fillQueue(a)
	ids := make([]core.JobID, a.Count)
	for n := range ids {
		ids[n] = a.ID + core.JobID(n)
	}
	return ids
}

// wantedElements is how many elements are to get their record in the next turn.
func (t *turn) wantedElements(a *array) int {
	n := max(0, a.Count-a.Next)
	switch {
	case len(a.Template.After)+len(a.Each) > 0: // each of them waits, and is handed what the others write
	case a.Template.NotBefore > t.now && a.live > 0 && a.pendingCount() > 0:
		n = 0
	default:
		n = jobarray.Refill(n, a.queued)
	}
	return min(n, jobarray.RefillSize)
}

// maxPassedElements is how many elements that ended before their turn are passed over
// in one turn of the loop: it costs little, but they may be all of a large array.
const maxPassedElements = 1000

// addElements gives the next elements of an array their records, and hands them to the
// engine.
func (t *turn) addElements(a *array, proto *core.Job, quotes []Quote) {
	targets := map[targetKey]core.Target{}
	passed := 0
	for n := t.wantedElements(a); n > 0 && a.Next < a.Count && passed < maxPassedElements; {
		if a.ahead[a.Next] {
			if t.enterAhead(a) {
				n--
			} else {
				passed++
			}
			continue
		}
		j := t.addElement(a, a.Next)
		j.rec.Reason = ""
		a.Next++
		t.enterEngine(j, &core.Input{Kind: core.Submit, Spec: proto}, targets)
		t.recordQuote(j, quotes)
		n--
	}
	t.keepArray(a)
}

// addElement gives one element its record.
func (t *turn) addElement(a *array, n int) *job {
	j := newJob(a.elementRecord(n))
	t.adoptJob(j)
	t.addEntry(j, wire.Entry{At: a.Submitted, Kind: "submit", Choice: "accepted", Why: a.Why, Inputs: a.Known})
	t.explainUnreachable(j)
	t.explainStart(j)
	return j
}

// adoptJob puts a new job among the broker's.
func (t *turn) adoptJob(j *job) {
	t.b.jobs[j.rec.ID] = j
	if a := t.b.arrayOf(&j.rec); a != nil {
		a.live++
	}
	t.touchJob(j)
}

// dropJob forgets a job with which nothing is left to do.
func (b *Broker) dropJob(j *job) {
	if b.jobs[j.rec.ID] != j {
		return
	}
	delete(b.jobs, j.rec.ID)
	delete(b.ending, j.rec.ID)
	if a := b.arrays[j.rec.Parent]; a != nil {
		a.live--
		b.dropArray(j.rec.Parent, a)
	}
}

// dropArray forgets an array with which nothing is left to do.
func (b *Broker) dropArray(id core.JobID, a *array) {
	if a.live == 0 && a.Next >= a.Count {
		b.rememberEnd(id, a)
		delete(b.arrays, id)
		delete(b.partial, id)
	}
}

// elementOf gives the element with a number its record, if it is one that who asks
// may see and has none; nil otherwise.
func (t *turn) elementOf(ctx context.Context, id core.JobID) *job {
	for _, a := range t.b.partial { // at most one has it
		n := int(id - a.ID)
		if !a.isPending(n) || !t.b.maySee(ctx, &a.Template) {
			continue
		}
		return t.addAhead(a, n)
	}
	return nil
}

// addAhead gives an element its record before its turn.
func (t *turn) addAhead(a *array, n int) *job {
	j := t.addElement(a, n)
	a.ahead[n] = true
	t.keepArray(a)
	if len(a.Each) > 0 { // what it waits for hands its results to those whom the engine knows
		t.enterUndescribed(j)
	}
	t.fillQueue(a)
	return j
}

// enterAhead hands the next element to the engine, which got its record before its
// turn. It is false if there is nothing to hand over.
func (t *turn) enterAhead(a *array) bool {
	delete(a.ahead, a.Next)
	j := t.b.jobs[a.ID+core.JobID(a.Next)]
	a.Next++
	if j == nil || j.rec.State.IsTerminal() || t.b.eng.IsLive(j.rec.ID) {
		return false
	}
	j.rec.Work = a.Template.Work // others may have come home to the array
	t.enterUndescribed(j)
	return true
}

// addCorresponding gives those elements of other arrays their record that wait for a
// job because they have its index, so that its results are handed to them.
func (t *turn) addCorresponding(j *job) {
	if j.rec.Parent == 0 {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(t.b.partial)) {
		a := t.b.partial[id]
		n, ok := positionOf(a.Spec.Array, a.indices, j.rec.Index)
		if ok && a.isPending(n) && slices.ContainsFunc(a.Each,
			func(e store.EachWait) bool { return e.Array == j.rec.Parent }) {
			t.addAhead(a, n)
		}
	}
}

// isAhead reports whether a job is an element of an array that got its record before
// its turn.
func (b *Broker) isAhead(j *job) bool {
	a := b.partial[j.rec.Parent]
	return a != nil && j.rec.ID >= a.ID+core.JobID(a.Next)
}

// countIn notes that the engine knows an element that has not started, uncount that it
// has started or ended.
func (t *turn) countIn(j *job) {
	if a := t.b.arrayOf(&j.rec); a != nil && !j.isCounted && j.rec.Started == 0 {
		j.isCounted = true
		a.queued++
	}
}

func (t *turn) uncountJob(j *job) {
	if j.isCounted {
		j.isCounted = false
		t.b.arrayOf(&j.rec).queued--
	}
}

// countOut notes that an element has ended.
func (t *turn) countOut(j *job) {
	if a := t.b.arrayOf(&j.rec); a != nil {
		t.uncountJob(j)
		t.fillQueue(a)
	}
}

// fillQueue gives elements of an array their record, as many as may be in the queue, in the
// order of their numbers.
func (t *turn) fillQueue(a *array) {
	if a.isFilling || t.wantedElements(a) == 0 {
		return
	}
	a.isFilling = true
	t.afterCommit(func() {
		t.b.runUntilStopped(func(ctx context.Context) {
			ctx = WithUser(ctx, User{a.Template.Owner, a.User})
			allowed, err := t.b.allowedClusters(ctx, a.Spec)
			if err != nil { // looked at again when the clusters change, or others of it end
				t.b.opt.Log.Warn("not known where jobs of an array may run", "array", a.ID, "error", err)
				t.b.postToLoop(func(*turn) { a.isFilling = false })
				return
			}
			need, _ := t.b.estimateNeed(ctx, a.Spec)
			bring := t.b.bringTimes(ctx, a.Template.Inputs)
			var failures map[core.JobID][]core.JobID
			if len(a.Template.After) > 0 { // what cannot be read is read when it is needed
				failures, _ = t.b.readFailures(ctx, func(*turn) []store.Wait { return a.Template.After })
			}
			t.b.postToLoop(func(t *turn) {
				t.b.addFailures(failures)
				proto := t.coreJob(User{a.Template.Owner, a.User}, a.Spec, allowed, need, bring)
				proto.Deadline = a.Template.Deadline
				t.addElements(a, proto, nil)
				a.isFilling = false
				t.fillQueue(a)
			})
		})
	})
}

// pendingElements is the elements of an array that have no record, as they are at
// one moment.
type pendingElements struct {
	array array
	skip  map[int]bool
}

// snapshotPending is what is pending of the arrays for which is holds.
func (t *turn) snapshotPending(is func(*array) bool) []pendingElements {
	var list []pendingElements
	for _, id := range slices.Sorted(maps.Keys(t.b.partial)) {
		if a := t.b.partial[id]; a.pendingCount() > 0 && is(a) {
			list = append(list, pendingElements{array{Array: a.Array, indices: a.indices}, maps.Clone(a.ahead)})
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

// elementViews lists them as jobs. Together they are one, the first, that says how many
// there are.
func (p *pendingElements) elementViews(together bool) []View {
	var list []View
	p.eachElement(func(n int) bool {
		list = append(list, View{Job: p.array.elementRecord(n)})
		return !together
	})
	if together && len(list) > 0 {
		list[0].Pending = p.array.Count - p.array.Next - len(p.skip)
	}
	return list
}

// pendingByUnique finds the number of a pending element whose unique id begins like
// this, among those that who asks may see; 0 if there is none, or several.
func (b *Broker) pendingByUnique(ctx context.Context, ref string) (found core.JobID, err error) {
	var list []pendingElements
	err = b.askLoop(ctx, func(t *turn) {
		list = t.snapshotPending(func(a *array) bool { return b.maySee(ctx, &a.Template) })
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

// isSplit reports whether an array is taken in a few elements at a time.
func isSplit(spec *jobfile.Job) bool { return spec.Array.Len() > jobarray.RefillSize }
