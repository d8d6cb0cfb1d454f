package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/skeletons"
	"github.com/godwit-hpc/godwit/internal/lab"
	"github.com/godwit-hpc/godwit/internal/lab/managers"
)

func (a *app) skeletonsCommand() *cobra.Command {
	e := skeletons.Experiment{Say: a.SayLine, Now: a.Now}
	var out, from string
	cmd := &cobra.Command{
		Use:   "skeletons",
		Short: "Is a program slow where its skeleton is slow? Both in a lab",
		Long: `Makes a lab of four hosts (as root), captures the programs of examples/apps there,
and runs each program and its skeleton in the same states of the network, one after
the other. Writes skeletons.md: how well the times correlate, and how far the
predictions are off. About five minutes a program; the report is written after every
state, and with --only the others stay in it as they were. --from writes the report
from what was measured before.`,
		Example: `  godwit-experiments skeletons
  godwit-experiments skeletons --only cg,is --states 10 --out /tmp/report
  godwit-experiments skeletons --from docs/experiments/skeletons/skeletons.json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runSkeletons(cmd.Context(), e, from, out) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&e.Apps, "apps", "examples/apps/build", "the programs are in `DIR`")
	flags.StringSliceVar(&e.Only, "only", nil, "these programs only: `NAMES` of bt, cg, is, lu, mg")
	e.States, e.Part, e.Repeat = 30, 0.33, 2
	flags.Var(term.WholeNumberFlag(&e.States, 2, 10000), "states", "states of the network")
	flags.Var(term.WholeNumberFlag(&e.Repeat, 1, 100), "repeat",
		"go through all states so often; the shortest run in each counts")
	flags.Var(term.NumberFlag(&e.Part, 0.001, 1), "part", "of a program's time that its skeleton is to take")
	flags.Uint64Var(&e.Seed, "seed", 1, "what the states are drawn from: `N`")
	flags.StringVar(&e.Lab, "lab", "skeletons", "the `NAME` of the lab")
	flags.StringVar(&from, "from", "", "measure nothing: write the report from `FILE`")
	flags.StringVar(&out, "out", "docs/experiments", "write the report into `DIR`")
	return cmd
}

func (a *app) runSkeletons(ctx context.Context, e skeletons.Experiment, from, out string) error {
	start := a.Now()
	r, err := skeletonResults(ctx, e, from, out)
	if err != nil {
		return err
	}
	path, err := r.Write(out)
	if err != nil {
		return err
	}
	for i := range r.Programs {
		m := &r.Programs[i]
		if _, err := fmt.Fprintf(a.Stdout, "%s: r %.3f over %d states\n", m.Name, m.TimeCorrelation(),
			len(m.Program)); err != nil {
			return err
		}
	}
	a.SayLine(fmt.Sprintf("written: %s after %v", path, a.Now.Since(start).Round(time.Second)))
	return nil
}

// skeletonResults measures, or reads what was measured.
func skeletonResults(ctx context.Context, e skeletons.Experiment, from, out string) (*skeletons.Result, error) {
	if from != "" {
		return skeletons.Read(from)
	}
	if err := lab.CheckAble(); err != nil {
		return nil, err
	}
	managers.RegisterAll()
	e.Keep = func(r *skeletons.Result) error {
		_, err := r.Write(out)
		return err
	}
	return e.Run(ctx)
}
