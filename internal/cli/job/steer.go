package job

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) migrateCommand() *cobra.Command {
	var output, to string
	cmd := &cobra.Command{
		Use:   "migrate ID… [--to CLUSTER]",
		Short: "Move a job to another cluster",
		Long: `Checkpoints a running job and continues it on another cluster: the one that --to
names, else where it is expected to end soonest. A job is migrated only to a cluster
where it may run (--on) and that has room for it now; else it stays, and the command
prints the reason. A job without a checkpoint starts again from the beginning, and
the command says so.

A waiting job is removed from the queue that it waits in, also that of Slurm or Grid
Engine, and waits for the other cluster.` + jobsHelp,
		Example: `  godwit migrate 7
  godwit migrate 7 --to right`,
		Args:                  jobArguments,
		ValidArgsFunction:     a.completeJobs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.steerJobs(cmd.Context(), args, output,
				func(c *api.Client, id string) (api.Done, error) { return c.MigrateJob(cmd.Context(), id, to) })
		},
	}
	where := term.NewGroup("Where to")
	where.Flags.StringVar(&to, "to", "", "the `CLUSTER` to move it to")
	term.GroupFlags(cmd, where, term.OutputGroup(&output))
	term.CompleteFlag(cmd, "to", a.CompleteClusters)
	return cmd
}

func (a *app) resizeCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "resize ID CORES",
		Short: "Give a running job more or fewer cores",
		Long: `Changes how many cores a running job of kind malleable or moldable has, within the
bounds of its procs.

The program of a malleable job on this machine, or on a plain machine behind SSH, is
offered more, as far as there are, and may take less; fewer it has to accept: one that
does not within the grace time (intervals.shrink_grace in the settings) is stopped and
started again, from its last checkpoint if it has one. docs/guides/malleable.md says how
a program does that.

A moldable job, and a malleable one elsewhere, is checkpointed and started again with so
many; without a checkpoint it begins anew.

The command returns when that has happened. The job keeps that size: the broker neither
gives it more when cores are idle nor takes some for jobs that wait, until its size is
auto.`,
		Example: `  godwit resize 7 2
  godwit resize last 6
  godwit resize 7 auto`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &badinput.Error{Problem: cmd.CommandPath() + " needs a job and a number of cores, as in: godwit resize 7 4"}
			}
			return nil
		},
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			size := api.Resize{Auto: args[1] == "auto"}
			if !size.Auto {
				var err error
				if size.Cores, err = strconv.Atoi(args[1]); err != nil || size.Cores < 1 {
					return &badinput.Error{Field: "cores", Value: args[1], Want: "a number, at least 1, or auto"}
				}
			}
			return a.steerJobs(cmd.Context(), args[:1], output,
				func(c *api.Client, id string) (api.Done, error) { return c.ResizeJob(cmd.Context(), id, size) })
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) checkpointCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "checkpoint ID…",
		Short: "Checkpoint running jobs now",
		Long: `Checkpoints running jobs, which run on. The checkpoint is on disk when the command
returns.` + jobsHelp,
		Example:           "  godwit checkpoint 7",
		Args:              jobArguments,
		ValidArgsFunction: a.completeJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.steerJobs(cmd.Context(), args, output,
				func(c *api.Client, id string) (api.Done, error) { return c.CheckpointJob(cmd.Context(), id) })
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

// steerJobs asks for something to be done with each job and says that it was done.
func (a *app) steerJobs(ctx context.Context, args []string, output string,
	do func(c *api.Client, id string) (api.Done, error)) error {
	return a.AskBroker(ctx, func(c *api.Client) error {
		jobs, err := selectJobs(ctx, c, args, false, true)
		if err != nil {
			return err
		}
		all := []api.Done{}
		for i := range jobs {
			done, err := do(c, jobRef(&jobs[i]))
			if err != nil {
				return err
			}
			all = append(all, done)
			if output != "json" {
				if _, err := fmt.Fprintln(a.Stdout, done.Text); err != nil {
					return err
				}
			}
		}
		switch {
		case output != "json":
			return nil
		case len(all) == 1:
			return term.WriteJSON(a.Stdout, all[0])
		}
		return term.WriteJSON(a.Stdout, all)
	})
}
