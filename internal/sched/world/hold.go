package world

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/heap"
)

// A job that was submitted may be held: kept out of the placement queue until other
// jobs have ended, its begin time has come, or fewer jobs of its array are placed.

// targetKey names what others depend on: a job, or an array by its first job.
type targetKey struct {
	Job   core.JobID
	Array bool
}

func keyOf(d *core.Dependency) targetKey { return targetKey{d.Job, d.Array} }

// target is what others depend on, and who they are. There is one for each job and
// array that a held job depends on, and no other.
type target struct {
	core.Target
	waiters jobList
}

// arrayLoad is what is placed of an array that has a limit, and what waits for that.
type arrayLoad struct {
	placed int                    // jobs that are placed, or wait for nothing but that
	held   heap.Heap[heldElement] // jobs that are held because of the limit
}

// heldElement is a job of an array that waits for the others: the lowest number first.
type heldElement core.JobID

func (e heldElement) IsBefore(f heldElement) bool { return e < f }

// SetPosition does nothing: it is nearly always the first that is taken out.
func (heldElement) SetPosition(int) {}

// CurrentHold is what keeps a submitted job out of the placement queue.
func (j *Job) CurrentHold() core.Hold { return j.hold }

// HoldReason is why it does.
func (j *Job) HoldReason() core.Reason { return j.holdWhy }

// WasHeld reports whether something has held the job since it was submitted.
func (j *Job) WasHeld() bool { return j.wasHeld }

// HoldUntil is when a held job is looked at again; 0: when something happens.
func (j *Job) HoldUntil() core.Time { return j.holdUntil }

// IsHeldByUser reports whether the job's user keeps it out of the placement queue.
func (j *Job) IsHeldByUser() bool { return j.userHold }

// IsSuspended reports whether the job's user has its program stopped. Should its attempt be lost, it is not placed
// again until that is over.
func (j *Job) IsSuspended() bool { return j.suspended }

// TargetOf is what a job depends on, as it is now.
func (w *World) TargetOf(d *core.Dependency) core.Target {
	if t := w.targets[keyOf(d)]; t != nil {
		return t.Target
	}
	return d.Target
}

// NextWaiter is the first of the held jobs that depend on a job, or on its array, after
// the one with a number; 0 if there is none.
func (w *World) NextWaiter(job, array, after core.JobID) (next core.JobID) {
	for _, key := range targetKeys(job, array) {
		if t := w.targets[key]; t != nil {
			if id := t.waiters.nextAfter(after); id != 0 && (next == 0 || id < next) {
				next = id
			}
		}
	}
	return next
}

// AwaitedWithin lists the jobs from first on and below end, by number, on which held jobs
// depend; not those on whose array they do.
func (w *World) AwaitedWithin(first, end core.JobID) []core.JobID {
	var list []core.JobID
	if int(end-first) < len(w.targets) {
		for id := first; id < end; id++ {
			if w.targets[targetKey{id, false}] != nil {
				list = append(list, id)
			}
		}
		return list
	}
	for key := range w.targets { // order-free: sorted below
		if !key.Array && key.Job >= first && key.Job < end {
			list = append(list, key.Job)
		}
	}
	slices.Sort(list)
	return list
}

// ReachedTargets lists the jobs and arrays of which some, all or one that failed have
// come to what others wait for: job and array as NextWaiter takes them.
func (w *World) ReachedTargets() [][2]core.JobID {
	var list [][2]core.JobID
	for _, key := range w.sortedTargets() {
		if t := w.targets[key]; t.Unfinished > 0 && t.NotStarted > 0 && t.Failed == 0 {
			continue
		}
		reached := [2]core.JobID{key.Job, 0}
		if key.Array {
			reached[1] = key.Job
		}
		list = append(list, reached)
	}
	return list
}

// TargetState is all that the verdict on a dependency on a job, and on its array,
// can depend on: whether all are finished, all have started, any has failed; false of
// what nobody depends on.
func (w *World) TargetState(job, array core.JobID) (state [2][3]bool) {
	if len(w.targets) == 0 {
		return state
	}
	for i, key := range targetKeys(job, array) {
		if t := w.targets[key]; t != nil {
			state[i] = [3]bool{t.Unfinished == 0, t.NotStarted == 0, t.Failed > 0}
		}
	}
	return state
}

// HasWaiters reports whether a job is held that depends on a job, or on its array.
func (w *World) HasWaiters(job, array core.JobID) bool {
	return len(w.targets) > 0 &&
		slices.ContainsFunc(targetKeys(job, array), func(key targetKey) bool { return w.targets[key] != nil })
}

// targetKeys is what others may depend on a job as; its array is 0 if it is in none.
func targetKeys(job, array core.JobID) []targetKey {
	if array == 0 {
		return []targetKey{{job, false}}
	}
	return []targetKey{{job, false}, {array, true}}
}

// ArrayRoom reports whether the limit of its array lets a job be placed.
func (w *World) ArrayRoom(j *Job) bool {
	if j.spec.ArrayLimit == 0 {
		return true
	}
	placed := 0
	if a := w.arrays[j.spec.Array]; a != nil {
		placed = a.placed
	}
	if takesSlot(j.hold) {
		placed-- // it is one of them itself
	}
	return placed < j.spec.ArrayLimit
}

// NextOfArray is the first job that is held because too many of its array are
// placed; nil if none is.
func (w *World) NextOfArray(array core.JobID) *Job {
	a := w.arrays[array]
	if a == nil || len(a.held) == 0 {
		return nil
	}
	return w.jobs[core.JobID(a.held[0])]
}

// ArraysWithRoom lists the arrays of which another job may be placed that is held because
// of their limit.
func (w *World) ArraysWithRoom() []core.JobID {
	var list []core.JobID
	for _, id := range sortedKeys(w.arrays) {
		if j := w.NextOfArray(id); j != nil && w.ArrayRoom(j) {
			list = append(list, id)
		}
	}
	return list
}

// NextNowhere is the first of the jobs that may run on none of the clusters after the one
// with a number; 0 if there is none.
func (w *World) NextNowhere(after core.JobID) core.JobID { return w.nowhere.nextAfter(after) }

// applyHeld notes that something keeps a job out of the placement queue.
func (w *World) applyHeld(j *Job, ev *core.Event) error {
	if !j.mayBeHeld(ev.Hold) || len(j.parts) > 0 {
		return w.impossibleEvent(ev, "holds a job that does not wait to be placed for the first time")
	}
	w.leaveQueue(j)
	if watchesOthers(j.hold) && watchesOthers(ev.Hold) {
		j.hold = ev.Hold // what it depends on is counted on
	} else {
		w.endHold(j)
		w.beginHold(j, ev.Hold)
	}
	j.holdWhy, j.holdUntil = ev.Why, ev.When
	if ev.When > 0 && ev.When < core.Never {
		w.timers.addTimer(Timer{At: ev.When, Kind: HoldDue, Job: ev.Job, Epoch: j.epoch})
	}
	return nil
}

// mayBeHeld reports whether a job may be kept out of the placement queue by this: before its first attempt by anything,
// later by its user, and then by the limit of its array, since it has given up its place. A begin time may be set
// while it is in the queue.
func (j *Job) mayBeHeld(by core.Hold) bool {
	switch {
	case by == core.HeldUser:
		return j.state.IsWaiting()
	case by == core.HeldArray:
		return j.state.IsWaiting() && !j.queued
	case by == core.HeldBegin:
		return j.state == core.Submitted
	}
	return by > core.NotHeld && by < core.HeldUser && j.state == core.Submitted && !j.queued
}

// leaveQueue takes a job out of the placement queue, if it is there.
func (w *World) leaveQueue(j *Job) {
	if !j.queued {
		return
	}
	j.tries = w.PlacementTries(j)
	w.queue.removeJob(j)
	if j.notBefore > 0 {
		w.putOff--
	}
}

// applyUserHold notes that the user of a job keeps it from being placed, or does not any longer.
func (w *World) applyUserHold(j *Job, ev *core.Event) error {
	held := ev.Kind == core.JobHeldByUser
	if j.userHold == held {
		return w.impossibleEvent(ev, "changes nothing")
	}
	j.userHold = held
	return nil
}

// applySuspended notes that the program of a job is stopped, or goes on. A stopped one answers no offers.
func (w *World) applySuspended(j *Job, ev *core.Event) error {
	suspended := ev.Kind == core.JobSuspended
	if j.suspended == suspended || suspended && j.state != core.Running {
		return w.impossibleEvent(ev, "changes nothing, or stops a program that does not run")
	}
	for _, p := range j.parts {
		if p.heedsPolicy() {
			p.cluster.unlistPart(p)
		}
	}
	j.suspended = suspended
	for _, p := range j.parts {
		if p.heedsPolicy() {
			p.cluster.enlistPart(p)
		}
	}
	return nil
}

// applyUpdated takes over what the user of a job has changed of it. Its size, and what it is part of, stay.
func (w *World) applyUpdated(j *Job, ev *core.Event) error {
	s, was := ev.Spec, j.spec
	if s == nil || ev.Change == nil || s.CheckSpec() != nil || s.ID != was.ID || s.App != was.App || s.Kind != was.Kind ||
		s.Array != was.Array || s.ArrayLimit != was.ArrayLimit || len(s.Components) != len(was.Components) {
		return w.impossibleEvent(ev, "makes another job of it")
	}
	for i := range s.Components {
		for _, c := range s.Components[i].Clusters {
			if c < 0 || int(c) >= len(w.clusters) {
				return w.impossibleEvent(ev, "names a cluster that is not there")
			}
		}
	}
	j.spec = s
	return nil
}

// applyReleased notes that nothing holds a job any longer.
func (w *World) applyReleased(j *Job, ev *core.Event) error {
	if j.hold == core.NotHeld {
		return w.impossibleEvent(ev, "releases a job that nothing holds")
	}
	w.endHold(j)
	w.beginHold(j, core.NotHeld)
	return nil
}

// applyDescribed takes over what is known of a held job by now. Who it is, and what it
// depends on, stays.
func (w *World) applyDescribed(j *Job, ev *core.Event) error {
	s := ev.Spec
	if j.hold != core.HeldDescribe || s == nil || s.CheckSpec() != nil ||
		s.ID != j.spec.ID || s.App != j.spec.App || s.Array != j.spec.Array || s.ArrayLimit != j.spec.ArrayLimit {
		return w.impossibleEvent(ev, "describes another job, or one that is not held for it")
	}
	j.spec = s
	return nil
}

// beginHold enters a job among those that are held by the same.
func (w *World) beginHold(j *Job, hold core.Hold) {
	j.hold, j.wasHeld = hold, j.wasHeld || hold != core.NotHeld
	if takesSlot(hold) {
		w.countPlaced(j, 1)
	}
	switch id := j.spec.ID; hold {
	case core.HeldDependency, core.HeldBegin:
		for i := range j.spec.After {
			d := &j.spec.After[i]
			t := w.targets[keyOf(d)]
			if t == nil {
				t = &target{Target: d.Target}
				w.targets[keyOf(d)] = t
			}
			t.waiters.addJob(id)
		}
	case core.HeldArray:
		w.loadOf(j.spec.Array).held.Push(heldElement(id))
	case core.HeldNowhere:
		w.nowhere.addJob(id)
	}
}

// endHold takes a job from among those that are held by the same.
func (w *World) endHold(j *Job) {
	id, hold := j.spec.ID, j.hold
	j.hold, j.holdWhy, j.holdUntil = core.NotHeld, core.Reason{}, 0
	if takesSlot(hold) {
		w.countPlaced(j, -1)
	}
	switch hold {
	case core.HeldDependency, core.HeldBegin:
		for i := range j.spec.After {
			key := keyOf(&j.spec.After[i])
			if t := w.targets[key]; t != nil {
				t.waiters.removeJob(id)
				if t.waiters.countJobs() == 0 {
					delete(w.targets, key)
				}
			}
		}
	case core.HeldArray:
		a := w.arrays[j.spec.Array]
		a.held.RemoveAt(slices.Index(a.held, heldElement(id)))
		w.forgetLoad(j.spec.Array)
	case core.HeldNowhere:
		w.nowhere.removeJob(id)
	}
}

// watchesOthers reports whether a job that is held by this is told of what it depends
// on: that can still change while it waits for its begin time.
func watchesOthers(hold core.Hold) bool { return hold == core.HeldDependency || hold == core.HeldBegin }

// takesSlot reports whether a job that is held by this counts in the limit of its
// array.
func takesSlot(hold core.Hold) bool { return hold == core.NotHeld || hold == core.HeldDescribe }

func (w *World) loadOf(array core.JobID) *arrayLoad {
	a := w.arrays[array]
	if a == nil {
		a = &arrayLoad{}
		w.arrays[array] = a
	}
	return a
}

func (w *World) forgetLoad(array core.JobID) {
	if a := w.arrays[array]; a != nil && a.placed == 0 && len(a.held) == 0 {
		delete(w.arrays, array)
	}
}

// countPlaced notes that one more job of an array with a limit is placed, or one
// less.
func (w *World) countPlaced(j *Job, n int) {
	if j.spec.ArrayLimit > 0 {
		w.loadOf(j.spec.Array).placed += n
		w.forgetLoad(j.spec.Array)
	}
}

// startedFirst tells those who depend on a job that it runs for the first time.
func (w *World) startedFirst(j *Job) {
	if len(w.targets) == 0 {
		return
	}
	for _, key := range targetKeys(j.spec.ID, j.spec.Array) {
		if t := w.targets[key]; t != nil {
			t.NotStarted = max(0, t.NotStarted-1)
		}
	}
}

// applyReturned tells those who depend on a job that it is over.
func (w *World) applyReturned(ev *core.Event) error {
	if !ev.To.IsTerminal() || ev.Job <= 0 || ev.Array < 0 {
		return w.impossibleEvent(ev, "returns the results of a job that is not over")
	}
	for _, key := range targetKeys(ev.Job, ev.Array) {
		if t := w.targets[key]; t != nil {
			t.CountReturned(ev.Job, ev.To, ev.NeverRan)
		}
	}
	return nil
}
