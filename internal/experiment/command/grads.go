package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/grads"
)

func (a *app) gradsCommand() *cobra.Command {
	var scenarios, out string
	cmd := &cobra.Command{
		Use:   "grads",
		Short: "Contracts, stop and restart elsewhere (papers/000)",
		Long: `Runs the three sweeps of the GrADS paper (size of the matrix, load, time) and its
opportunistic move, each decision and its forced opposite. Writes grads.md with a
bar chart for each sweep and what every decision rested on.`,
		Example: `  godwit-experiments grads
  godwit-experiments grads --out /tmp/report`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := grads.Simulate(cmd.Context(), scenarios)
			if err != nil {
				return err
			}
			path, err := r.Write(out)
			if err != nil {
				return err
			}
			right, all := r.CountRight()
			if _, err := fmt.Fprintf(a.Stdout, "%d of %d decisions are right\n", right, all); err != nil {
				return err
			}
			a.SayLine("written: " + path)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&scenarios, "scenarios", "scenarios/grads", "read the four scenario files in `DIR`")
	flags.StringVar(&out, "out", "docs/experiments", "write the report into `DIR`")
	return cmd
}
