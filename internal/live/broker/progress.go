package broker

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// How a job or an array is doing is asked for in the loop whenever somebody depends on
// it. An array may have a hundred thousand elements, so it is counted as they start and
// end. What became of those that ended before this broker began stands in the store and is
// read beside the loop.

// arrayProgress is how many elements of an array have done what others wait for.
type arrayProgress struct {
	size       int                 // elements in all
	unfinished int                 // that are not over
	begun      int                 // of these, those that have started
	failures   map[core.JobID]bool // that are over and did not go well
	failedJob  core.JobID          // the last of these
	hasUnread  bool                // some were over before this broker began; of these failures are not known
}

// countLoaded counts an element that the store has as open.
func (p *arrayProgress) countLoaded(rec *store.Job) {
	if rec.Delivered {
		return
	}
	p.unfinished++
	if rec.Started != 0 {
		p.begun++
	}
}

// countOver counts an element that is over now.
func (p *arrayProgress) countOver(rec *store.Job) {
	p.unfinished--
	if rec.Started != 0 {
		p.begun--
	}
	if rec.State != core.Done {
		p.addFailures([]core.JobID{rec.ID})
	}
}

func (p *arrayProgress) addFailures(ids []core.JobID) {
	if p.failures == nil {
		p.failures = make(map[core.JobID]bool, len(ids))
	}
	for _, id := range ids {
		p.failures[id] = true
		p.failedJob = max(p.failedJob, id)
	}
}

// asTarget is what others who depend on the array have to know.
func (p *arrayProgress) asTarget() core.Target {
	return core.Target{Unfinished: p.unfinished, NotStarted: p.unfinished - p.begun, Failed: len(p.failures),
		FailedJob: p.failedJob}
}

// maxEndedArrays is how many arrays that are over are remembered: who depends on one
// does so soon, or pays for having it read.
const maxEndedArrays = 256

// rememberEnd keeps how an array ended that is being forgotten.
func (b *Broker) rememberEnd(id core.JobID, a *array) {
	if !a.progress.hasUnread {
		b.keepEnd(id, a.progress.asTarget())
	}
}

func (b *Broker) keepEnd(id core.JobID, t core.Target) {
	if len(b.endedArrays) >= maxEndedArrays {
		clear(b.endedArrays)
	}
	b.endedArrays[id] = t
}

// elementsPerRead is how many elements of an array are read from the store at once.
const elementsPerRead = 1000

// eachEnded calls f with the stored record of every job that a key means and that is
// over.
func (b *Broker) eachEnded(ctx context.Context, key targetKey, f func(rec *store.Job)) error {
	visit := func(rec *store.Job) {
		if rec.Delivered || !rec.IsOpen() {
			f(rec)
		}
	}
	if !key.array {
		rec, err := b.opt.Store.FindJob(ctx, strconv.FormatInt(int64(key.id), 10))
		if err == nil {
			visit(rec)
		}
		return err
	}
	for below := core.JobID(0); ; {
		some, err := b.opt.Store.ListJobs(ctx, store.Filter{Parent: key.id, Below: below, Limit: elementsPerRead})
		for i := range some {
			visit(&some[i])
			below = some[i].ID
		}
		if err != nil || len(some) < elementsPerRead {
			return err
		}
	}
}

// storedFailures are the elements of an array that are over and did not go well.
func (b *Broker) storedFailures(ctx context.Context, id core.JobID) ([]core.JobID, error) {
	var list []core.JobID
	err := b.eachEnded(ctx, targetKey{id, true}, func(rec *store.Job) {
		if rec.State != core.Done {
			list = append(list, rec.ID)
		}
	})
	return list, err
}

// readFailures reads, beside the loop, which elements have failed of the arrays that
// somebody wants to depend on and of which the loop does not know it.
func (b *Broker) readFailures(ctx context.Context,
	waits func(*turn) []store.Wait) (map[core.JobID][]core.JobID, error) {
	var unknown []core.JobID
	if err := b.askLoop(ctx, func(t *turn) {
		for _, w := range waits(t) {
			if w.Array && !t.knowsProgress(w.Job) {
				unknown = append(unknown, w.Job)
			}
		}
	}); err != nil {
		return nil, err
	}
	failures := map[core.JobID][]core.JobID{}
	for _, id := range unknown {
		list, err := b.storedFailures(ctx, id)
		if err != nil {
			return nil, err
		}
		failures[id] = list
	}
	return failures, nil
}

// knowsProgress reports whether how an array is doing is known without reading.
func (t *turn) knowsProgress(id core.JobID) bool {
	if a := t.b.arrays[id]; a != nil {
		return !a.progress.hasUnread
	}
	_, ok := t.b.endedArrays[id]
	return ok
}

// addFailures takes in what was read. What has failed since is counted already.
func (b *Broker) addFailures(read map[core.JobID][]core.JobID) {
	for _, id := range slices.Sorted(maps.Keys(read)) {
		if a := b.arrays[id]; a != nil {
			a.progress.addFailures(read[id])
			a.progress.hasUnread = false
			continue
		}
		p := arrayProgress{}
		p.addFailures(read[id])
		b.keepEnd(id, p.asTarget())
	}
}

// countTarget says how a job, or those of an array, are doing.
func (t *turn) countTarget(key targetKey) core.Target {
	target, err := t.readTarget(key)
	if err != nil { // whatever became of it, it cannot be waited for
		t.b.opt.Log.Error("a dependency cannot be read", "job", key.id, "error", err)
		return core.Target{Failed: 1, FailedJob: key.id}
	}
	return target
}

// readTarget is countTarget that may fail.
func (t *turn) readTarget(key targetKey) (core.Target, error) {
	if key.array {
		return t.arrayTarget(key.id)
	}
	return t.jobTarget(key.id)
}

func (t *turn) arrayTarget(id core.JobID) (core.Target, error) {
	if !t.knowsProgress(id) {
		// It was forgotten after its failures were looked for, or whoever depends on it was
		// submitted to a broker of an earlier version: it is read once.
		list, err := t.b.storedFailures(t.b.ctx, id)
		if err != nil {
			return core.Target{}, err
		}
		t.b.addFailures(map[core.JobID][]core.JobID{id: list})
	}
	if a := t.b.arrays[id]; a != nil {
		return a.progress.asTarget(), nil
	}
	return t.b.endedArrays[id], nil
}

func (t *turn) jobTarget(id core.JobID) (target core.Target, err error) {
	rec, over, err := t.recordOf(id)
	switch {
	case err != nil:
		return target, err
	case over && rec.State != core.Done:
		target.Failed, target.FailedJob = 1, id
	case !over && rec.Started == 0:
		target.Unfinished, target.NotStarted = 1, 1
	case !over:
		target.Unfinished = 1
	}
	return target, nil
}

// recordOf is the record of a job, as far as those who depend on it have to know, and
// whether it is over.
func (t *turn) recordOf(id core.JobID) (rec *store.Job, over bool, err error) {
	if j := t.b.jobs[id]; j != nil && j.spec != nil {
		return &j.rec, j.over || j.rec.Delivered, nil
	}
	if a := t.b.pendingArray(id); a != nil && a.isPending(int(id-a.ID)) {
		return &a.Template, false, nil
	}
	rec, err = t.b.opt.Store.FindJob(t.b.ctx, strconv.FormatInt(int64(id), 10))
	return rec, true, err
}

// pendingArray is the array with a job by this number of which not every element has
// its record; nil if there is none.
func (b *Broker) pendingArray(id core.JobID) *array {
	for _, a := range b.partial { // at most one has it
		if id >= a.ID && id < a.EndID() {
			return a
		}
	}
	return nil
}

// countOver is how many of the jobs that are waited for are over.
func (t *turn) countOver(wants []resolvedDependency) int {
	n := 0
	for i := range wants {
		w := &wants[i]
		if w.Array {
			n += w.arraySize()
			if a := t.b.arrays[w.Job]; a != nil {
				n -= a.progress.unfinished
			}
		} else if _, over, err := t.recordOf(w.Job); err == nil && over {
			n++
		}
	}
	return n
}
