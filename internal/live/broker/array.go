package broker

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/godwit-hpc/godwit/internal/clock"
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
// the record of the array, and nothing else. That holds for an array that waits for
// other jobs too: the first of its elements are known to the engine and wait there, and
// when it releases them the others follow as these start.

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

	ended map[targetKey]core.Target // how jobs and arrays ended that all elements wait for
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
	return rec
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
	err := t.addElements(a, s.proto, s.quotes)
	a.isFilling = false
	if err != nil { // it is tried again: the array is taken in all the same
		t.b.opt.Log.Error("not known how those are doing that an array waits for", "array", a.ID, "error", err)
	}
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
	case len(a.Each) > 0: // each waits for another job, and is handed what that one writes
	case a.Template.NotBefore > t.now && a.queued > 0 && a.pendingCount() > 0:
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
// engine; none if it cannot be read how those are doing that they wait for.
func (t *turn) addElements(a *array, proto *core.Job, quotes []Quote) error {
	t.keepArray(a)
	targets, err := t.countTargets(a)
	if err != nil {
		return err
	}
	passed := 0
	for n := t.wantedElements(a); n > 0 && a.Next < a.Count && passed < maxPassedElements; {
		if a.ahead[a.Next] {
			if t.enterAhead(a, targets) {
				n--
			} else {
				passed++
			}
			continue
		}
		j := t.addElement(a, a.Next)
		a.Next++
		t.enterEngine(j, &core.Input{Kind: core.Submit, Spec: proto}, targets)
		t.recordQuote(j, quotes)
		n--
	}
	return nil
}

// countTargets says how those are doing that all elements of an array wait for. What has
// ended stays so: the elements may come over days, and it is read once.
func (t *turn) countTargets(a *array) (map[targetKey]core.Target, error) {
	targets := make(map[targetKey]core.Target, len(a.Template.After))
	for _, w := range a.Template.After {
		target, known := a.ended[keyOf(w)]
		if !known {
			var err error
			if target, err = t.readTarget(keyOf(w)); err != nil {
				return nil, err
			}
		}
		if !known && target.Unfinished == 0 {
			if a.ended == nil {
				a.ended = map[targetKey]core.Target{}
			}
			a.ended[keyOf(w)] = target
		}
		targets[keyOf(w)] = target
	}
	return targets, nil
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
	a := t.b.pendingArray(id)
	if a == nil || !a.isPending(int(id-a.ID)) || !t.b.maySee(ctx, &a.Template) {
		return nil
	}
	return t.addAhead(a, int(id-a.ID))
}

// addAhead gives an element its record before its turn.
func (t *turn) addAhead(a *array, n int) *job {
	j := t.addElement(a, n)
	j.rec.Reason = t.b.pendingReason(a)
	a.ahead[n] = true
	t.keepArray(a)
	if len(a.Each) > 0 { // what it waits for hands its results to those whom the engine knows
		t.enterUndescribed(j, map[targetKey]core.Target{})
	}
	t.fillQueue(a)
	return j
}

// enterAhead hands the next element to the engine, which got its record before its
// turn. It is false if there is nothing to hand over.
func (t *turn) enterAhead(a *array, targets map[targetKey]core.Target) bool {
	delete(a.ahead, a.Next)
	a.Next++
	return t.enterRecorded(a, a.Next-1, targets)
}

// enterRecorded hands an element to the engine that has its record. It is false if there is
// nothing to hand over.
func (t *turn) enterRecorded(a *array, n int, targets map[targetKey]core.Target) bool {
	j := t.b.jobs[a.ID+core.JobID(n)]
	if j == nil || j.rec.State.IsTerminal() || t.b.eng.IsLive(j.rec.ID) {
		return false
	}
	j.rec.Work, j.rec.Reason = a.Template.Work, "" // others may have come home to the array
	t.touchJob(j)
	t.enterUndescribed(j, targets)
	return true
}

// enterWaiting hands an element to the engine of each array that waits for other jobs and of
// which the engine knows none, since all that it knew were cancelled: results are handed to
// the others by way of it.
func (t *turn) enterWaiting() {
	for _, id := range slices.Sorted(maps.Keys(t.b.partial)) {
		a := t.b.partial[id]
		if len(a.Template.After) == 0 || len(a.Each) > 0 || a.queued > 0 {
			continue
		}
		targets, err := t.countTargets(a)
		for n := a.Next; n < a.Count && err == nil; n++ { // else it is told when its queue is filled
			if a.isPending(n) {
				t.addAhead(a, n)
			}
			if t.enterRecorded(a, n, targets) {
				break
			}
		}
	}
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
			places, err := t.b.componentPlaces(ctx, a.Spec, a.Template.Inputs)
			if err != nil { // looked at again when the clusters change, or others of it end
				t.b.opt.Log.Warn("not known where jobs of an array may run", "array", a.ID, "error", err)
				t.b.postToLoop(func(*turn) { a.isFilling = false })
				return
			}
			need, _ := t.b.estimates.JobNeed(ctx, a.Spec)
			var failures map[core.JobID][]core.JobID
			if len(a.Template.After) > 0 { // what cannot be read is read when it is needed
				failures, _ = t.b.readFailures(ctx, func(*turn) []store.Wait { return a.Template.After })
			}
			t.b.postToLoop(func(t *turn) {
				t.b.addFailures(failures)
				proto := t.coreJob(User{a.Template.Owner, a.User}, a.Spec, places, need)
				proto.Deadline = a.Template.Deadline
				err := t.addElements(a, proto, nil)
				a.isFilling = false
				if err != nil {
					t.b.opt.Log.Error("not known how those are doing that an array waits for", "array", a.ID, "error", err)
					t.fillLater(a)
					return
				}
				t.fillQueue(a)
			})
		})
	})
}

// fillLater looks at an array again after a while.
func (t *turn) fillLater(a *array) {
	t.b.runUntilStopped(func(ctx context.Context) {
		if clock.SleepContext(ctx, describeRetry) {
			t.b.postToLoop(func(t *turn) { t.fillQueue(a) })
		}
	})
}

// isSplit reports whether an array is taken in a few elements at a time.
func isSplit(spec *jobfile.Job) bool { return spec.Array.Len() > jobarray.RefillSize }
