package broker_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/jobarray"
)

// countReleased counts the jobs in a batch that others held no longer.
func countReleased(b *store.Batch) (n int64) {
	for i := range b.Events {
		if b.Events[i].Kind == core.JobHeld && b.Events[i].Hold == core.HeldDescribe {
			n++
		}
	}
	return n
}

// A large array that waits for one job is given what that job wrote in one record, and is
// released a few elements at a time. A broker that dies meanwhile loses neither.
func TestAWaitingArrayIsReleasedThoughTheBrokerDiesMeanwhile(t *testing.T) {
	const n = jobarray.QueueDepth + 150 // the last have no record yet
	g := newDepotGrid(t)
	g.kill()
	var armed atomic.Bool
	var released, handed atomic.Int64
	rows := &countingStore{Store: g.store, fail: func(b *store.Batch) error {
		if !armed.Load() {
			return nil
		}
		if countReleased(b) == 0 && released.Load() == 0 { // nobody is released yet: the results are handed over
			handed.Store(max(handed.Load(), int64(len(b.Jobs))))
		}
		if released.Add(countReleased(b)) > n/3 {
			return errCrash
		}
		return nil
	}}
	g.store = rows
	g.up()
	home, work := t.TempDir(), pushed(t, g.depot, "in")
	submit := func(spec *jobfile.Job) []core.JobID {
		t.Helper()
		return g.submitIn(home, work, spec)
	}
	first := submit(complete(jobfile.Job{}))[0]
	array := arrayOf(n)
	array.After = after(jobfile.WentWell, first)
	ids := submit(array)
	// these get it by way of the array
	var later []core.JobID
	for _, id := range []core.JobID{ids[n/2], ids[n-1]} {
		later = append(later, submit(complete(jobfile.Job{After: after(jobfile.WentWell, id)}))[0])
	}
	g.filled(rows)
	armed.Store(true)
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Ended, Result: pushed(t, g.depot, "in", "out")})
	if got := g.stopped(); !errors.Is(got, errCrash) {
		t.Fatalf("the broker ended with %v", got)
	}
	if handed.Load() > 10 {
		t.Errorf("%d records were written to hand over the results", handed.Load())
	}
	g.store = rows.Store
	g.up()
	for k, id := range ids {
		g.waitsNoMore(id)
		rec := &g.view(id).Job
		if k < jobarray.QueueDepth { // the others get it from their array when their turn comes
			var err error
			if rec, err = g.store.FindJob(t.Context(), fmt.Sprint(id)); err != nil {
				t.Fatal(err)
			}
		}
		if !g.filesOf(rec.Work)["out"] {
			t.Fatalf("job %d begins with %v", id, g.filesOf(rec.Work))
		}
	}
	for _, id := range later {
		rec, err := g.store.FindJob(t.Context(), fmt.Sprint(id))
		if err != nil || !g.filesOf(rec.Work)["out"] {
			t.Errorf("job %d begins with %v, %v", id, g.filesOf(rec.Work), err)
		}
	}
}

// filled waits until as much of an array is known to the engine as may be.
func (g *grid) filled(rows *countingStore) {
	g.t.Helper()
	next := 0
	waitUntil(g.t, func() bool {
		l, err := rows.LoadState(g.t.Context())
		if err != nil || len(l.Arrays) != 1 {
			g.t.Fatalf("%d arrays, %v", len(l.Arrays), err)
		}
		next = l.Arrays[0].Next
		return next == jobarray.QueueDepth
	}, func() string { return fmt.Sprintf("%d elements have their record", next) })
}

// snapshotStore tells when a snapshot has been stored.
type snapshotStore struct {
	store.Store
	saved chan uint64
}

func (s *snapshotStore) SaveSnapshot(ctx context.Context, upTo uint64, state []byte) error {
	err := s.Store.SaveSnapshot(ctx, upTo, state)
	select {
	case s.saved <- upTo:
	default: // one is enough
	}
	return err
}

// A snapshot of so many jobs that several turns copy them is one that a broker can begin with.
func TestASnapshotOfManyJobsIsCopiedInSeveralTurns(t *testing.T) {
	g := newGrid(t)
	g.kill()
	snapshots := &snapshotStore{g.store, make(chan uint64, 1)}
	g.store = snapshots
	g.up()
	var ids []core.JobID
	for range 4 { // a thousand of each are known to the engine
		ids = append(ids, g.submitArray(arrayOf(jobarray.QueueDepth+50))...)
	}
	var upTo uint64
	select {
	case upTo = <-snapshots.saved:
	case <-time.After(3 * time.Minute):
		t.Fatal("no snapshot is stored")
	}
	for _, id := range ids[:20] {
		if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
			t.Fatal(err)
		}
	}
	g.kill()
	l, err := g.store.LoadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Snapshots) == 0 || l.Snapshots[0].UpTo < upTo {
		t.Fatalf("the store has %d snapshots", len(l.Snapshots))
	}
	g.up()
	n := 0
	waitUntil(t, func() bool { // what is left to do for those that are over is counted too
		if n, err = g.broker().CountLive(t.Context()); err != nil {
			t.Fatal(err)
		}
		return n == len(ids)-20
	}, func() string { return fmt.Sprintf("%d jobs live; want %d", n, len(ids)-20) })
}
