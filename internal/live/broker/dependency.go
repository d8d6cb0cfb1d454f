package broker

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A job that is to run after others is held by the engine until what it waits for
// has happened. Here references are resolved to the numbers of earlier jobs, so that
// nothing can wait for itself, and the engine is told how these are doing when the job
// is submitted, and when they end. Another job has ended, to those who wait for it,
// when its results are home.

// resolvedDependency is a dependency as it was resolved: the job or the array that is meant.
type resolvedDependency struct {
	store.Wait
	each bool // the element with the same index

	indices jobfile.ArrayRange // of an array
	list    []int              // these, if they are no single range
}

// arraySize is how many jobs are meant.
func (d *resolvedDependency) arraySize() int {
	if d.list != nil {
		return len(d.list)
	}
	return max(1, d.indices.Len())
}

// hasIndices says whether an array has all indices of another, and else which not.
func (d *resolvedDependency) hasIndices(of jobfile.ArrayRange) (missing int, ok bool) {
	for _, index := range of.Indices() {
		if _, ok := positionOf(d.indices, d.list, index); !ok {
			return index, false
		}
	}
	return 0, true
}

// resolveDependencies finds the jobs that a new one is to wait for.
func (b *Broker) resolveDependencies(ctx context.Context, spec *jobfile.Job) ([]resolvedDependency, error) {
	var list []resolvedDependency
	for i := range spec.After {
		d := &spec.After[i]
		if d.When == jobfile.Alone {
			continue // follows from what runs when it is taken in
		}
		rec, whole, err := b.findDependency(ctx, d)
		if err != nil {
			return nil, err
		}
		w := resolvedDependency{Wait: store.Wait{Job: rec.ID, When: d.When}, each: d.Each}
		if whole && rec.Parent != 0 {
			w.Job, w.Array = rec.Parent, true
			if rec.Spec != nil {
				w.indices, w.list = rec.Spec.Array, indexList(rec.Spec.Array)
			}
		}
		switch {
		case d.Each && !w.Array:
			return nil, &badinput.Error{Field: "after", Value: d.Job,
				Want: "an array (aftercorr: each job waits for the one with its own index)"}
		case d.Each && spec.Array.Len() == 0:
			return nil, &badinput.Error{Field: "after", Value: d.Job, Want: "aftercorr only in a job that is an array itself"}
		}
		if d.Each {
			if index, ok := w.hasIndices(spec.Array); !ok {
				return nil, &badinput.Error{Field: "after", Value: d.Job,
					Want: fmt.Sprintf("an array that has an index %d too", index)}
			}
		}
		list = append(list, w)
	}
	return list, nil
}

// findDependency finds the job of a number or a name; whole says that its array is meant,
// if it is in one.
func (b *Broker) findDependency(ctx context.Context, d *jobfile.Dependency) (rec *store.Job, whole bool, err error) {
	unknown := &badinput.Error{Field: "after", Value: d.Job, Problem: "no such job (godwit ps --all lists all jobs)"}
	id, index, inArray, numbered := d.JobNumber()
	if !numbered {
		rec, err = b.latestJobNamed(ctx, d.Job)
		if rec == nil && err == nil {
			err = unknown
		}
		return rec, true, err
	}
	_, v, err := b.findJob(ctx, strconv.FormatInt(id, 10))
	switch {
	// what another's job wrote is not handed on
	case err != nil && badinput.Is(err), err == nil && !b.ownsJob(ctx, &v.Job):
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

// latestJobNamed is the newest job of a name; nil if there is none.
func (b *Broker) latestJobNamed(ctx context.Context, name string) (*store.Job, error) {
	const few = 500 // most are found among them
	for _, limit := range []int{few, 0} {
		jobs, err := b.opt.Store.ListJobs(ctx, store.Filter{Limit: limit})
		if err != nil {
			return nil, err
		}
		for i := range jobs {
			if jobs[i].Spec != nil && jobs[i].Spec.Name == name && b.ownsJob(ctx, &jobs[i]) {
				return &jobs[i], nil
			}
		}
		if len(jobs) < few {
			break
		}
	}
	return nil, nil
}

// sharedWaits is what all jobs of a submission wait for.
func (t *turn) sharedWaits(owner User, spec *jobfile.Job, wants []resolvedDependency) []store.Wait {
	var list []store.Wait
	for i := range wants {
		if !wants[i].each {
			list = append(list, wants[i].Wait)
		}
	}
	if slices.ContainsFunc(spec.After, func(d jobfile.Dependency) bool { return d.When == jobfile.Alone }) {
		list = append(list, t.liveNamesakes(owner, spec.Name)...)
	}
	return list
}

// eachWaitsFor is what the job with an index waits for in arrays that have it too.
func eachWaitsFor(wants []resolvedDependency, index int) []store.Wait {
	var list []store.Wait
	for i := range wants {
		w := &wants[i]
		if n, ok := positionOf(w.indices, w.list, index); ok && w.each {
			list = append(list, store.Wait{Job: w.Job + core.JobID(n), When: w.When})
		}
	}
	return list
}

// eachWaitsOf is the same for all indices, as an array keeps it.
func eachWaitsOf(wants []resolvedDependency) []store.EachWait {
	var list []store.EachWait
	for i := range wants {
		if w := &wants[i]; w.each {
			list = append(list, store.EachWait{Array: w.Job, Indices: w.indices, When: w.When})
		}
	}
	return list
}

// liveNamesakes are the jobs of a user and a name that are not over.
func (t *turn) liveNamesakes(owner User, name string) []store.Wait {
	var list []store.Wait
	arrays := map[core.JobID]bool{} // an array may have very many: it is waited for as one
	addArray := func(id core.JobID) {
		if !arrays[id] {
			arrays[id] = true
			list = append(list, store.Wait{Job: id, Array: true, When: jobfile.Over})
		}
	}
	for id, a := range t.b.partial {
		if a.pendingCount() > 0 && a.Spec.Name == name && a.Template.Owner == owner.ID {
			addArray(id)
		}
	}
	for id, j := range t.b.jobs {
		switch {
		case j.spec == nil || j.over || j.spec.Name != name || j.rec.Owner != owner.ID:
		case j.rec.Parent != 0:
			addArray(j.rec.Parent)
		default:
			list = append(list, store.Wait{Job: id, When: jobfile.Over})
		}
	}
	slices.SortFunc(list, func(a, b store.Wait) int { return int(a.Job - b.Job) })
	return list
}

// targetKey is a job, or an array by its number.
type targetKey struct {
	id    core.JobID
	array bool
}

func keyOf(w store.Wait) targetKey { return targetKey{w.Job, w.Array} }

// conditions are those of the engine.
var conditions = map[jobfile.When]core.Condition{jobfile.WentWell: core.AfterOK, jobfile.Over: core.AfterAny,
	jobfile.Failed: core.AfterNotOK, jobfile.Begun: core.AfterStart}

// engineDependencies is what a job depends on, as the engine is told. targets are those that
// were counted before in the same turn.
func (t *turn) engineDependencies(j *job, targets map[targetKey]core.Target) []core.Dependency {
	var list []core.Dependency
	for _, w := range j.rec.After {
		d := core.Dependency{Job: w.Job, Array: w.Array, When: conditions[w.When]}
		counted, ok := targets[keyOf(w)]
		if !ok {
			counted = t.countTarget(keyOf(w))
			targets[keyOf(w)] = counted
		}
		d.Target = counted
		list = append(list, d)
	}
	return list
}

// reasonText is the reason of an event as users read it: jobs with their names, times
// as on the clock.
func (t *turn) reasonText(j *job, ev *core.Event) string {
	text := ev.WhyText(t.b.clusterName(ev.Cluster))
	number := core.JobID(ev.Why.A)
	switch ev.Why.Code {
	case core.WaitsForSuccess, core.WaitsForEnd, core.WaitsForFailure, core.WaitsForStart, core.DependencyWentWell:
		return strings.Replace(text, fmt.Sprintf("job %d", number), t.targetName(j, number), 1)
	case core.DependencyFailed:
		target := core.JobID(ev.Why.B)
		name := t.targetName(j, target)
		if target != number || strings.HasPrefix(name, "array") {
			name = fmt.Sprintf("job %d of %s", number, name)
		}
		return strings.Replace(text, fmt.Sprintf("job %d", number), name, 1)
	case core.NotStartedAgain:
		return text + ": retry.on is " + strings.Join(j.spec.RetryOn, ", ")
	case core.ExitedNonZero:
		if ev.Why.B > 0 {
			return text + "; " + core.Reason{Code: core.RetriesUsedUp, A: ev.Why.B}.String()
		}
	case core.BeginsLater:
		return text + ": " + time.Unix(0, int64(j.rec.NotBefore)).Format("2006-01-02 15:04:05")
	case core.NoClusterAllowed:
		if j.nowhere != "" {
			return text + ": " + j.nowhere
		}
	}
	return text
}

// targetName is what to call a job, or an array, that another depends on.
func (t *turn) targetName(j *job, id core.JobID) string {
	what := fmt.Sprintf("job %d", id)
	if slices.ContainsFunc(j.rec.After, func(w store.Wait) bool { return w.Job == id && w.Array }) {
		what = fmt.Sprintf("array %d", id)
	}
	var spec *jobfile.Job
	if other := t.b.jobs[id]; other != nil {
		spec = other.spec
	} else if a := t.b.pendingArray(id); a != nil {
		spec = a.Spec
	} else if spec = t.endedSpecs[id]; spec == nil {
		if rec, err := t.b.opt.Store.FindJob(t.b.ctx, strconv.FormatInt(int64(id), 10)); err == nil && rec.Spec != nil {
			spec = rec.Spec
			if t.endedSpecs == nil {
				t.endedSpecs = map[core.JobID]*jobfile.Job{}
			}
			t.endedSpecs[id] = spec // hundreds may have waited for it
		}
	}
	if spec != nil && spec.Name != "" {
		what += " (" + spec.Name + ")"
	}
	return what
}

// heldUp notes that the engine holds a job.
func (t *turn) heldUp(j *job, ev *core.Event, before string) {
	why := t.reasonText(j, ev)
	if ev.Hold == core.HeldDescribe {
		why = ""
	}
	if j.rec.Reason = why; before == why {
		return
	}
	t.touchJob(j)
	switch ev.Hold {
	case core.HeldDependency, core.HeldBegin:
		t.explainJob(j, "wait", "", why, nil)
	case core.HeldNowhere:
		t.explainJob(j, "held", "waiting for other clusters", why, nil)
	}
}

// jobStarted notes that a job has started for the first time.
func (t *turn) jobStarted(j *job) {
	if a := t.b.arrayOf(&j.rec); a != nil {
		a.progress.begun++
		t.uncountJob(j)
		t.fillQueue(a)
	}
}

// jobFinished notes that a job is over and its results are home, and tells the engine if
// somebody waits for it.
func (t *turn) jobFinished(j *job) {
	if j.over {
		return
	}
	j.over = true
	t.b.ending[j.rec.ID] = j
	t.b.countJobs(j.rec.Owner, -1)
	t.tidyOutgoing(j)
	if j.rec.Delivered {
		return
	}
	j.rec.Delivered = true
	if a := t.b.arrayOf(&j.rec); a != nil {
		a.progress.countOver(&j.rec)
	}
	t.touchJob(j)
	if t.b.eng.HasWaiters(j.rec.ID, j.rec.Parent) {
		in := core.Input{Kind: core.Returned, Job: j.rec.ID, Array: j.rec.Parent, Outcome: j.rec.State,
			NeverRan: j.rec.Started == 0}
		t.stepEngine(&in)
	}
}
