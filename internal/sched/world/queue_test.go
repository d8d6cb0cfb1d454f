package world

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// queueTwin is the queue as a plain list.
type queueTwin struct {
	jobs []*Job
	keys map[*Job]key
}

func (q *queueTwin) first(after *Job, want func(key) bool) *Job {
	for _, j := range q.jobs[slices.Index(q.jobs, after)+1:] { // -1+1 for nil
		if want(q.keys[j]) {
			return j
		}
	}
	return nil
}

func TestTheQueueFindsWhatAWalkThroughAListFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, twin := &queue{}, &queueTwin{keys: map[*Job]key{}}
		for id := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(twin.jobs) == 0 || rapid.IntRange(0, 9).Draw(t, "push") < 6 {
				j, k := &Job{spec: &core.Job{ID: core.JobID(id)}}, drawKey(t)
				q.pushJob(j, k)
				twin.jobs = append(twin.jobs, j)
				twin.keys[j] = k
			} else {
				i := rapid.IntRange(0, len(twin.jobs)-1).Draw(t, "remove")
				q.removeJob(twin.jobs[i])
				twin.jobs = slices.Delete(twin.jobs, i, i+1)
			}
			compareQueues(t, q, twin)
		}
	})
}

func drawKey(t *rapid.T) key {
	k := key{need: math.MaxInt32, total: math.MaxInt32, expire: int64(rapid.IntRange(0, 20).Draw(t, "expire"))}
	if n := int32(rapid.IntRange(0, 20).Draw(t, "size")); rapid.Bool().Draw(t, "split") {
		k.total = n
	} else {
		k.need = n
	}
	return k
}

func compareQueues(t *rapid.T, q *queue, twin *queueTwin) {
	if q.count != len(twin.jobs) || q.headJob() != twin.first(nil, isOccupied) {
		t.Fatalf("counts %d, has %d; or another head", q.count, len(twin.jobs))
	}
	var after *Job
	from := int64(math.MinInt64 / 2)
	if n := len(twin.jobs); n > 0 && rapid.Bool().Draw(t, "behind somebody") {
		after = twin.jobs[rapid.IntRange(0, n-1).Draw(t, "after")]
		from = after.ticket
	}
	room, scans := int32(rapid.IntRange(0, 20).Draw(t, "room")), int64(rapid.IntRange(0, 20).Draw(t, "scans"))
	for _, want := range []func(key) bool{
		func(k key) bool { return k.need <= room || k.total <= room+3 },
		func(k key) bool { return k.expire <= scans },
		isOccupied,
	} {
		if got, should := q.firstAfter(from, want), twin.first(after, want); got != should {
			t.Fatalf("found %v, the list has %v", got, should)
		}
	}
}

func TestJobsKeepTheirOrderWhenTheQueueIsRebuilt(t *testing.T) {
	q := &queue{}
	var want []*Job
	for i := range 1000 {
		j := &Job{}
		q.pushJob(j, key{need: 1, total: math.MaxInt32, expire: math.MaxInt64 - 1})
		if i%3 == 0 {
			want = append(want, j)
		} else {
			q.removeJob(j)
		}
	}
	if q.size > 4*len(want) {
		t.Errorf("the tree has %d leaves for %d jobs", q.size, len(want))
	}
	var got []*Job
	for j := q.headJob(); j != nil; j = q.nextJob(j) {
		got = append(got, j)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d jobs are left, want %d, or they changed places", len(got), len(want))
	}
}

func TestAJobIsACandidateOnceItsMinimumCouldFit(t *testing.T) {
	spec := testSpec(20, 20)
	w := New(spec)
	flexible := submitted(2, core.Rigid, core.Component{Min: 30, Max: 30})
	flexible.Spec.Place = core.FlexibleMin
	mustApply(t, w,
		submitted(1, core.Rigid, core.Component{Min: 9, Max: 9}, core.Component{Min: 12, Max: 12}), flexible,
		submitted(3, core.Malleable, core.Component{Min: 5, Max: 40}))
	for id := core.JobID(1); id <= 3; id++ {
		mustApply(t, w, core.Event{Kind: core.JobEnqueued, Job: id, N: 1})
	}
	for _, c := range []struct{ room, total, want int }{
		{4, 4, 0}, {5, 5, 3}, {11, 22, 3}, {12, 20, 1}, {4, 30, 2}, {20, 40, 1},
	} {
		got := 0
		if j := w.NextCandidate(nil, c.room, c.total); j != nil {
			got = int(j.Spec().ID)
		}
		if got != c.want {
			t.Errorf("with %d in one cluster and %d in all the next is %d, want %d", c.room, c.total, got, c.want)
		}
	}
}

func TestAJobThatAClustersOwnQueueTakesNeedsNothingFree(t *testing.T) {
	spec := testSpec(20, 20)
	spec.Clusters[1].Managed = true
	w := New(spec)
	only := submitted(2, core.Rigid, core.Component{Min: 9, Max: 9, Clusters: []core.ClusterID{0}})
	mustApply(t, w, submitted(1, core.Rigid, core.Component{Min: 9, Max: 9}), only,
		core.Event{Kind: core.JobEnqueued, Job: 2}, core.Event{Kind: core.JobEnqueued, Job: 1})
	if j := w.NextCandidate(nil, 0, 0); j == nil || j.Spec().ID != 1 {
		t.Errorf("with nothing free the next is %v, want job 1", j)
	}
}

func TestTriesCountScansAndEnqueueings(t *testing.T) {
	w := testWorld(4)
	ev := submitted(1, core.Rigid, core.Component{Min: 4, Max: 4})
	ev.Spec.MaxTries = 4
	scan := core.Event{Kind: core.QueueScanned}
	mustApply(t, w, ev, core.Event{Kind: core.JobEnqueued, Job: 1, N: 1}, scan, scan)
	j := w.Job(1)
	if w.PlacementTries(j) != 3 || w.OutOfTries(nil) != nil {
		t.Errorf("%d tries after two scans, out of them: %v", w.PlacementTries(j), w.OutOfTries(nil) != nil)
	}
	mustApply(t, w, scan)
	if w.PlacementTries(j) != 4 || w.OutOfTries(nil) != j {
		t.Errorf("%d tries after three scans, out of them: %v", w.PlacementTries(j), w.OutOfTries(nil) != nil)
	}
	mustApply(t, w, started(w, 1, core.Rigid, 0, 4, 4, 4)[1:]...)
	if w.PlacementTries(j) != 0 {
		t.Errorf("%d tries of a job that runs: if it has to come again it begins anew", w.PlacementTries(j))
	}
}
