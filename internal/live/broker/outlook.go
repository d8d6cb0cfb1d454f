package broker

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// deadlineInDanger: an agent says that the deadline of its job is in danger. What it
// would be elsewhere is looked up beside the loop; the engine decides.
func (t *turn) deadlineInDanger(j *job, m *wire.Message) {
	v, epoch, inputs := m.State, j.rec.Epoch, j.rec.Inputs
	if v == nil || len(v.Left) == 0 {
		return
	}
	if !j.danger {
		t.explainJob(j, "predict", "deadline in danger",
			fmt.Sprintf("the chance of meeting it on %s is %.0f %% (%.0f %% wanted)",
				j.rec.Cluster, 100*v.Chance, 100*requiredConfidence(j.spec)), vitalsInputs(v))
	}
	j.danger = true
	t.afterCommit(func() {
		t.b.runUntilStopped(func(ctx context.Context) {
			var moves []core.Alternative
			if j.spec.Adapt != jobfile.AdaptOff {
				moves = t.b.moveAlternatives(j.asOwner(ctx), j, v, inputs)
			}
			t.b.postToLoop(func(t *turn) {
				j.question = questionInputs(t.b, v, moves)
				t.stepEngine(&core.Input{Kind: core.InDanger, Job: j.rec.ID, Epoch: epoch,
					Outlook: &core.Outlook{Confidence: requiredConfidence(j.spec), Stay: v.Left, Moves: moves}})
				why := j.rec.Reason
				t.afterCommit(func() { j.sendOrder(wire.Order{Kind: wire.Answer, Why: why}) })
			})
		})
	})
}

func requiredConfidence(spec *jobfile.Job) float64 {
	if spec.Confidence > 0 {
		return spec.Confidence
	}
	return 0.95
}

func vitalsInputs(v *wire.Vitals) map[string]any {
	m := map[string]any{"share": v.Share, "mean_share": v.Mean, "cpu_s": v.CPU, "wall_s": v.Wall, "model": v.Model,
		"chance": v.Chance}
	if d, ok := predict.FromQuantiles(v.Left); ok {
		m["left_p05_s"], m["left_p50_s"], m["left_p95_s"] = d.Quantile(0.05), d.Median(), d.Quantile(0.95)
	}
	return m
}

func questionInputs(b *Broker, v *wire.Vitals, moves []core.Alternative) map[string]any {
	m := vitalsInputs(v)
	for _, a := range moves {
		name := b.allClusters()[a.Cluster].Name
		if d, ok := predict.FromQuantiles(a.Left); ok {
			m[name+"_left_p50_s"], m[name+"_left_p95_s"], m[name+"_overhead_s"] = d.Median(), d.Quantile(0.95), a.Overhead
		}
	}
	return m
}

// moveAlternatives is what would become of a running job in the other clusters.
func (b *Broker) moveAlternatives(ctx context.Context, j *job, v *wire.Vitals,
	inputs []store.Input) []core.Alternative {
	work, ok := b.workElsewhere(ctx, j, v)
	if !ok {
		return nil
	}
	allowed, err := b.allowedClusters(ctx, j.spec)
	if err != nil {
		return nil
	}
	bring := b.bringTimes(ctx, inputs)
	rows, err := b.opt.Store.ListTransfers(ctx, store.Past{Limit: maxHistoryRows})
	if err != nil {
		rows = nil // what is guessed has to do
	}
	var moves []core.Alternative
	for _, c := range b.offeredClusters() {
		if c.Name == j.rec.Cluster || len(allowed) > 0 && !slices.Contains(allowed, c.id) || c.outOfReach() != nil {
			continue
		}
		overhead := b.moveOverhead(rows, j, v, c)
		if c.Managed {
			wait, _ := b.queueWait(ctx, c, j.spec)
			if !wait.IsKnown() {
				continue // nobody knows when it would begin: no reason to go there
			}
			overhead = predict.Sum(overhead, wait)
		}
		if int(c.id) < len(bring) && bring[c.id] > 0 {
			overhead = predict.Sum(overhead, predict.LogNormal(bring[c.id].Seconds(), b.bringSpread(c)))
		}
		left := work.RuntimeElsewhere(b.clusterSpeed(c), max(1, j.spec.Min), b.expectedShare(ctx, c), overhead)
		moves = append(moves, core.Alternative{Cluster: c.id, Left: left.Quantiles(), Overhead: overhead.Median()})
	}
	return moves
}

// workElsewhere is what a job has left if it is moved: from where it is, or all of it
// if it cannot be saved.
func (b *Broker) workElsewhere(ctx context.Context, j *job, v *wire.Vitals) (predict.Demand, bool) {
	if v.Method == "restart" {
		d, _ := b.estimateNeed(ctx, j.spec)
		return d, d.IsKnown()
	}
	d, ok := predict.FromQuantiles(v.Work)
	return predict.Demand{Work: d, Waiting: v.Waiting}, ok
}

func (b *Broker) clusterSpeed(c *cluster) float64 {
	if len(c.Hosts) == 0 || c.Hosts[0].Speed <= 0 {
		return 1
	}
	return c.Hosts[0].Speed
}

// expectedShare is what a newcomer would get of a processor of the cluster.
func (b *Broker) expectedShare(ctx context.Context, c *cluster) predict.Dist {
	load, err := c.Driver.MeasureLoad(ctx)
	if err != nil {
		c.mu.Lock()
		load = c.load
		c.mu.Unlock()
	}
	if err == nil {
		if d := b.shareAhead(c, load); d.IsKnown() {
			return d
		}
	}
	share := min(1, max(0.01, load.Share))
	return predict.LogNormal(share, max(0.02, min(1, load.Sd/share)))
}

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

// QuoteJob says what each cluster would make of a job, best first.
func (b *Broker) QuoteJob(ctx context.Context, spec *jobfile.Job) ([]Quote, error) {
	allowed, err := b.allowedClusters(ctx, spec)
	if err != nil {
		return nil, err
	}
	need, why := b.estimateNeed(ctx, spec)
	inputs, err := b.locateInputs(ctx, spec)
	if err != nil {
		return nil, err
	}
	list := b.quoteClusters(ctx, spec, allowed, need, b.bringTimes(ctx, inputs))
	for i := range list {
		list[i].Reason += "; " + why
	}
	return list, nil
}

// EstimateCommand is what a command has to do on so many processors, by earlier runs of its
// program, whether some of them had the same arguments, and how that is known.
func (b *Broker) EstimateCommand(ctx context.Context, argv []string,
	procs int) (need predict.Demand, same bool, why string) {
	need, why = b.estimateNeed(ctx, &jobfile.Job{Argv: argv, Min: procs})
	if !need.IsKnown() {
		return need, false, why
	}
	program, args := history.SplitCommand(argv)
	runs, err := b.runsOf(ctx, program)
	return need, err == nil && history.HasFinished(runs, program, args), why
}

// formatSeconds writes seconds to three digits.
func formatSeconds(seconds float64) string {
	decimals := max(0, 2-int(math.Floor(math.Log10(max(math.Abs(seconds), 0.01)))))
	scale := math.Pow(10, float64(decimals))
	return strconv.FormatFloat(math.Round(seconds*scale)/scale, 'f', -1, 64)
}

func (b *Broker) quoteClusters(ctx context.Context, spec *jobfile.Job, allowed []core.ClusterID, need predict.Demand,
	bring []time.Duration) []Quote {
	var list []Quote
	for _, c := range b.offeredClusters() {
		q := Quote{Cluster: c.Name, Chance: -1, Transfer: predict.Point(minBringTime.Seconds())}
		if int(c.id) < len(bring) && bring[c.id] > 0 {
			q.Transfer = predict.LogNormal(bring[c.id].Seconds(), b.bringSpread(c))
		}
		size := totalProcs(c.Hosts)
		switch {
		case len(allowed) > 0 && !slices.Contains(allowed, c.id):
			q.Reason = "excluded by --on"
		case c.reliability() < spec.Reliability:
			q.Reason = fmt.Sprintf("reliability %.2f, the job wants %.2f", c.reliability(), spec.Reliability)
		case c.outOfReach() != nil:
			q.Reason = "out of reach: " + c.outOfReach().Error()
		case size < spec.Min:
			q.Reason = fmt.Sprintf("needs %s, the cluster has %d", coresText(spec.Min), size)
		default:
			q.Fits = true
			b.fillQuote(ctx, &q, c, spec, need)
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
func (b *Broker) fillQuote(ctx context.Context, q *Quote, c *cluster, spec *jobfile.Job, need predict.Demand) {
	share := b.expectedShare(ctx, c)
	idle, ahead := b.idleAndAhead(c)
	q.Wait = predict.Point(0)
	speed := fmt.Sprintf("speed %.2f", b.clusterSpeed(c))
	if c.Unmeasured {
		speed = "speed not measured yet"
	}
	q.Reason = fmt.Sprintf("%d of %s free, a new job would get %.0f %% of a core, %s", idle,
		coresText(totalProcs(c.Hosts)), 100*share.Median(), speed)
	if c.Managed {
		var why string
		ahead, why = b.queueWait(ctx, c, spec)
		q.Reason += "; " + why
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
	q.Run = need.RuntimeElsewhere(b.clusterSpeed(c), max(1, spec.Min), share, predict.Point(0))
	f := predict.FinishTime(q.Wait, q.Transfer, need, b.clusterSpeed(c), max(1, spec.Min), share)
	q.Finish = f
	if spec.Deadline > 0 {
		q.Chance = f.ProbabilityBelow(spec.Deadline.Seconds())
	}
}

// idleAndAhead is how many processors of a cluster are free, and how long it takes
// until the first of those who run there has ended; unknown if nobody says.
func (b *Broker) idleAndAhead(c *cluster) (idle int, first predict.Dist) {
	now := b.brokerTime()
	for _, j := range b.placed.jobsAt(c.Name) {
		v, at := j.lastVitals()
		if v == nil || j.state != core.Running {
			continue
		}
		d, ok := predict.FromQuantiles(v.Left)
		if !ok {
			continue
		}
		if d = d.Shift(-now.Sub(at).Seconds()); !first.IsKnown() || d.Median() < first.Median() {
			first = d
		}
	}
	return int(c.idle.Load()), first
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

// recordQuote remembers what was expected of a job where it was placed, so that it
// can be held against what happens.
func (t *turn) recordQuote(j *job, quotes []Quote) {
	for _, q := range quotes {
		if q.Cluster != j.rec.Cluster || !q.Finish.IsKnown() {
			continue
		}
		program, _ := history.SplitCommand(j.spec.Argv)
		j.quote = &history.Quote{At: t.now, Job: j.rec.ID, Cluster: q.Cluster, Kind: "quote", Program: program,
			Wait: q.Wait.Median(),
			Move: q.Transfer.Median(), Run: q.Run.Median(), Finish: q.Finish.Quantiles(), Deadline: j.rec.Deadline,
			Chance: q.Chance, Reason: q.Reason}
		t.batch.Quotes = append(t.batch.Quotes, *j.quote)
	}
}

func logRatio(a, b float64) float64 { return math.Log(a / b) }
