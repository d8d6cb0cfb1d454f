package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) migrateCommand() *cobra.Command {
	var output, to string
	cmd := &cobra.Command{
		Use:   "migrate ID [--to CLUSTER]",
		Short: "Move a job to another cluster",
		Long: `Saves a running job, moves it and lets it go on elsewhere: in the cluster that
--to names, else where it is expected to end soonest. It goes only where it may run
(--on) and where there is room for it now; else it stays, and the reason is said. A
job that cannot be saved begins again from the start, which is said too.

A job that waits is taken out of the queue it waits in, also that of Slurm or Grid
Engine, and waits for the other cluster.`,
		Example: `  godwit migrate 7
  godwit migrate 7 --to right`,
		Args:                  jobArgument,
		ValidArgsFunction:     a.completeJobs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.steer(cmd.Context(), output, func(c *api.Client) (api.Done, error) { return c.Migrate(cmd.Context(), args[0], to) })
		},
	}
	where := newGroup("Where to")
	where.flags.StringVar(&to, "to", "", "the `CLUSTER` to move it to")
	groupFlags(cmd, where, outputGroup(&output))
	completeFlag(cmd, "to", a.completeClusters)
	return cmd
}

func (a *app) checkpointCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "checkpoint ID",
		Short: "Save a running job now",
		Long: `Saves a running job so that it can be continued from this moment, and lets it run
on. The checkpoint is safe when the command returns.`,
		Example:           "  godwit checkpoint 7",
		Args:              jobArgument,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.steer(cmd.Context(), output, func(c *api.Client) (api.Done, error) { return c.Checkpoint(cmd.Context(), args[0]) })
		},
	}
	groupFlags(cmd, outputGroup(&output))
	return cmd
}

// steer asks for something and says that it was done.
func (a *app) steer(ctx context.Context, output string, do func(*api.Client) (api.Done, error)) error {
	return a.askBroker(ctx, func(c *api.Client) error {
		done, err := do(c)
		if err != nil {
			return err
		}
		if output == "json" {
			return writeJSON(a.stdout, done)
		}
		_, err = fmt.Fprintln(a.stdout, done.Text)
		return err
	})
}
