package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/workflow"
)

type workflowFlags struct {
	out, output string
	seeds       int
}

func (a *app) workflowCommand() *cobra.Command {
	f := &workflowFlags{seeds: 30}
	cmd := &cobra.Command{
		Use:   "workflow",
		Short: "A parameter sweep on two clusters (papers/003)",
		Long: `Runs the workflow of EMAN's refinement on the nodes of two clusters in the
simulator, placed as flow run does, by the paper's static plan, and at random, with
many seeds. Writes workflow.md with the paper's tables I to IV beside ours.`,
		Example: `  godwit-experiments workflow
  godwit-experiments workflow --seeds 3 --out /tmp/report -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.workflowExperiment(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	flags.Var(term.WholeNumberFlag(&f.seeds, 1, 1000), "seeds", "make every run with the seeds 1 to this")
	term.OutputFlag(flags, &f.output)
	return cmd
}

func (a *app) workflowExperiment(ctx context.Context, f *workflowFlags) error {
	term.FavourSpeed()
	var seeds []uint64
	for n := range f.seeds {
		seeds = append(seeds, uint64(n+1))
	}
	r, err := workflow.Simulate(ctx, workflow.PaperCases(), seeds)
	if err != nil {
		return err
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	verdicts := r.CheckCases()
	if f.output == "json" {
		report := koalaReport{Report: path}
		for _, v := range verdicts {
			report.Statements = append(report.Statements,
				koalaStatement{Says: v.Says, Saw: v.Saw, Wanted: v.Wanted, Holds: v.Holds})
		}
		return term.WriteJSON(a.Stdout, report)
	}
	var b strings.Builder
	for _, v := range verdicts {
		word := "no"
		if v.Holds {
			word = "holds"
		}
		fmt.Fprintf(&b, "%-6s %s: %s\n", word, v.Says, v.Saw)
	}
	n, all := workflow.CountHolding(verdicts)
	fmt.Fprintf(&b, "\n%d of the %d statements that are asked for hold\n", n, all)
	if _, err := fmt.Fprint(a.Stdout, b.String()); err != nil {
		return err
	}
	a.SayLine("written: " + path)
	return nil
}
