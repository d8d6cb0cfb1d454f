package broker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// pagedStore notes the most records that were read at once.
type pagedStore struct {
	store.Store
	most atomic.Int64
}

func (s *pagedStore) ListJobs(ctx context.Context, f store.Filter) ([]store.Job, error) {
	list, err := s.Store.ListJobs(ctx, f)
	s.most.Store(max(s.most.Load(), int64(len(list))))
	return list, err
}

// However many jobs a user has had: a list of them is read a few at a time, without what lists
// do not show, and has each once, the newest first.
func TestAListOfVeryManyJobsIsReadAFewAtATime(t *testing.T) {
	g := newGrid(t)
	g.kill()
	s := &pagedStore{Store: g.store}
	g.store = s
	ended := store.Job{User: "u", State: core.Done, Spec: complete(jobfile.Job{Name: "before"})}
	ended.Spec.Env = map[string]string{"LARGE": "environment"}
	const before = 1234
	batch := &store.Batch{}
	for n := range before {
		ended.ID = core.JobID(n + 1)
		ended.Unique = fmt.Sprintf("%032x", n+1)
		batch.Jobs = append(batch.Jobs, ended)
	}
	if err := s.CommitBatch(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	g.up()
	alive := g.submit(jobfile.Job{Name: "alive"})
	g.next().run()
	g.until(alive, core.Running)
	array := g.submitArray(arrayOf(2000)) // most are not queued
	s.most.Store(0)
	seen, last := map[core.JobID]bool{}, core.JobID(1<<62)
	err := g.broker().VisitJobs(t.Context(), true, func(v *broker.View) error {
		if v.ID >= last || v.Spec == nil || v.Spec.Env["LARGE"] != "" {
			t.Errorf("after %d: %d %+v", last, v.ID, v.Spec)
		}
		seen[v.ID], last = true, v.ID
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range core.JobID(before) {
		if !seen[id+1] {
			t.Fatalf("job %d is missing", id+1)
		}
	}
	if most := s.most.Load(); !seen[alive] || !seen[array[0]] || most == 0 || most > 500 {
		t.Errorf("%d records were read at once; alive %v, array %v", most, seen[alive], seen[array[0]])
	}
	s.most.Store(0)
	got, err := g.broker().SelectJobs(t.Context(), []string{fmt.Sprintf("1000-%d", array[1999])}, false)
	if err != nil || len(got) != before-999+1+2000 {
		t.Errorf("%d jobs are selected, %v", len(got), err)
	}
	for i := range got[1:] {
		if got[i+1].ID != got[i].ID+1 {
			t.Fatalf("job %d is selected after job %d", got[i+1].ID, got[i].ID)
		}
	}
	if most := s.most.Load(); most == 0 || most > 500 {
		t.Errorf("%d records were read at once to select jobs", most)
	}
}
