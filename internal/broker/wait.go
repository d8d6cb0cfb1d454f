package broker

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/history"
	"github.com/godwit-hpc/godwit/internal/jobfile"
	"github.com/godwit-hpc/godwit/internal/predict"
	"github.com/godwit-hpc/godwit/internal/store"
)

// How far a manager's forecast of the beginning is to be trusted: it knows its
// queue, not when those who run will really end.
const (
	forecastSpread = 0.7 // standard deviation of the logarithm
	promptly       = 1   // seconds that a start takes even where nobody waits
)

// enoughWaits is how many waits must be known before they say anything.
const enoughWaits = 5

// queueWait is how long a job would wait in the cluster's own queue, and how
// that is known: the manager's own forecast, else what others of ours waited.
func (b *Broker) queueWait(ctx context.Context, c *cluster, spec *jobfile.Job) (predict.Dist, string) {
	if e, ok := c.Driver.(driver.Estimator); ok {
		w, err := e.Wait(ctx, driver.Need{Procs: max(1, spec.Min), Nodes: spec.Nodes, Memory: spec.Memory, Time: spec.Time})
		if err == nil && w.Known {
			return predict.LogNormal(max(promptly, w.Seconds), forecastSpread), w.Why
		}
	}
	rows, err := b.opt.Store.Runs(ctx, store.Past{Cluster: c.Name, Limit: recent})
	if err != nil {
		return predict.Dist{}, "nothing is known of its queue"
	}
	waits := history.WaitsOf(rows)
	if waits.Count() < enoughWaits {
		return predict.Dist{}, "nothing is known of its queue yet"
	}
	why := fmt.Sprintf("the last %d jobs waited %.0f s on average", waits.Count(), waits.Mean())
	if bound, ok := waits.Bound(0.9, 0.95); ok {
		why += fmt.Sprintf(", nine of ten at most %.0f s", bound)
	}
	d, ok := predict.FromQuantiles(waits.Quantiles())
	if !ok {
		return predict.Point(max(promptly, waits.Mean())), why
	}
	return d, why
}
