// Package estimate says what clusters would make of jobs: how long one would wait, be brought its files and run, how
// likely it meets its deadline, and what it would cost to move one that runs. It looks at what happened before, at
// what clusters say of themselves and at the forecasts of the network. It must not know the loop of the broker, nor
// what is decided by its answers.
package estimate

import (
	"context"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Cluster is a cluster as estimates see it.
type Cluster struct {
	ID         core.ClusterID
	Name       string
	Procs      int
	Speed      float64 // of its hosts
	Managed    bool    // it has a queue of its own
	Unmeasured bool    // nobody has said how fast its hosts are
	Driver     driver.Driver
	State
}

// State is what is known of a cluster at present.
type State interface {
	// OutOfReach is why it cannot be asked; nil if it can.
	OutOfReach() error
	// DrainText says that it is drained, by whom, since when and why; "" if it is not.
	DrainText() string
	// Reliability is how reliable it was when it was last looked at.
	Reliability() float64
	// LastLoad is how busy it was when it was last asked.
	LastLoad() driver.Load
	// IdleAndAhead is how many of its processors are free, and how long it takes until the first of those who run there
	// has ended; unknown if nobody says.
	IdleAndAhead() (idle int, first predict.Dist)
	// ShareAhead is the share that a newcomer will have of a processor, as it was of late; unknown if that was not
	// measured or is not like the load of now.
	ShareAhead(now driver.Load) predict.Dist
}

// expectedShare is what a newcomer would get of a processor of the cluster.
func (c *Cluster) expectedShare(ctx context.Context) predict.Dist {
	load, err := c.Driver.MeasureLoad(ctx)
	if err != nil {
		load = c.LastLoad()
	}
	if err == nil {
		if d := c.ShareAhead(load); d.IsKnown() {
			return d
		}
	}
	share := min(1, max(0.01, load.Share))
	return predict.LogNormal(share, max(0.02, min(1, load.Sd/share)))
}

// Grid is what there is. The context says on whose behalf something is asked.
type Grid interface {
	// OfferedClusters lists the clusters where jobs may be sent.
	OfferedClusters() []*Cluster
	// IsHere says whether a cluster is where the broker, and so the depot, is.
	IsHere(cluster string) bool
	// RunsOf lists the newest runs of a program of who asks.
	RunsOf(ctx context.Context, program string) ([]history.Run, error)
	// ForecastWay is what lies between two clusters, "" being the broker; false if nothing is known of it.
	ForecastWay(from, to string) (weather.PathForecast, bool)
	// CurrentTime is the broker's time.
	CurrentTime() core.Time
}

// Past is what is kept of earlier runs and transfers.
type Past interface {
	ListRuns(ctx context.Context, p store.Past) ([]history.Run, error)
	ListTransfers(ctx context.Context, p store.Past) ([]history.Transfer, error)
}

// Estimator estimates. Its methods may be called from any goroutine.
type Estimator struct {
	grid Grid
	past Past
}

// NewEstimator is one for a grid.
func NewEstimator(grid Grid, past Past) *Estimator { return &Estimator{grid, past} }

// userSpread is how far users' own estimates are off, as a standard deviation
// of the logarithm; a job file without a history gives nothing better.
const userSpread = 0.1

// JobNeed is what the job has to do, and how that is known: its user said so, or its
// program ran before. Unknown if neither.
func (e *Estimator) JobNeed(ctx context.Context, spec *jobfile.Job) (predict.Demand, string) {
	estimate := spec.Estimate.Round(time.Millisecond)
	switch {
	case estimate > 0 && spec.EstimateBy != "":
		return predict.Demand{Work: predict.LogNormal(spec.Estimate.Seconds(), spec.EstimateSpread)},
			fmt.Sprintf("estimate of %s: %s s CPU", spec.EstimateBy, core.FormatDigits(estimate.Seconds()))
	case estimate > 0:
		return predict.Demand{Work: predict.LogNormal(spec.Estimate.Seconds(), userSpread)},
			fmt.Sprintf("user estimate: %s s CPU", core.FormatDigits(estimate.Seconds()))
	}
	program, args := history.SplitCommand(spec.Argv)
	runs, err := e.grid.RunsOf(ctx, program)
	if err != nil {
		return predict.Demand{}, "the history cannot be read: " + err.Error()
	}
	procs := max(1, spec.Min)
	alone := history.AloneOf(runs, program, args, procs)
	if d, ok := predict.FromQuantiles(alone.Quantiles); ok {
		return predict.Demand{Work: d.Scale(float64(procs)), Waiting: alone.Waiting}, "from " + alone.Why
	}
	quantiles, why, _ := history.EstimateNeed(runs, program, args)
	if d, ok := predict.FromQuantiles(quantiles); ok {
		return predict.Demand{Work: d}, "from " + why
	}
	return predict.Demand{}, "unknown run time: no earlier run of " + program + " and no estimate"
}

// CommandNeed is what a command has to do on so many processors, by earlier runs of its
// program, whether some of them had the same arguments, and how that is known.
func (e *Estimator) CommandNeed(ctx context.Context, argv []string,
	procs int) (need predict.Demand, same bool, why string) {
	need, why = e.JobNeed(ctx, &jobfile.Job{Argv: argv, Min: procs})
	if !need.IsKnown() {
		return need, false, why
	}
	program, args := history.SplitCommand(argv)
	runs, err := e.grid.RunsOf(ctx, program)
	return need, err == nil && history.HasFinished(runs, program, args), why
}
