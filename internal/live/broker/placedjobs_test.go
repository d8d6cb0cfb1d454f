package broker_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// load is what clusters say of themselves: jobs that run, that wait there, and cores
// that are free.
func (g *grid) load() (load [3]int) {
	g.t.Helper()
	list, err := g.broker().ListClusters(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, c := range list {
		load[0], load[1], load[2] = load[0]+c.Running, load[1]+c.Waiting, load[2]+c.Idle
	}
	return load
}

func TestClustersKnowTheirJobsAfterARestartToo(t *testing.T) {
	g := newGrid(t)
	var jobs []core.JobID
	for range 7 { // there is room for four
		jobs = append(jobs, g.submit(jobfile.Job{}))
	}
	var begun []*attempt
	for range 4 {
		begun = append(begun, g.next())
	}
	begun[0].run()
	g.until(begun[0].Job, core.Running)
	want := [3]int{1, 3, 0}
	if got := g.load(); got != want {
		t.Errorf("running, waiting and idle: %v, want %v", got, want)
	}
	begun[0].untilAcknowledged(t)
	g.kill()
	g.up()
	if got := g.load(); got != want {
		t.Errorf("after a restart: %v, want %v", got, want)
	}
	for _, id := range jobs {
		if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.load(); got != [3]int{0, 0, 4} {
		t.Errorf("when all are cancelled: %v", got)
	}
}

// askedStore counts questions about single jobs.
type askedStore struct {
	store.Store
	asked atomic.Int64
}

func (s *askedStore) ListCheckpoints(ctx context.Context, id core.JobID) ([]wire.Saved, error) {
	s.asked.Add(1)
	return s.Store.ListCheckpoints(ctx, id)
}

func (s *askedStore) ListQuotes(ctx context.Context, f store.Past) ([]history.Quote, error) {
	s.asked.Add(1)
	return s.Store.ListQuotes(ctx, f)
}

// The time to start does not grow with questions about each job that waits.
func TestJobsThatWereNeverPlacedAreNotAskedFor(t *testing.T) {
	g := newGrid(t)
	for range 50 {
		g.submit(jobfile.Job{})
	}
	for range 4 {
		g.next()
	}
	g.kill()
	s := &askedStore{Store: g.store}
	g.store = s
	g.up()
	if n := s.asked.Load(); n == 0 || n > 2*4 {
		t.Errorf("the store was asked about single jobs %d times; four are placed", n)
	}
}

func TestAListOfMoreJobsThanOneTurnLooksAtHasEachOnce(t *testing.T) {
	g := newGrid(t)
	g.submitArray(arrayOf(1100)) // of which a thousand are in the queue
	for range 150 {
		g.submit(jobfile.Job{})
	}
	for _, all := range []bool{false, true} {
		list, err := g.broker().ListJobs(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		total, seen := 0, map[core.JobID]bool{}
		for i := range list {
			if total += max(1, list[i].Pending); seen[list[i].ID] {
				t.Errorf("job %d is listed twice", list[i].ID)
			}
			seen[list[i].ID] = true
		}
		if total != 1250 || len(list) < 1000 {
			t.Errorf("all %v: %d rows stand for %d jobs", all, len(list), total)
		}
	}
}
