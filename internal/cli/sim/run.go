package sim

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/brokerlog"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/progress"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
	"github.com/godwit-hpc/godwit/internal/sim/runlog"
	"github.com/godwit-hpc/godwit/internal/sim/trial"
)

// simReport is what sim prints of one run; the JSON names are part of the
// surface.
type simReport struct {
	outcome.Summary
	WallS float64 `json:"wall_s"`
	trial.About
	Verified *verified `json:"verified,omitempty"` // of a replay
	// Of the rescheduler: its mode, what it decided, and how often jobs were moved.
	Mode       string           `json:"mode,omitempty"`
	Decisions  []trial.Decision `json:"decisions,omitempty"`
	Migrations int              `json:"migrations,omitempty"`
	SweepOver  string           `json:"sweep,omitempty"`
	SweepValue float64          `json:"sweep_value,omitempty"`

	result *trial.Result
}

type verified struct {
	Steps  int64 `json:"steps"`
	Events int64 `json:"events"`
}

// runSim runs what the flags ask for and prints the results.
func (a *app) runSim(ctx context.Context, f *simFlags) error {
	if err := f.checkFlags(); err != nil {
		return err
	}
	term.FavourSpeed()
	if f.replay != "" && brokerlog.IsFile(f.replay) {
		return a.replayLive(ctx, f)
	}
	files, err := f.openFiles()
	if err != nil {
		return err
	}
	defer files.discardFiles()
	reports, err := a.simRuns(ctx, f, files)
	if err != nil {
		return err
	}
	charts, err := files.writeFiles(reports)
	if err != nil {
		return err
	}
	if charts > 0 && !f.quiet {
		a.SayLine(fmt.Sprintf("wrote %d charts to %s, the values of each as CSV beside it", charts, f.plots))
	}
	return a.printSim(f, reports)
}

// simRuns simulates, or replays.
func (a *app) simRuns(ctx context.Context, f *simFlags, files *simFiles) ([]*simReport, error) {
	if f.replay != "" {
		r, err := a.replayRun(ctx, f)
		return []*simReport{r}, err
	}
	setups, err := f.trialSetups()
	if err != nil {
		return nil, err
	}
	a.printNotes(f, setups[0])
	var reports []*simReport
	for _, t := range setups {
		r, err := a.simRun(ctx, f, t, files.log)
		if err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// printNotes tells what the user may not expect.
func (a *app) printNotes(f *simFlags, t *trial.Setup) {
	if f.quiet {
		return
	}
	for _, note := range t.Platform.Notes {
		a.SayLine("note: " + t.Platform.Name + ": " + note)
	}
	if t.ManagedEverywhere() && (f.compare != nil || f.malleable != "" && f.malleable != runlog.None) {
		a.SayLine("note: no size changes, because every cluster has a queue of its own: jobs run as they are")
	}
}

func (a *app) simRun(ctx context.Context, f *simFlags, t *trial.Setup, log *outfile.File) (*simReport, error) {
	o := trial.Options{Series: f.plots != "", Compress: strings.HasSuffix(f.log, ".gz")}
	if log != nil {
		o.Log = log
	}
	done := a.watchRun(f, t.Title, &o)
	begin := a.Now()
	r, err := t.Run(ctx, o)
	done()
	if err != nil {
		return nil, err
	}
	report := &simReport{Summary: r.Summary, WallS: a.Now.Since(begin).Seconds(), About: r.About, result: r,
		Decisions: r.Decisions, Mode: t.ReschedMode(), SweepOver: t.SweepOver, SweepValue: t.SweepValue}
	for _, d := range r.Decisions {
		if d.Moves {
			report.Migrations++
		}
	}
	return report, nil
}

func (a *app) replayRun(ctx context.Context, f *simFlags) (*simReport, error) {
	in, err := os.Open(f.replay)
	if err != nil {
		return nil, badinput.UnreadableFile(f.replay, err)
	}
	defer func() { _ = in.Close() }() // only read from
	o := trial.Options{Series: f.plots != ""}
	done := a.watchRun(f, filepath.Base(f.replay), &o)
	begin := a.Now()
	r, proof, err := trial.ReplayLog(ctx, in, f.replay, o)
	done()
	if err != nil {
		return nil, err
	}
	v := verified(proof)
	return &simReport{Summary: r.Summary, WallS: a.Now.Since(begin).Seconds(), About: r.About, Verified: &v, result: r},
		nil
}

// watchRun shows how far a run has come; the function that it returns takes the
// line away.
func (a *app) watchRun(f *simFlags, label string, o *trial.Options) (done func()) {
	if f.quiet {
		return func() {}
	}
	var line *progress.Line
	o.Begin = func(jobs int) { line = progress.New(a.Stderr, a.Now, label, "jobs", int64(jobs)) }
	o.Progress = func(ended int64) { line.Update(ended) }
	return func() { line.ClearLine() }
}

// simFiles are the files that a run writes. They are opened before it begins,
// so that a wrong path costs nobody an hour, and are there only if all went
// well.
type simFiles struct {
	jobs, log *outfile.File
	plots     string
}

func (f *simFlags) openFiles() (s *simFiles, err error) {
	s = &simFiles{plots: f.plots}
	for _, file := range []struct {
		path string
		to   **outfile.File
	}{{f.jobsOut, &s.jobs}, {f.log, &s.log}} {
		if file.path == "" {
			continue
		}
		if *file.to, err = outfile.Create(file.path); err != nil {
			s.discardFiles()
			return nil, err
		}
	}
	if f.plots != "" {
		if err := os.MkdirAll(f.plots, 0o777); err != nil {
			s.discardFiles()
			return nil, badinput.UnwritableFile(f.plots, err)
		}
	}
	return s, nil
}

func (s *simFiles) discardFiles() {
	for _, f := range []*outfile.File{s.jobs, s.log} {
		if f != nil {
			f.Discard()
		}
	}
}

// writeFiles fills the files. It tells how many charts there are.
func (s *simFiles) writeFiles(reports []*simReport) (charts int, err error) {
	if s.jobs != nil {
		r := reports[0].result
		if err := r.Outcome.WriteCSV(s.jobs, r.Names); err != nil {
			return charts, err
		}
	}
	if s.plots != "" {
		if charts, err = writePlots(s.plots, reports); err != nil {
			return charts, err
		}
	}
	for _, f := range []*outfile.File{s.jobs, s.log} {
		if f != nil {
			if err := f.Commit(); err != nil {
				return charts, err
			}
		}
	}
	return charts, nil
}

// printSim prints one run or several beside each other.
func (a *app) printSim(f *simFlags, reports []*simReport) error {
	switch {
	case f.output == "json" && (f.compare != nil || len(reports) > 1):
		return term.WriteJSON(a.Stdout, reports)
	case f.output == "json":
		return term.WriteJSON(a.Stdout, reports[0])
	}
	var b strings.Builder
	if reports[0].Mode != "" && (f.compare != nil || len(reports) > 1) {
		decisionTable(&b, reports, a.TableWidth())
	} else if f.compare != nil || len(reports) > 1 {
		compareTable(&b, reports, a.TableWidth())
	} else {
		summaryTable(&b, reports[0])
	}
	_, err := io.WriteString(a.Stdout, b.String())
	return err
}
