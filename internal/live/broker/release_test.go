package broker_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
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
	const n = 700
	d, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	g := newGridWith(t, d)
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
	home, work := t.TempDir(), pushed(t, d, "in")
	submit := func(spec *jobfile.Job) []core.JobID {
		t.Helper()
		spec.Workdir = home
		ids, err := g.broker().SubmitJob(t.Context(), spec, work)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	first := submit(complete(jobfile.Job{}))[0]
	array := arrayOf(n)
	array.After = after(jobfile.WentWell, first)
	ids := submit(array)
	last := submit(complete(jobfile.Job{After: after(jobfile.WentWell, ids[n/2])}))[0] // gets it by way of the array
	g.settled(rows)
	armed.Store(true)
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Ended, Result: pushed(t, d, "in", "out")})
	if got := g.stopped(); !errors.Is(got, errCrash) {
		t.Fatalf("the broker ended with %v", got)
	}
	if handed.Load() > 10 {
		t.Errorf("%d records were written to hand over the results", handed.Load())
	}
	g.store = rows.Store
	g.up()
	for _, id := range ids {
		g.waitsNoMore(id)
		rec, err := g.store.FindJob(t.Context(), fmt.Sprint(id))
		if err != nil {
			t.Fatal(err)
		}
		if !g.filesOf(rec.Work)["out"] {
			t.Fatalf("job %d begins with %v", id, g.filesOf(rec.Work))
		}
	}
	rec, err := g.store.FindJob(t.Context(), fmt.Sprint(last))
	if err != nil || !g.filesOf(rec.Work)["out"] {
		t.Errorf("job %d begins with %v, %v", last, g.filesOf(rec.Work), err)
	}
}
