package estimate

import (
	"cmp"
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// How far a manager's forecast of the beginning is to be trusted: it knows its
// queue, not when those who run will really end.
const (
	forecastSpread  = 0.7 // standard deviation of the logarithm
	minStartSeconds = 1   // seconds that a start takes even where nobody waits
)

// MinWaits is how many waits must be known before they say anything.
const MinWaits = 5

// recentWaits is how many runs of a cluster are looked at for that: enough for
// several classes of jobs.
const recentWaits = 4 * history.EstimateRows

// RequestedSeconds is for how many seconds a job asks a cluster's queue for processors; 0
// if it does not say.
func RequestedSeconds(spec *jobfile.Job) float64 {
	return cmp.Or(spec.Estimate, spec.Time).Seconds()
}

// queueWait is how long a job would wait in the cluster's own queue, and how
// that is known: the manager's own forecast, else what others of ours waited.
func (e *Estimator) queueWait(ctx context.Context, c *Cluster, spec *jobfile.Job) (predict.Dist, string) {
	if manager, ok := c.Driver.(driver.Estimator); ok {
		w, err := manager.EstimateWait(ctx, driver.Need{Procs: max(1, spec.Min), Nodes: spec.Nodes, Memory: spec.Memory,
			Time: spec.Time})
		if err == nil && w.Known {
			return predict.LogNormal(max(minStartSeconds, w.Seconds), forecastSpread), w.Why
		}
	}
	rows, err := e.past.ListRuns(ctx, store.Past{Cluster: c.Name, Limit: recentWaits})
	if err != nil {
		return predict.Dist{}, "nothing is known of its queue"
	}
	all := history.ClassedWaitsOf(rows)
	class := history.WaitClassOf(e.grid.CurrentTime(), RequestedSeconds(spec), spec.Min)
	waits, like := all.WaitsLike(class)
	if waits.Count() < MinWaits {
		return predict.Dist{}, "nothing is known of its queue yet"
	}
	if like != "" {
		like = " " + like
	}
	why := fmt.Sprintf("the last %d jobs%s waited %.0f s on average", waits.Count(), like, waits.Mean())
	if bound, ok := all.UpperBound(class, 0.9, 0.95); ok {
		why += fmt.Sprintf(", nine of ten at most %.0f s", bound)
	}
	d, ok := predict.FromQuantiles(waits.Quantiles())
	if !ok {
		return predict.Point(max(minStartSeconds, waits.Mean())), why
	}
	return d, why
}
