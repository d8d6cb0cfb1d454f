package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A job that is to run after others is held until what it waits for has happened.
// What it waits for stands in its record, in the numbers of earlier jobs, so that
// nothing can wait for itself, and everything else follows from the records: after
// a restart it is worked out again. Another job has ended, to those who wait for
// it, when its results are home.

// want is a dependency as it was resolved: the job or the array that is meant.
type want struct {
	store.Wait
	each bool // the element with the same index
	ref  string
}

// resolve finds the jobs that a new one is to wait for.
func (b *Broker) resolve(ctx context.Context, spec *jobfile.Job) ([]want, error) {
	var list []want
	for i := range spec.After {
		d := &spec.After[i]
		if d.When == jobfile.Alone {
			continue // follows from what runs when it is taken in
		}
		rec, whole, err := b.meant(ctx, d)
		if err != nil {
			return nil, err
		}
		w := want{Wait: store.Wait{Job: rec.ID, When: d.When}, each: d.Each, ref: d.Job}
		if whole && rec.Parent != 0 {
			w.Job, w.Array = rec.Parent, true
		}
		switch {
		case d.Each && !w.Array:
			return nil, &badinput.Error{Field: "after", Value: d.Job, Want: "an array (aftercorr: each job waits for the one with its own index)"}
		case d.Each && spec.Array.Len() == 0:
			return nil, &badinput.Error{Field: "after", Value: d.Job, Want: "aftercorr only in a job that is an array itself"}
		}
		list = append(list, w)
	}
	return list, nil
}

// meant finds the job of a number or a name; whole says that its array is meant,
// if it is in one.
func (b *Broker) meant(ctx context.Context, d *jobfile.Dependency) (rec *store.Job, whole bool, err error) {
	unknown := &badinput.Error{Field: "after", Value: d.Job, Problem: "no such job (godwit ps --all lists all jobs)"}
	id, index, inArray, numbered := d.Number()
	if !numbered {
		rec, err = b.newest(ctx, d.Job)
		if rec == nil && err == nil {
			err = unknown
		}
		return rec, true, err
	}
	_, v, err := b.find(ctx, strconv.FormatInt(id, 10))
	switch {
	case err != nil && badinput.Is(err), err == nil && !b.owns(ctx, &v.Job): // what another's job wrote is not handed on
		return nil, false, unknown
	case err != nil:
		return nil, false, err
	}
	if !inArray {
		return &v.Job, v.Parent == v.ID, nil // the number of an array is that of its first job
	}
	if v.Parent == v.ID && v.Spec != nil {
		if n := slices.Index(v.Spec.Array.Indices(), index); n >= 0 {
			element := v.Job
			element.ID += core.JobID(n)
			return &element, false, nil
		}
	}
	return nil, false, unknown
}

// newest is the newest job of a name; nil if there is none.
func (b *Broker) newest(ctx context.Context, name string) (*store.Job, error) {
	const few = 500 // most are found among them
	for _, limit := range []int{few, 0} {
		jobs, err := b.opt.Store.Jobs(ctx, store.Filter{Limit: limit})
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			if jobs[i].Spec != nil && jobs[i].Spec.Name == name && b.owns(ctx, &jobs[i]) {
				return &jobs[i], nil
			}
		}
		if len(jobs) < few {
			break
		}
	}
	return nil, nil
}

// waitsOf is what each of the jobs with these indices waits for.
func (t *turn) waitsOf(owner User, spec *jobfile.Job, wants []want, indices []int) ([][]store.Wait, error) {
	var shared []store.Wait
	lists := make([][]store.Wait, len(indices))
	for _, w := range wants {
		if !w.each {
			shared = append(shared, w.Wait)
			continue
		}
		others, err := t.elements(w.Job)
		if err != nil {
			return nil, err
		}
		for n, index := range indices {
			id, ok := others[index]
			if !ok {
				return nil, &badinput.Error{Field: "after", Value: w.ref, Want: fmt.Sprintf("an array that has an index %d too", index)}
			}
			lists[n] = append(lists[n], store.Wait{Job: id, When: w.When})
		}
	}
	if slices.ContainsFunc(spec.After, func(d jobfile.Dependency) bool { return d.When == jobfile.Alone }) {
		shared = append(shared, t.namesakes(owner, spec.Name)...)
	}
	for n := range lists {
		lists[n] = append(lists[n], shared...)
	}
	return lists, nil
}

// elements are the jobs of an array by their indices.
func (t *turn) elements(array core.JobID) (map[int]core.JobID, error) {
	list := map[int]core.JobID{}
	return list, t.members(awaitedKey{array, true}, func(rec *store.Job, _ bool) { list[rec.Index] = rec.ID })
}

// namesakes are the jobs of a user and a name that are not over.
func (t *turn) namesakes(owner User, name string) []store.Wait {
	var list []store.Wait
	for id, a := range t.b.partial {
		if a.pending() > 0 && a.Spec.Name == name && a.Template.Owner == owner.ID {
			list = append(list, store.Wait{Job: id, Array: true, When: jobfile.Over})
		}
	}
	for id, j := range t.b.jobs {
		if j.spec != nil && !j.over && j.spec.Name == name && j.rec.Owner == owner.ID {
			list = append(list, store.Wait{Job: id, When: jobfile.Over})
		}
	}
	slices.SortFunc(list, func(a, b store.Wait) int { return int(a.Job - b.Job) })
	return list
}

// awaitedKey is a job, or an array by its number.
type awaitedKey struct {
	id    core.JobID
	array bool
}

func keyOf(w store.Wait) awaitedKey { return awaitedKey{w.Job, w.Array} }

// awaited is a job, or all jobs of an array, for which others wait.
type awaited struct {
	name   string
	left   int        // of its jobs, that are not over
	fresh  int        // that have not begun either
	bad    int        // that did not end well
	badOne core.JobID // one of these
	by     map[*job]bool
}

// verdict says whether what is waited for has happened, or never will.
func (a *awaited) verdict(when jobfile.When) (met, never bool) {
	switch when {
	case jobfile.Begun:
		return a.fresh == 0, false
	case jobfile.Over:
		return a.left == 0, false
	case jobfile.Failed:
		return a.left == 0 && a.bad > 0, a.left == 0 && a.bad == 0
	}
	return a.left == 0 && a.bad == 0, a.bad > 0
}

// members calls f with the record of every job that a key means, and whether it
// is over.
func (t *turn) members(key awaitedKey, f func(rec *store.Job, over bool)) error {
	live := func(j *job) bool { return j != nil && j.spec != nil }
	if !key.array {
		j := t.b.jobs[key.id]
		if j == nil {
			j = t.elementOf(As(t.b.ctx, User{}), key.id)
		}
		if live(j) {
			f(&j.rec, j.over)
			return nil
		}
		rec, err := t.b.opt.Store.Job(t.b.ctx, strconv.FormatInt(int64(key.id), 10))
		if err != nil {
			return err
		}
		f(rec, true)
		return nil
	}
	left := -1 // of its jobs, to be found elsewhere; -1: nobody knows
	if a := t.b.partial[key.id]; a != nil {
		left = a.Count
		for n := a.Next; n < a.Count; n++ {
			if a.isPending(n) {
				rec := a.element(n)
				f(&rec, false)
				left--
			}
		}
	}
	for _, j := range t.b.jobs { // counted, in whatever order
		if live(j) && j.rec.Parent == key.id {
			if left < 0 {
				left = j.spec.Array.Len()
			}
			left--
			f(&j.rec, j.over)
		}
	}
	if left == 0 {
		return nil
	}
	stored, err := t.b.opt.Store.Jobs(t.b.ctx, store.Filter{Parent: key.id})
	for i := range stored {
		if !live(t.b.jobs[stored[i].ID]) {
			f(&stored[i], true)
		}
	}
	return err
}

// await puts a job among those who wait for others.
func (t *turn) await(j *job) error {
	for _, w := range j.rec.After {
		key := keyOf(w)
		a := t.b.awaited[key]
		if a == nil {
			a = &awaited{by: map[*job]bool{}}
			if err := t.members(key, func(rec *store.Job, over bool) { a.count(rec, over) }); err != nil {
				return err
			}
			t.b.awaited[key] = a
		}
		a.by[j] = true
	}
	j.awaits, j.held = true, true
	return nil
}

func (a *awaited) count(rec *store.Job, over bool) {
	if rec.Spec != nil {
		a.name = rec.Spec.Name
	}
	if !over {
		a.left++
		if rec.Started == 0 {
			a.fresh++
		}
		return
	}
	a.ended(rec)
}

func (a *awaited) ended(rec *store.Job) {
	if rec.State != core.Done {
		a.bad++
		a.badOne = rec.ID
	}
}

// leave takes a job from among those who wait.
func (t *turn) leave(j *job) {
	j.awaits = false
	for _, w := range j.rec.After {
		if a := t.b.awaited[keyOf(w)]; a != nil {
			delete(a.by, j)
			if len(a.by) == 0 {
				delete(t.b.awaited, keyOf(w))
			}
		}
	}
}

// waitsFirst reports whether a new job has to wait for others, or for a moment,
// or ends here because what it waits for can never happen.
func (t *turn) waitsFirst(j *job) bool {
	if len(j.rec.After) == 0 && j.rec.NotBefore == 0 {
		return false
	}
	if err := t.await(j); err != nil {
		t.endHeld(j, 1, "dependency not found: "+err.Error())
		return true
	}
	return !t.consider(j)
}

// consider looks at what a job waits for. It reports whether it need not wait any
// longer.
func (t *turn) consider(j *job) bool {
	if !j.awaits {
		return false
	}
	open := ""
	for _, w := range j.rec.After {
		a := t.b.awaited[keyOf(w)]
		met, never := a.verdict(w.When)
		if never {
			t.endHeld(j, 1, a.neverWhy(w))
			return false
		}
		if !met && open == "" {
			open = a.openWhy(w)
		}
	}
	if open == "" && t.now < j.rec.NotBefore {
		open = "start time not reached: " + time.Unix(0, int64(j.rec.NotBefore)).Format("2006-01-02 15:04:05")
		t.atMoment(j)
	}
	if open == "" {
		t.leave(j)
		return true
	}
	if j.rec.Reason != open {
		j.rec.Reason = open
		t.explain(j, "wait", "", open, nil)
		t.touch(j)
	}
	return false
}

// atMoment looks at a job again when its moment has come.
func (t *turn) atMoment(j *job) {
	wait := j.rec.NotBefore.Sub(t.now)
	t.after(func() {
		t.b.goBeside(func(ctx context.Context) {
			if pause(ctx, wait) {
				t.b.tell(func(t *turn) { t.reconsider([]*job{j}) })
			}
		})
	})
}

func (a *awaited) called(w store.Wait) string {
	what := fmt.Sprintf("job %d", w.Job)
	if w.Array {
		what = fmt.Sprintf("array %d", w.Job)
	}
	if a.name != "" {
		what += " (" + a.name + ")"
	}
	return what
}

func (a *awaited) openWhy(w store.Wait) string {
	text := "waiting for " + a.called(w) + " to "
	switch w.When {
	case jobfile.Begun:
		return text + "start (after)"
	case jobfile.Over:
		return text + "end (afterany)"
	case jobfile.Failed:
		return text + "fail (afternotok)"
	}
	return text + "complete successfully (afterok)"
}

func (a *awaited) neverWhy(w store.Wait) string {
	if w.When == jobfile.Failed {
		return "dependency never satisfied: " + a.called(w) + " completed (afternotok)"
	}
	what := a.called(w)
	if w.Array {
		what = fmt.Sprintf("job %d of %s", a.badOne, what)
	}
	return "dependency never satisfied: " + what + " failed (afterok)"
}

// endHeld ends a job that was never handed to the engine.
func (t *turn) endHeld(j *job, code int, why string) {
	t.leave(j)
	j.held = false
	j.rec.State, j.rec.Ended, j.rec.Code, j.rec.Reason, j.rec.StagedOut = core.Cancelled, t.now, code, why, true
	t.explain(j, "end", core.Cancelled.String(), why, nil)
	t.touch(j)
	t.finished(j)
	t.countOut(j)
}

// begun tells those who wait for it that a job has started.
func (t *turn) begun(j *job) {
	if a := t.b.arrayOf(&j.rec); a != nil && j.isCounted {
		a.load.Queued--
		t.fill(a)
	}
	t.tellWaiters(j, func(a *awaited) { a.fresh-- })
}

// finished notes that a job is over and its results are home, and tells those who
// wait for it.
func (t *turn) finished(j *job) {
	if j.over {
		return
	}
	j.over = true
	t.b.ending[j.rec.ID] = j
	t.b.count(j.rec.Owner, -1)
	t.tidyOutgoing(j)
	t.tellWaiters(j, func(a *awaited) {
		a.left--
		if j.rec.Started == 0 {
			a.fresh--
		}
		a.ended(&j.rec)
	})
}

// tellWaiters notes what happened to a job. Those who wait for it look again if
// that can mean something to them: of a large array most ends do not.
func (t *turn) tellWaiters(j *job, note func(*awaited)) {
	var list []*job
	for _, a := range t.awaitedOf(j) {
		before := a.stage()
		note(a)
		if a.stage() != before {
			list = append(list, a.waiters()...)
		}
	}
	t.reconsider(list)
}

// stage is all of it that a verdict depends on.
func (a *awaited) stage() [3]bool { return [3]bool{a.left == 0, a.fresh == 0, a.bad > 0} }

// waiters are the jobs that wait, the oldest first.
func (a *awaited) waiters() []*job {
	return slices.SortedFunc(maps.Keys(a.by), func(a, b *job) int { return int(a.rec.ID - b.rec.ID) })
}

func (t *turn) awaitedOf(j *job) []*awaited {
	var list []*awaited
	for _, key := range []awaitedKey{{j.rec.ID, false}, {j.rec.Parent, true}} {
		if a := t.b.awaited[key]; a != nil {
			list = append(list, a)
		}
	}
	return list
}

// reconsider lets those in that need not wait any longer.
func (t *turn) reconsider(list []*job) {
	arrays := map[core.JobID]*array{}
	for _, j := range list {
		if t.consider(j) {
			j.rec.Reason = ""
			t.touch(j)
			t.makeReady(j)
			if a := t.b.arrayOf(&j.rec); a != nil {
				arrays[j.rec.Parent] = a
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(arrays)) {
		t.fill(arrays[id])
	}
}

// awaitAgain works out after a restart who waits for whom.
func (t *turn) awaitAgain() {
	var list []*job
	for _, j := range t.b.jobs {
		if j.held && (len(j.rec.After) > 0 || j.rec.NotBefore > t.now) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *job) int { return int(a.rec.ID - b.rec.ID) })
	sameFolder(list)
	for _, j := range list {
		if err := t.await(j); err != nil {
			t.endHeld(j, 1, "dependency not found: "+err.Error())
		}
	}
	for _, j := range list {
		t.consider(j) // who need not wait is let in with all others
	}
}
