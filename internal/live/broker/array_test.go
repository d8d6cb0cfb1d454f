package broker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/jobarray"
)

// countingStore counts what the loop writes, and can fail.
type countingStore struct {
	store.Store
	rows, largest atomic.Int64 // records of jobs: in all, and in one batch
	fail          func(*store.Batch) error
}

func (c *countingStore) CommitBatch(ctx context.Context, b *store.Batch) error {
	if c.fail != nil {
		if err := c.fail(b); err != nil {
			return err
		}
	}
	n := int64(len(b.Jobs))
	c.rows.Add(n)
	c.largest.Store(max(c.largest.Load(), n))
	return c.Store.CommitBatch(ctx, b)
}

func (g *grid) countRows() *countingStore {
	g.kill()
	c := &countingStore{Store: g.store}
	g.store = c
	g.up()
	return c
}

func arrayOf(n int) *jobfile.Job {
	return complete(jobfile.Job{Name: "many", Array: jobfile.ArrayRange{First: 10, Last: 10 + 2*(n-1), Step: 2}})
}

func (g *grid) submitArray(spec *jobfile.Job) []core.JobID {
	g.t.Helper()
	ids, err := g.broker().SubmitJob(g.t.Context(), spec, "")
	if err != nil || len(ids) != spec.Array.Len() {
		g.t.Fatalf("submitted %d, %v", len(ids), err)
	}
	return ids
}

// elements are all jobs of an array, by number; each must be there once.
func (g *grid) elements(ids []core.JobID) map[core.JobID]broker.View {
	g.t.Helper()
	list, err := g.broker().SelectJobs(g.t.Context(), []string{fmt.Sprint(ids[0])}, false)
	if err != nil {
		g.t.Fatal(err)
	}
	byID := map[core.JobID]broker.View{}
	for _, v := range list {
		byID[v.ID] = v
	}
	if len(list) != len(ids) || len(byID) != len(ids) {
		g.t.Fatalf("%d elements are listed, %d different ones; want %d", len(list), len(byID), len(ids))
	}
	return byID
}

// What the loop does for an array does not grow with the array.
func TestALargeArrayIsTakenInAsOneRecord(t *testing.T) {
	g := newGrid(t)
	rows := g.countRows()
	const n = 20_000
	ids := g.submitArray(arrayOf(n))
	g.next()
	listed, err := g.broker().ListJobs(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	pending := 0
	for i := range listed {
		pending += listed[i].Pending
	}
	if len(listed) > jobarray.QueueDepth+10 || pending < n-jobarray.QueueDepth-10 {
		t.Errorf("%d jobs are listed, one of them stands for %d", len(listed), pending)
	}
	if live, err := g.broker().CountLive(t.Context()); err != nil || live != n {
		t.Errorf("%d jobs live, %v", live, err)
	}
	g.kill()
	if rows.largest.Load() > 200 || rows.rows.Load() > 5*jobarray.QueueDepth {
		t.Errorf("%d records were written, %d at once", rows.rows.Load(), rows.largest.Load())
	}
	g.up()
	byID := g.elements(ids)
	for k, id := range ids {
		if v := byID[id]; v.Index != 10+2*k || v.Parent != ids[0] || v.State.IsTerminal() || v.Unique == "" {
			t.Fatalf("element %d is %+v", k, v.Job)
		}
	}
}

func TestAnElementThatIsNotQueuedYetIsAJobLikeOthers(t *testing.T) {
	g := newGrid(t)
	ids := g.submitArray(arrayOf(5000))
	last := ids[len(ids)-1]
	unique := g.elements(ids)[ids[4000]].Unique
	v, err := g.broker().GetJob(t.Context(), unique[:12])
	if err != nil || v.ID != ids[4000] || v.Unique != unique || v.Index != 10+2*4000 {
		t.Fatalf("by its unique id: %+v, %v", v, err)
	}
	if v := g.view(last); v.State != core.Submitted || !strings.Contains(v.Reason, "wait in the queue at once") ||
		len(g.explained(last, "submit")) != 1 {
		t.Errorf("the last is %s (%s)", v.State, v.Reason)
	}
	if v, err := g.broker().CancelJob(t.Context(), fmt.Sprint(last)); err != nil || v.State != core.Cancelled {
		t.Fatalf("cancelled: %+v, %v", v, err)
	}
	waiter := g.submit(jobfile.Job{Name: "after",
		After: []jobfile.Dependency{{Job: fmt.Sprint(ids[0], "_", 10+2*4500), When: jobfile.Over}}})
	if v := g.view(waiter); !strings.Contains(v.Reason, fmt.Sprint("job ", ids[4500])) {
		t.Errorf("it waits: %q", v.Reason)
	}
	g.kill()
	g.up()
	if v := g.elements(ids)[last]; v.State != core.Cancelled {
		t.Errorf("after a restart the last is %s", v.State)
	}
	if _, err := g.broker().CancelJob(t.Context(), fmt.Sprint(ids[4500])); err != nil {
		t.Fatal(err)
	}
	if v := g.view(waiter); strings.Contains(v.Reason, "waiting for job") {
		t.Errorf("it still waits: %q", v.Reason)
	}
}

// errCrash is what a store says that its process does not survive.
var errCrash = errors.New("killed")

// A broker that is killed while it takes in an array has all of it afterwards, or
// nothing.
func TestAnArrayIsThereWholeOrNotAtAll(t *testing.T) {
	for killed := range 6 { // at this batch that is about the array
		g := newGrid(t)
		rows := g.countRows()
		var seen atomic.Int64
		rows.fail = func(b *store.Batch) error {
			if len(b.Arrays) > 0 && seen.Add(1) == int64(killed+1) {
				return errCrash
			}
			return nil
		}
		spec := arrayOf(700)
		ids, err := g.broker().SubmitJob(t.Context(), spec, "")
		if (err == nil) != (killed > 0) {
			t.Fatalf("killed at batch %d: submitted %d, %v", killed, len(ids), err)
		}
		if got := g.stopped(); !errors.Is(got, errCrash) {
			t.Fatalf("the broker ended with %v", got)
		}
		g.store = rows.Store
		g.up()
		if live, err := g.broker().CountLive(t.Context()); err != nil || live != len(ids) {
			t.Fatalf("killed at batch %d: %d jobs are there, %v; %d were acknowledged", killed, live, err, len(ids))
		}
		if len(ids) > 0 {
			g.elements(ids)
		}
		if next := g.submit(jobfile.Job{}); len(ids) > 0 && next <= ids[len(ids)-1] {
			t.Errorf("the next job has number %d, the array goes up to %d", next, ids[len(ids)-1])
		}
	}
}

// stopped is what the broker ended with by itself.
func (g *grid) stopped() error {
	g.mu.Lock()
	ended := g.endsWith
	g.stop = nil
	g.mu.Unlock()
	return <-ended
}

func TestEveryElementOfALargeArrayRunsOnce(t *testing.T) {
	g := newGrid(t)
	g.procs = 40
	g.kill()
	g.up()
	spec := arrayOf(350)
	spec.Array.AtOnce = 7
	ids := g.submitArray(spec)
	ran := map[core.JobID]int{}
	var begun []*attempt
	for range spec.Array.AtOnce {
		begun = append(begun, g.next())
	}
	other := g.submit(jobfile.Job{})
	if a := g.next(); a.Job != other { // there is room for it, and for more of the array
		t.Errorf("job %d is started, an eighth of the array", a.Job)
	}
	for i := range ids {
		if i >= len(begun) {
			begun = append(begun, g.next())
		}
		a := begun[i]
		ran[a.Job]++
		if a.Index != 10+2*int(a.Job-ids[0]) || a.Parent != ids[0] {
			t.Fatalf("job %d of array %d runs with index %d", a.Job, a.Parent, a.Index)
		}
		a.run()
		if i == 150 {
			a.untilAcknowledged(t)
			g.kill()
			g.up()
			a.cut()
			a.connect()
		}
		a.end(0)
	}
	for _, id := range ids {
		g.until(id, core.Done)
		if ran[id] != 1 {
			t.Errorf("job %d ran %d times", id, ran[id])
		}
	}
}

func TestWhoWaitsForALargeArrayWaitsForAllOfIt(t *testing.T) {
	g := newGrid(t)
	ids := g.submitArray(arrayOf(1500))
	waiter := g.submit(jobfile.Job{After: []jobfile.Dependency{{Job: fmt.Sprint(ids[0]), When: jobfile.Over}}})
	g.kill()
	g.up()
	var cancelling sync.WaitGroup
	for i, id := range ids {
		if i == len(ids)-1 {
			cancelling.Wait()
			if v := g.view(waiter); !strings.Contains(v.Reason, "waiting for array") {
				t.Errorf("it waits: %q", v.Reason)
			}
		}
		cancelling.Go(func() {
			if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
				t.Error(err)
			}
		})
	}
	cancelling.Wait()
	for a := g.next(); a.Job != waiter; a = g.next() {
		continue // elements that had been started
	}
}

func TestAnArrayThatWaitsIsHeldWhole(t *testing.T) {
	g := newGrid(t)
	first := g.submit(jobfile.Job{})
	spec := arrayOf(jobarray.QueueDepth + 250)
	spec.After = []jobfile.Dependency{{Job: fmt.Sprint(first)}}
	ids := g.submitArray(spec)
	a := g.next()
	a.run()
	a.end(3)
	for _, id := range ids {
		if v := g.until(id, core.Cancelled); !strings.Contains(v.Reason, "never satisfied") {
			t.Fatalf("job %d: %q", id, v.Reason)
		}
	}
}

// What the loop does for an array that waits for another job does not grow with the array
// either, and whoever asks for an element is told what it waits for.
func TestALargeArrayThatWaitsIsTakenInAsOneRecord(t *testing.T) {
	g := newGrid(t)
	rows := g.countRows()
	first := g.submit(jobfile.Job{})
	const n = 20_000
	spec := arrayOf(n)
	spec.After = after(jobfile.Over, first)
	ids := g.submitArray(spec)
	last, why := ids[n-1], fmt.Sprint("waiting for job ", first)
	for range 2 { // with a record of its own after the first time
		if v := g.view(last); !strings.Contains(v.Reason, why) {
			t.Errorf("the last waits: %q", v.Reason)
		}
	}
	for _, v := range g.elements(ids) {
		if v.State != core.Submitted || !strings.Contains(v.Reason, why) {
			t.Fatalf("job %d is %s: %q", v.ID, v.State, v.Reason)
		}
	}
	a := g.next()
	a.run()
	a.end(3)
	g.waitsNoMore(last)
	if v := g.next(); v.Parent != ids[0] {
		t.Errorf("job %d is started", v.Job)
	}
	if v := g.view(ids[n-2]); !strings.Contains(v.Reason, "wait in the queue at once") {
		t.Errorf("the last but one waits: %q", v.Reason)
	}
	g.kill()
	if rows.rows.Load() > n/2 { // each of those in the queue a few times
		t.Errorf("%d records were written", rows.rows.Load())
	}
	g.up()
	g.elements(ids)
}

func TestAUserMayNotHaveAnyNumberOfJobs(t *testing.T) {
	g := newGrid(t)
	g.maxJobs = 300
	g.kill()
	g.up()
	ids := g.submitArray(arrayOf(299))
	g.submit(jobfile.Job{})
	_, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{}), "")
	if !badinput.Is(err) || !strings.Contains(err.Error(), "limits.jobs") || !strings.Contains(err.Error(), "300") {
		t.Fatalf("one too many: %v", err)
	}
	g.kill()
	g.up()
	if _, err := g.broker().SubmitJob(t.Context(), complete(jobfile.Job{}), ""); !badinput.Is(err) {
		t.Fatalf("one too many after a restart: %v", err)
	}
	if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(ids[298])); err != nil {
		t.Fatal(err)
	}
	g.submit(jobfile.Job{})
}
