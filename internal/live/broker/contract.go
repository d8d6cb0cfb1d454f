package broker

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// keptContract is what the agent of a job told of its contract last.
type keptContract struct {
	state *wire.ContractState
	at    core.Time
}

// contractViolated: an agent says that its program is slower than promised, beyond the limits. The engine decides what
// becomes of that.
func (t *turn) contractViolated(j *job, m *wire.Message) {
	c := m.Contract
	if c == nil {
		return
	}
	j.contract = keptContract{c, t.now}
	t.explainJob(j, "contract", "violated", fmt.Sprintf("the last phase took %s times as long as promised, the average "+
		"is %s, the limit %s", core.FormatDigits(c.Ratio), core.FormatDigits(c.Average), core.FormatDigits(c.Limit)),
		map[string]any{"promise_s": c.Promise, "done": c.Done, "ratio": c.Ratio, "average": c.Average, "limit": c.Limit,
			"left_s": c.Left, "ratios": c.Ratios})
	t.stepEngine(&core.Input{Kind: core.ContractBroken, Job: j.rec.ID, Epoch: j.rec.Epoch, Done: c.Done,
		Why: core.Reason{Code: core.ContractViolated, A: c.Ratio, B: c.Limit}})
}

// assessJob finds out what is predicted of a job beside the loop, and tells the engine.
func (b *Broker) assessJob(j *job, id uint64, c core.Command) {
	b.runUntilStopped(func(context.Context) {
		a := b.assessment(j.asOwner(b.ctx), j, c)
		if b.ctx.Err() != nil {
			return // the outbox remembers
		}
		b.postToLoop(func(t *turn) {
			t.markSent(id)
			t.stepEngine(&core.Input{Kind: core.Assessed, Job: c.Job, Epoch: c.Epoch, Assessment: a})
		})
	})
}

// assessment is what is predicted of a job where it is placed or runs, and elsewhere; nil if nothing is.
func (b *Broker) assessment(ctx context.Context, j *job, c core.Command) *core.Assessment {
	var rec store.Job
	var kept keptContract
	var vitals *wire.Vitals
	var now, began core.Time
	if err := b.askLoop(ctx, func(t *turn) {
		rec, kept, now, began = j.rec, j.contract, t.now, j.startedAt
		vitals, _ = j.lastVitals()
	}); err != nil || rec.Epoch != c.Epoch || j.spec == nil {
		return nil
	}
	if rec.State != core.Running {
		return b.promiseFor(ctx, j, &rec)
	}
	a := &core.Assessment{Promise: rec.Promise, Left: rec.Promise - now.Sub(began).Seconds()}
	if s := kept.state; s != nil {
		a.Done, a.Left, a.Spread, a.Phases = s.Done, s.Left-now.Sub(kept.at).Seconds(), s.Spread, s.Phases
	}
	if a.Left = max(0, a.Left); vitals == nil || a.Promise == 0 {
		return nil
	}
	for _, m := range b.moveAlternatives(ctx, j, vitals, rec.Inputs) {
		if left, ok := predict.FromQuantiles(m.Left); ok {
			a.Options = append(a.Options, core.MoveOption{Cluster: m.Cluster, Size: max(1, j.spec.Min),
				Left: max(0, left.Median()-m.Overhead), Cost: m.Cost})
		}
	}
	return a
}

// promiseFor is what the whole job is predicted to take where it was placed, and in the other clusters that could start
// it now.
func (b *Broker) promiseFor(ctx context.Context, j *job, rec *store.Job) *core.Assessment {
	quotes, err := b.QuoteJob(ctx, j.spec)
	if err != nil {
		return nil
	}
	a := &core.Assessment{}
	for i := range quotes {
		q := &quotes[i]
		cl := b.clusterNamed(q.Cluster)
		if !q.Fits || !q.Run.IsKnown() || cl == nil {
			continue
		}
		if q.Cluster == rec.Cluster {
			a.Promise, a.Left = q.Run.Median(), q.Run.Median()
		} else if q.Wait.IsKnown() && q.Wait.Median() == 0 {
			a.Options = append(a.Options, core.MoveOption{Cluster: cl.id, Size: max(1, j.spec.Min), Left: q.Run.Median()})
		}
	}
	return a
}

// gainInputs are the numbers of a decision by gain, as explain shows them.
func gainInputs(g *core.Gain) map[string]any {
	m := map[string]any{"ret_current_s": g.Current, "gain": g.Gain, "threshold": g.Threshold}
	if g.Size > 0 {
		m["ret_new_s"], m["cost_s"], m["procs"] = g.New, g.Cost.TotalSeconds(), g.Size
		m["write_s"], m["weather_s"], m["schedule_s"] = g.Cost.Write, g.Cost.Weather, g.Cost.Schedule
		m["start_s"], m["other_s"], m["redistribute_s"] = g.Cost.Start, g.Cost.Other, g.Cost.Redistribute
	}
	if g.Where != "" {
		m["to"] = g.Where
	}
	if g.Forced != "" {
		m["forced"] = g.Forced
	}
	return m
}
