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
		Short: "Move a running job",
		Long: `Saves a running job, moves it and lets it go on elsewhere: in the cluster that
--to names, else where it is expected to end soonest.`,
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
