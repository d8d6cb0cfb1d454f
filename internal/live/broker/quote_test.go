package broker_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// quoteOnA is what cluster a says of a job.
func quoteOnA(t *testing.T, g *grid, spec jobfile.Job) broker.Quote {
	t.Helper()
	quotes, err := g.broker().QuoteJob(t.Context(), complete(spec))
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range quotes {
		if q.Cluster == "a" {
			return q
		}
	}
	t.Fatal("no quote of cluster a")
	return broker.Quote{}
}

func TestAQuoteCountsWhatEarlierRunsWaited(t *testing.T) {
	g := newGrid(t)
	g.kill()
	batch := &store.Batch{}
	for i := range 5 {
		at := core.AtSecond(float64(1000 * i))
		batch.Runs = append(batch.Runs,
			history.Run{Job: core.JobID(1000 + i), Epoch: 1, Cluster: "a", User: "u", Program: "fetch", Args: []string{"x"},
				Procs: 1, Speed: 1,
				Outcome: history.Finished, Requested: at, Started: at, Ended: at.Add(8500 * time.Millisecond), CPU: 0.01,
				Need: 0.01, Busy: 0.01, Idle: 8.49},
			history.Run{Job: core.JobID(2000 + i), Epoch: 1, Cluster: "a", User: "u", Program: "true", Procs: 1, Speed: 1,
				Outcome: history.Finished, Requested: at, Started: at, Ended: at.Add(10 * time.Millisecond), CPU: 0.001,
				Need: 0.001, Busy: 0.001})
	}
	if err := g.store.CommitBatch(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	g.up()
	waits := jobfile.Job{Argv: []string{"fetch", "x"}, Deadline: 5 * time.Second}
	if q := quoteOnA(t, g, waits); q.Chance > 0.05 || math.Abs(q.Run.Median()-8.5) > 0.3 ||
		!strings.Contains(q.Reason, "from 5 runs with the same arguments; it waits 100 % of its time") {
		t.Errorf("a program that took 8.5 s five times is to take %.2f s, chance %.2f: %s", q.Run.Median(), q.Chance,
			q.Reason)
	}
	waits.Deadline = 20 * time.Second
	if q := quoteOnA(t, g, waits); q.Chance < 0.95 {
		t.Errorf("of 20 s it has a chance of %.2f", q.Chance)
	}
	unknown := quoteOnA(t, g, jobfile.Job{Argv: []string{"simulate", "2000"}, Deadline: time.Minute})
	if unknown.Chance != -1 || unknown.Run.IsKnown() || unknown.Finish.IsKnown() ||
		!strings.Contains(unknown.Reason, "unknown run time") {
		t.Errorf("a program that nobody knows has a chance of %v: %s", unknown.Chance, unknown.Reason)
	}
	estimated := quoteOnA(t, g, jobfile.Job{Argv: []string{"simulate", "2000"}, Deadline: time.Minute,
		Estimate: 5 * time.Second})
	if estimated.Chance < 0.9 || !strings.Contains(estimated.Reason, "user estimate: 5 s CPU") {
		t.Errorf("with an estimate of 5 s the chance is %v: %s", estimated.Chance, estimated.Reason)
	}
}
