package broker_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Short jobs wait for 5 to 14 s, long ones for 100 times that.
func TestAQuoteCountsTheWaitsOfJobsOfTheSameClass(t *testing.T) {
	g := newGrid(t)
	g.kill()
	g.a.own = true
	batch := &store.Batch{}
	for i := range 300 {
		for n, kind := range []struct{ length, factor float64 }{{30, 1}, {3000, 100}} {
			at := core.AtSecond(float64(1000 * i))
			wait := time.Duration(kind.factor * float64(5+i%10) * float64(time.Second))
			batch.Runs = append(batch.Runs,
				history.Run{Job: core.JobID(10_000 + 2*i + n), Epoch: 1, Cluster: "a", User: "u", Program: "p", Procs: 1, Speed: 1,
					Length:  kind.length,
					Outcome: history.Finished, Requested: at, Started: at.Add(wait), Ended: at.Add(wait + time.Second)})
		}
	}
	if err := g.store.CommitBatch(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	g.up()
	for _, c := range []struct {
		spec jobfile.Job
		want string
		most float64
	}{
		{jobfile.Job{Estimate: 20 * time.Second},
			"the last 300 jobs of up to a minute with one core waited 10 s on average, nine of ten at most 14 s", 14},
		{jobfile.Job{Time: 50 * time.Minute},
			"the last 300 jobs of up to an hour with one core waited 950 s on average, nine of ten at most 1400 s", 1400},
		{jobfile.Job{Estimate: 9 * time.Hour}, "the last 600 jobs waited 480 s on average", 1400},
	} {
		quotes, err := g.broker().QuoteJob(t.Context(), complete(c.spec))
		if err != nil || len(quotes) == 0 {
			t.Fatal(quotes, err)
		}
		i := slices.IndexFunc(quotes, func(q broker.Quote) bool { return q.Cluster == "a" })
		if q := quotes[i]; !strings.Contains(q.Reason, c.want) || q.Wait.Quantile(0.9) > c.most {
			t.Errorf("%s; nine of ten wait at most %g s", q.Reason, q.Wait.Quantile(0.9))
		}
	}
	past, err := g.broker().ListHistory(t.Context(), "")
	if err != nil || len(past) != 3 || past[0].Program != "(queue: jobs of up to a minute with one core)" ||
		len(past[0].Runs) != 300 {
		t.Errorf("%d, %v: %+v", len(past), err, past[0].Program)
	}
}
