package estimate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// Quote is what one cluster would make of a job.
type Quote struct {
	Cluster  string
	Fits     bool
	Wait     predict.Dist
	Transfer predict.Dist
	Run      predict.Dist // unknown if nothing is known of the program
	Finish   predict.Dist
	Chance   float64 // of meeting the deadline; -1 if there is none or nothing is known
	Reason   string
}

// QuoteClusters says what each cluster would make of a job, best first. bring is how long it takes to bring its
// inputs to each.
func (e *Estimator) QuoteClusters(ctx context.Context, spec *jobfile.Job, allowed []core.ClusterID, need predict.Demand,
	bring []time.Duration) []Quote {
	var list []Quote
	for _, c := range e.grid.OfferedClusters() {
		q := Quote{Cluster: c.Name, Chance: -1, Transfer: predict.Point(transfer.MinBringTime.Seconds())}
		if int(c.ID) < len(bring) && bring[c.ID] > 0 {
			q.Transfer = predict.LogNormal(bring[c.ID].Seconds(), bringSpread(e.grid.ForecastWay("", c.Name)))
		}
		switch {
		case len(allowed) > 0 && !slices.Contains(allowed, c.ID):
			q.Reason = "excluded by --on"
		case c.Reliability() < spec.Reliability:
			q.Reason = fmt.Sprintf("reliability %.2f, the job wants %.2f", c.Reliability(), spec.Reliability)
		case c.OutOfReach() != nil:
			q.Reason = "out of reach: " + c.OutOfReach().Error()
		case c.DrainText() != "":
			q.Reason = c.DrainText()
		case c.Procs < spec.Min:
			q.Reason = fmt.Sprintf("needs %s, the cluster has %d", coresText(spec.Min), c.Procs)
		default:
			q.Fits = true
			e.fillQuote(ctx, &q, c, spec, need)
		}
		list = append(list, q)
	}
	slices.SortStableFunc(list, func(a, b Quote) int { return compareQuotes(&a, &b) })
	return list
}

// coresText is a number of cores in words.
func coresText(n int) string {
	if n == 1 {
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// fillQuote fills in what can be said of a cluster where the job fits.
func (e *Estimator) fillQuote(ctx context.Context, q *Quote, c *Cluster, spec *jobfile.Job, need predict.Demand) {
	share := c.expectedShare(ctx)
	idle, ahead := c.IdleAndAhead()
	q.Wait = predict.Point(0)
	speed := fmt.Sprintf("speed %.2f", c.Speed)
	if c.Unmeasured {
		speed = "speed not measured yet"
	}
	q.Reason = fmt.Sprintf("%d of %s free, a new job would get %.0f %% of a core, %s", idle,
		coresText(c.Procs), 100*share.Median(), speed)
	if c.Managed {
		var why string
		ahead, why = e.queueWait(ctx, c, spec)
		q.Reason += "; " + why
	}
	if need.IsKnown() {
		q.Run = need.RuntimeElsewhere(c.Speed, max(1, spec.Min), share, predict.Point(0))
	}
	if c.Managed || idle < spec.Min {
		q.Wait = ahead
		if !ahead.IsKnown() {
			q.Reason += "; it would have to wait, and nobody knows for how long"
			return
		}
	}
	if !need.IsKnown() {
		return
	}
	f := predict.FinishTime(q.Wait, q.Transfer, need, c.Speed, max(1, spec.Min), share)
	q.Finish = f
	if spec.Deadline > 0 {
		q.Chance = f.ProbabilityBelow(spec.Deadline.Seconds())
	}
}

// compareQuotes puts the better first: by the chance of the deadline, then by
// the expected end; what does not fit comes last.
func compareQuotes(a, b *Quote) int {
	key := func(q *Quote) [3]float64 {
		k := [3]float64{1, -math.Round(q.Chance * 100), math.Inf(1)}
		if q.Fits {
			k[0] = 0
		}
		if q.Finish.IsKnown() {
			k[2] = q.Finish.Median()
		}
		return k
	}
	ka, kb := key(a), key(b)
	return slices.Compare(ka[:], kb[:])
}
