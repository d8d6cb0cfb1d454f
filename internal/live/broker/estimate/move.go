package estimate

import (
	"context"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// MovingJob is a job that runs and may be moved.
type MovingJob struct {
	ID      core.JobID
	Cluster string // where it is
	Spec    *jobfile.Job
	Vitals  *wire.Vitals
	work    predict.Demand // that it has left if it is moved
}

// FindWork finds out what a job has left if it is moved: from where it is, or all of it
// if it cannot be saved. False if that is not known.
func (e *Estimator) FindWork(ctx context.Context, j *MovingJob) bool {
	if j.Vitals.Method == "restart" {
		j.work, _ = e.JobNeed(ctx, j.Spec)
		return j.work.IsKnown()
	}
	d, ok := predict.FromQuantiles(j.Vitals.Work)
	j.work = predict.Demand{Work: d, Waiting: j.Vitals.Waiting}
	return ok
}

// MoveAlternatives is what would become of a job in the other clusters where it may run, all if none is named, once
// FindWork knows what it has left. bring is how long it takes to bring its inputs to each.
func (e *Estimator) MoveAlternatives(ctx context.Context, j *MovingJob, allowed []core.ClusterID,
	bring []time.Duration) []core.Alternative {
	rows, err := e.past.ListTransfers(ctx, store.Past{Limit: history.EstimateRows})
	if err != nil {
		rows = nil // what is guessed has to do
	}
	var moves []core.Alternative
	for _, c := range e.grid.OfferedClusters() {
		if c.Name == j.Cluster || len(allowed) > 0 && !slices.Contains(allowed, c.ID) || c.OutOfReach() != nil ||
			c.DrainText() != "" {
			continue
		}
		overhead := e.moveOverhead(rows, j, c)
		cost := e.costParts(rows, j, overhead.Median())
		if c.Managed {
			wait, _ := e.queueWait(ctx, c, j.Spec)
			if !wait.IsKnown() {
				continue // nobody knows when it would begin: no reason to go there
			}
			overhead = predict.Sum(overhead, wait)
			cost.Schedule += wait.Median()
		}
		if int(c.ID) < len(bring) && bring[c.ID] > 0 {
			overhead = predict.Sum(overhead,
				predict.LogNormal(bring[c.ID].Seconds(), bringSpread(e.grid.ForecastWay("", c.Name))))
		}
		cost.Redistribute += max(0, overhead.Median()-cost.TotalSeconds())
		left := j.work.RuntimeElsewhere(c.Speed, max(1, j.Spec.Min), c.expectedShare(ctx), overhead)
		moves = append(moves, core.Alternative{Cluster: c.ID, Left: left.Quantiles(), Overhead: overhead.Median(),
			Cost: cost})
	}
	return moves
}
