package broker

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/estimate"
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
	moving := estimate.MovingJob{ID: j.rec.ID, Cluster: j.rec.Cluster, Spec: j.spec, Vitals: v}
	if !b.estimates.FindWork(ctx, &moving) {
		return nil
	}
	allowed, err := b.allowedClusters(ctx, j.spec)
	if err != nil {
		return nil
	}
	return b.estimates.MoveAlternatives(ctx, &moving, allowed, b.mover.BringTimes(ctx, inputs))
}

// Quote is what one cluster would make of a job.
type Quote = estimate.Quote

// QuoteJob says what each cluster would make of a job, best first.
func (b *Broker) QuoteJob(ctx context.Context, spec *jobfile.Job) ([]Quote, error) {
	if len(spec.Components) > 1 {
		return nil, &badinput.Error{Field: "components",
			Problem: "nothing to quote: no single cluster runs a job of several parts"}
	}
	allowed, err := b.allowedClusters(ctx, spec)
	if err != nil {
		return nil, err
	}
	need, why := b.estimates.JobNeed(ctx, spec)
	inputs, err := b.mover.LocateInputs(ctx, spec)
	if err != nil {
		return nil, err
	}
	list := b.estimates.QuoteClusters(ctx, spec, allowed, need, b.mover.BringTimes(ctx, inputs))
	for i := range list {
		list[i].Reason += "; " + why
	}
	return list, nil
}

// EstimateCommand is what a command has to do on so many processors, by earlier runs of its
// program, whether some of them had the same arguments, and how that is known.
func (b *Broker) EstimateCommand(ctx context.Context, argv []string,
	procs int) (need predict.Demand, same bool, why string) {
	return b.estimates.CommandNeed(ctx, argv, procs)
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
