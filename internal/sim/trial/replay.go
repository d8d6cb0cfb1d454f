package trial

import (
	"context"
	"encoding/json"
	"io"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
)

// ReplayLog gives the results of a run from its log, and verifies that the engine
// would decide the same again; name is the log's file.
func ReplayLog(ctx context.Context, r io.Reader, name string, o Options) (*Result, runlog.Report, error) {
	log, err := runlog.Open(r, name)
	if err != nil {
		return nil, runlog.Report{}, err
	}
	h := log.Header()
	result := &Result{}
	if err := json.Unmarshal(h.About, &result.About); err != nil && h.About != nil {
		return nil, runlog.Report{}, &badinput.Error{File: name, Line: 1, Field: "about", Want: "what Godwit wrote there",
			Err: err}
	}
	result.Outcome = outcome.NewCollector(log.TotalProcs(), 0, o.Series)
	for _, c := range h.World.Clusters {
		result.Names.Clusters = append(result.Names.Clusters, c.Name)
	}
	if o.Begin != nil {
		o.Begin(0)
	}
	report, err := log.Run(ctx, &replayed{Collector: result.Outcome, names: &result.Names, progress: o.Progress})
	if err != nil {
		return nil, report, err
	}
	result.Summary = result.Outcome.Summary()
	if result.About.Procs == 0 {
		result.About.Procs = log.TotalProcs()
	}
	return result, report, nil
}

// replayed collects what a replay tells.
type replayed struct {
	*outcome.Collector
	names    *outcome.Names
	progress func(int64)
}

func (r *replayed) JobSubmitted(label int64) {
	r.names.Labels = append(r.names.Labels, label)
	if n := len(r.names.Labels); n&0x3ff == 0 && r.progress != nil {
		r.progress(int64(n))
	}
}

func (r *replayed) Observe(ev *core.Event) { r.Collector.Observe(ev) }
