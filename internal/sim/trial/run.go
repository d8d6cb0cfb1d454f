package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sim"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Options is what is wanted of a run besides its totals.
type Options struct {
	Series   bool              // what happened over time
	Log      io.Writer         // nil: no log
	Compress bool              // the log with gzip
	Begin    func(jobs int)    // called when the jobs are known; may be nil
	Progress func(ended int64) // called now and then; may be nil
}

// Result is what came of a run.
type Result struct {
	About   About
	Summary outcome.Summary
	Outcome *outcome.Collector
	Names   outcome.Names
	// Decisions are those of the rescheduler.
	Decisions []Decision
}

// Decision is one of the rescheduler.
type Decision struct {
	AtS float64    `json:"at_s"`
	Job core.JobID `json:"job"`
	Why string     `json:"why"`
	*core.Gain
}

// About says which run a result is of.
type About struct {
	Title     string `json:"title"`
	Platform  string `json:"platform"`
	Procs     int    `json:"processors"`
	Place     string `json:"place"`
	Approach  string `json:"approach"`
	Malleable string `json:"malleable"`
	Local     string `json:"local"`
	Seed      uint64 `json:"seed"`
	Records   int    `json:"records,omitempty"` // of the trace
	Skipped   []Skip `json:"skipped"`
}

// Skip counts records of a trace that made no job.
type Skip struct {
	Reason string `json:"reason"`
	Count  int    `json:"count"`
}

// Run simulates. What is wrong with the setup is a *badinput.Error.
func (t *Setup) Run(ctx context.Context, o Options) (*Result, error) {
	if err := t.checkSetup(); err != nil {
		return nil, err
	}
	source, stats, err := t.jobSource()
	if err != nil {
		return nil, err
	}
	if source.Len() == 0 {
		return nil, t.nothingToRun(stats)
	}
	if o.Begin != nil {
		o.Begin(source.Len())
	}
	jobs := &labelled{source, make([]int64, 0, source.Len())}
	cfg := t.simulatorConfig(jobs)
	collector := outcome.NewCollector(t.Platform.TotalProcs(), source.Len(), o.Series)
	var log *runlog.Writer
	var decisions []Decision
	cfg.Observe = noteDecisions(&decisions, makeObserver(collector, jobs, &log, o.Progress))
	s, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	r := &Result{About: t.describeRun(stats), Outcome: collector, Names: outcome.Names{Clusters: t.clusterNames()}}
	if o.Log != nil {
		if log, err = t.newLog(o, s, cfg.Engine, r.About); err != nil {
			return nil, err
		}
	}
	if _, err := s.Run(ctx); err != nil {
		return nil, err
	}
	if log != nil {
		if err := log.Close(); err != nil {
			return nil, err
		}
	}
	r.Summary, r.Names.Labels, r.Decisions = collector.Summary(), jobs.labels, decisions
	return r, nil
}

// labelled remembers what the jobs that it hands on are called.
type labelled struct {
	workload.Source
	labels []int64
}

func (l *labelled) NextJob(j *workload.Job) bool {
	ok := l.Source.NextJob(j)
	if ok {
		l.labels = append(l.labels, j.Label)
	}
	return ok
}

type observe = func(now core.Time, in *core.Input, out *engine.Output)

// noteDecisions lists what the rescheduler decides besides.
func noteDecisions(list *[]Decision, then observe) observe {
	return func(now core.Time, in *core.Input, out *engine.Output) {
		if in.Kind == core.Assessed {
			for i := range out.Events {
				if ev := &out.Events[i]; ev.Kind == core.JobJudged && ev.Gain != nil {
					*list = append(*list, Decision{AtS: now.Seconds(), Job: ev.Job, Why: ev.Why.String(), Gain: ev.Gain})
				}
			}
		}
		then(now, in, out)
	}
}

// makeObserver is what watches the run. It is called for every step of millions,
// so nothing that is not wanted costs anything.
func makeObserver(c *outcome.Collector, jobs *labelled, log **runlog.Writer, progress func(int64)) observe {
	const often = 0x3ff // jobs between two reports
	next := often
	return func(now core.Time, in *core.Input, out *engine.Output) {
		for i := range out.Events {
			c.Observe(&out.Events[i])
		}
		if *log != nil {
			label := int64(0)
			if in.Kind == core.Submit {
				label = jobs.labels[in.Spec.ID-1]
			}
			(*log).WriteStep(now, in, out.Events, label)
		}
		if ended := c.EndedJobs(); ended > next {
			next = ended + often
			if progress != nil {
				progress(int64(ended))
			}
		}
	}
}

func (t *Setup) newLog(o Options, s *sim.Simulator, e engine.Config, about About) (*runlog.Writer, error) {
	text, err := json.Marshal(about)
	if err != nil {
		return nil, fmt.Errorf("writing the log: %w", err)
	}
	h := runlog.Header{World: s.WorldSpec(), Engine: e, About: text}
	return runlog.NewWriter(o.Log, o.Compress, h), nil
}

func (t *Setup) describeRun(stats workload.Stats) About {
	a := About{
		Title: t.Title, Platform: t.Platform.Name, Procs: t.Platform.TotalProcs(), Place: t.Policy.Place.String(),
		Approach: t.Policy.Approach.String(), Malleable: t.malleablePolicy(), Local: t.localPolicyName(), Seed: t.Seed,
		Records: stats.Records, Skipped: []Skip{},
	}
	for _, s := range stats.Skipped {
		a.Skipped = append(a.Skipped, Skip(s))
	}
	return a
}

// localPolicyName names the queues of the clusters: one name if they are all alike.
func (t *Setup) localPolicyName() string {
	name := t.localOf(0).String()
	for i := range t.Platform.Clusters {
		if t.localOf(i).String() != name {
			return "mixed"
		}
	}
	return name
}

func (t *Setup) clusterNames() []string {
	names := make([]string, len(t.Platform.Clusters))
	for i := range t.Platform.Clusters {
		names[i] = t.Platform.Clusters[i].Name
	}
	return names
}

func (t *Setup) nothingToRun(stats workload.Stats) error {
	want := "at least one job that can be run"
	for i, s := range stats.Skipped {
		sep := "; left out: "
		if i > 0 {
			sep = ", "
		}
		want += fmt.Sprintf("%s%d (%s)", sep, s.Count, s.Reason)
	}
	file := ""
	if t.Trace != nil {
		file = t.Trace.File
	}
	return &badinput.Error{File: file, Want: want}
}
