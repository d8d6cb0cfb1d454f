package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ExportLog writes the log, line by line: the jobs submitted since a moment (0: all of them),
// and what the engine was told and decided, as far back as that is kept. Of a broker of several
// users everybody gets their own jobs, and root alone the decisions: these rest on the jobs of
// all.
func (b *Broker) ExportLog(ctx context.Context, release string, since core.Time, put func(line any) error) error {
	u, err := b.requestUser(ctx)
	if err != nil {
		return err
	}
	h := brokerlog.Header{Release: release, Exported: time.Unix(0, int64(b.brokerTime())).UTC()}
	if since > 0 {
		from := time.Unix(0, int64(since)).UTC()
		h.Since = &from
	}
	if u.ID != 0 {
		h.User = u.Name
	}
	if err := b.readLoop(ctx, func(*turn) bool {
		for id := range core.ClusterID(b.eng.ClusterCount()) {
			h.Clusters = append(h.Clusters, b.eng.Cluster(id).Spec)
		}
		return true
	}); err != nil {
		return err
	}
	w, err := brokerlog.NewWriter(put, h)
	if err != nil {
		return err
	}
	if err := b.exportJobs(ctx, u, since, w); err != nil {
		return err
	}
	if u.ID == 0 {
		if err := b.opt.Store.ReadLog(ctx, func(p *store.LogPart) error { return exportPart(p, w) }); err != nil {
			return err
		}
	}
	return w.Close()
}

// jobsPerRead is how many jobs are read at once for an export.
const jobsPerRead = 500

func (b *Broker) exportJobs(ctx context.Context, u User, since core.Time, w *brokerlog.Writer) error {
	f := store.Filter{OldestFirst: true, Limit: jobsPerRead}
	if u.ID != 0 {
		f.User = u.Name
	}
	for {
		list, err := b.opt.Store.ListJobs(ctx, f)
		if err != nil {
			return err
		}
		for i := range list {
			rec := &list[i]
			f.From = rec.ID + 1
			if rec.Submitted < since || u.ID != 0 && rec.Owner != u.ID {
				continue
			}
			if err := w.WriteLine(&brokerlog.Line{Job: exportedJob(rec)}); err != nil {
				return err
			}
		}
		if len(list) < jobsPerRead {
			return nil
		}
	}
}

func exportedJob(rec *store.Job) *brokerlog.Job {
	program, _ := history.SplitCommand(rec.Spec.Argv)
	j := &brokerlog.Job{ID: rec.ID, User: rec.User, Name: rec.Spec.Name, Program: program, State: rec.State,
		Submit: rec.Submitted, Start: rec.Started, End: rec.Ended, Procs: max(1, rec.Spec.Min),
		Run: core.DurationFromSeconds(rec.Wall), CPU: core.DurationFromSeconds(rec.CPU), Limit: rec.Spec.Time,
		Estimate: rec.Spec.Estimate, Deadline: rec.Deadline, Cluster: rec.Cluster, ExitCode: rec.Code}
	if j.Run == 0 && j.Start > 0 && j.End > j.Start {
		j.Run = j.End.Sub(j.Start)
	}
	return j
}

// exportPart writes a part of the log: its steps with the events that came of each, or events
// of which nobody knows what they came of.
func exportPart(p *store.LogPart, w *brokerlog.Writer) error {
	if p.Events == nil && p.Steps == nil {
		start := &brokerlog.Start{After: p.First - 1, Place: core.DeadlineFirst}
		if p.Snapshot != nil {
			start.Snapshot = p.Snapshot.State
		}
		return w.WriteLine(&brokerlog.Line{Start: start})
	}
	events := p.Events
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Events < 0 || s.Events > len(events) {
			return fmt.Errorf("%w: a step with %d events of %d", store.ErrDamaged, s.Events, len(events))
		}
		line, err := exportedStep(s, events[:s.Events])
		if err != nil {
			return err
		}
		if err := w.WriteLine(line); err != nil {
			return err
		}
		events = events[s.Events:]
	}
	for i := range events {
		if err := w.WriteLine(&brokerlog.Line{Event: &events[i]}); err != nil {
			return err
		}
	}
	return nil
}

func exportedStep(s *store.Step, events []core.Event) (*brokerlog.Line, error) {
	switch {
	case s.Left != nil:
		return &brokerlog.Line{Left: &brokerlog.Left{After: s.UpTo, Engine: s.Began, Unsettled: s.Left}}, nil
	case s.Began != nil:
		return &brokerlog.Line{Began: &brokerlog.Began{Engine: s.Began}}, nil
	case s.In == nil:
		return nil, fmt.Errorf("%w: a step without an input", store.ErrDamaged)
	}
	in, err := s.FullInput(events)
	return &brokerlog.Line{Step: &brokerlog.Step{At: s.At, In: in, Events: events, Commands: s.Commands}}, err
}
