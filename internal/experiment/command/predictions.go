package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/programs"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

type predictionsFlags struct {
	plan   programs.Plan
	out    string
	output string
	only   bool
	quiet  bool
}

const predictionsLong = `Measures how far live predictions of ten kinds of programs can be trusted: programs
that wait, read and write, compute in Python and C, in threads and over MPI, train,
sort, run as a pipeline, or sleep and compute by turns. Each is run by a broker of its
own, alone and beside programs that compete for its core; what is known of it is
the history of the runs before.

Prints the median error of the remaining time from one third of the runs on, and how
many of the 90 % bands held, and writes predictions.md. This is a measurement: it takes
about ten minutes at --scale 2, and 18 at --scale 4. The runs are kept in --runs-file one
by one; who interrupts it loses nothing: the same command makes the runs to learn from
again, and the rest.`

func (a *app) predictionsCommand() *cobra.Command {
	f := &predictionsFlags{plan: programs.Plan{Runs: 10, Learn: 3, AtOnce: 1, Scale: 1, Sample: 100 * time.Millisecond}}
	cmd := &cobra.Command{
		Use:   "predictions",
		Short: "How far live predictions of ten kinds of programs can be trusted",
		Long:  predictionsLong,
		Example: `  godwit-experiments predictions
  godwit-experiments predictions --runs 2 --runs-file /tmp/runs.jsonl \
      --out /tmp/report`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runPredictions(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(term.WholeNumberFlag(&f.plan.Runs, 1, 1000), "runs", "judge so many runs of each program")
	flags.Var(term.WholeNumberFlag(&f.plan.Learn, 1, 100), "learn",
		"make so many runs of each program before, to learn from")
	flags.Var(term.WholeNumberFlag(&f.plan.AtOnce, 1, 2), "at-once",
		"run one program at a time, or two, each on its own core")
	flags.Var(term.NumberFlag(&f.plan.Scale, 0.1, 100), "scale",
		"make the programs so many times longer than about a second of CPU time")
	flags.DurationVar(&f.plan.Limit, "limit", 0, "stop after this time; the same command makes the rest")
	flags.StringVar(&f.plan.Examples, "examples", "examples", "the examples of Godwit are in `DIR`")
	flags.StringVar(&f.plan.Records, "loads", "../shared/data/load",
		"the recorded loads are in `DIR`; where they are not, generated ones stand for them")
	flags.StringVar(&f.plan.File, "runs-file", "build/predictions.jsonl", "keep the runs in `FILE`, a line each")
	flags.BoolVar(&f.only, "report", false, "make no runs: write the report from --runs-file")
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	term.OutputFlag(flags, &f.output)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not say what is done")
	return cmd
}

func (a *app) runPredictions(ctx context.Context, f *predictionsFlags) error {
	if !f.quiet {
		f.plan.Out = a.Stderr
	}
	if !f.only {
		if err := f.plan.MeasureRuns(ctx); err != nil {
			return err
		}
	}
	r, err := programs.Read(f.plan.File)
	if err != nil {
		return &badinput.Error{Field: "--runs-file", Value: f.plan.File, Want: "a file with runs", Err: err}
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	checks := r.CheckStatements()
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, map[string]any{"report": path, "statements": checks})
	}
	var b strings.Builder
	for _, s := range checks {
		word := "holds"
		if !s.Holds {
			word = "does not hold"
		}
		fmt.Fprintf(&b, "%-14s %s\n%15s%s\n", word, s.Says, "", s.Saw)
	}
	_, err = fmt.Fprint(a.Stdout, b.String())
	if !f.quiet {
		a.SayLine("written: " + path)
	}
	return err
}
