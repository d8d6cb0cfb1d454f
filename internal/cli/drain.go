package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func (a *app) drainCommand() *cobra.Command {
	var output, reason string
	cmd := &cobra.Command{
		Use:   "drain CLUSTER|CLUSTER/HOST… [--reason TEXT]",
		Short: "Place nothing new on a cluster or host",
		Long: `Has nothing new placed on a cluster, or on one host of it. What runs there runs on
to its end; jobs that only wait there are placed elsewhere. Jobs that can run nowhere
else wait, and show and explain say who drained it, since when and why. It stays
drained, also when the broker or the cluster is started again, until godwit undrain.

Hosts can be drained where Godwit itself chooses them: on this machine and in clusters
of machines behind SSH. Slurm (scontrol) and Grid Engine (qmod) drain their own hosts.
If one of the names is wrong, nothing is drained. With a broker of several users only
root can do this.`,
		Example: `  godwit drain leeds --reason "new disks on Tuesday"
  godwit drain desks/desk2 leeds
  godwit clusters`,
		Args:                  someClusters,
		ValidArgsFunction:     a.CompleteClusters,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDrains(cmd.Context(), output, func(c *api.Client) ([]api.Drained, error) {
				return c.DrainClusters(cmd.Context(), &api.Drains{Names: args, Reason: reason})
			})
		},
	}
	why := term.NewGroup("Why")
	why.Flags.StringVar(&reason, "reason", "", "`TEXT` that those read whose jobs wait")
	term.GroupFlags(cmd, why, term.OutputGroup(&output))
	return cmd
}

func (a *app) undrainCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "undrain CLUSTER|CLUSTER/HOST…",
		Short: "Use a drained cluster or host again",
		Long: `Has clusters and hosts used again that were drained (godwit drain). Jobs that waited
for them are placed at once. If one of the names is wrong, nothing is changed.`,
		Example: `  godwit undrain leeds
  godwit undrain desks/desk2`,
		Args:              someClusters,
		ValidArgsFunction: a.CompleteClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeDrains(cmd.Context(), output, func(c *api.Client) ([]api.Drained, error) {
				return c.UndrainClusters(cmd.Context(), &api.Drains{Names: args})
			})
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func someClusters(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return &badinput.Error{Problem: cmd.CommandPath() + " needs the name of a cluster, or of a host as CLUSTER/HOST " +
			"(godwit clusters lists them)"}
	}
	return nil
}

// changeDrains has the broker drain or undrain something and says what came of it.
func (a *app) changeDrains(ctx context.Context, output string, do func(*api.Client) ([]api.Drained, error)) error {
	return a.AskBroker(ctx, func(c *api.Client) error {
		list, err := do(c)
		if err != nil {
			return err
		}
		if output == "json" {
			return term.WriteJSON(a.Stdout, term.OrEmpty(list))
		}
		for i := range list {
			if _, err := fmt.Fprintln(a.Stdout, list[i].Text); err != nil {
				return err
			}
		}
		return nil
	})
}
