package broker

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// What was predicted of a job's end is kept for charts: a point every few seconds at first, later one each
// time a hundredth of the run has passed. A point waits for a turn that writes something, or for
// outlookDelay: it is worth no write of its own.
const (
	minOutlookInterval = 5 * time.Second
	outlooksPerRun     = 100
	outlookDelay       = 5 * time.Second
)

// noteOutlook keeps what the agent of a job predicts, if a point is due.
func (t *turn) noteOutlook(j *job, v *wire.Vitals) {
	if v == nil || len(v.Left) == 0 {
		return
	}
	d, ok := predict.FromQuantiles(v.Left)
	if !ok {
		return
	}
	run := t.now.Sub(j.rec.Started)
	if j.outlookAt != 0 && t.now.Sub(j.outlookAt) < max(minOutlookInterval, run/outlooksPerRun) {
		return
	}
	j.outlookAt = t.now
	end := func(p float64) core.Time { return t.now.Add(core.DurationFromSeconds(d.Quantile(p))) }
	o := store.Outlook{Job: j.rec.ID, At: t.now, Early: end(0.05), Middle: end(0.5), Late: end(0.95), Chance: -1}
	if j.rec.Deadline != 0 && v.Chance >= 0 {
		o.Chance = v.Chance
	}
	if len(t.b.outlooks) == 0 {
		t.b.outlooksBefore = t.now.Add(outlookDelay)
	}
	t.b.outlooks = append(t.b.outlooks, o)
}

// ListOutlooks lists what was predicted of a job, oldest first. The agent of one that runs tells how it is while
// somebody asks; else it does so only when something changes.
func (b *Broker) ListOutlooks(ctx context.Context, ref string) (*View, []store.Outlook, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	if j != nil && v.State == core.Running {
		b.watchAgent(j)
	}
	list, err := b.opt.Store.ListOutlooks(ctx, v.ID)
	return v, list, err
}

// ListAttempts lists the attempts of a job that are over and what was decided for it, oldest first.
func (b *Broker) ListAttempts(ctx context.Context, ref string) ([]history.Run, []wire.Entry, error) {
	_, v, err := b.findJob(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	runs, err := b.opt.Store.ListRuns(ctx, store.Past{Job: v.ID})
	if err != nil {
		return nil, nil, err
	}
	entries, err := b.opt.Store.ListEntries(ctx, v.ID)
	return runs, entries, err
}
