package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// pruneAge is what pruning spares by default: submissions under way are younger.
const pruneAge = 10 * time.Minute

func (a *app) depotCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "depot",
		Short: "Show and free disk space of sent files and checkpoints",
		Long: `The depot of the broker keeps the files that jobs bring along, write and save: the
content of working directories, results that were not copied back yet, and
checkpoints, each file once. What no job needs any more is dropped after an hour by
itself; prune drops it now.`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.depotUsageCommand(), a.depotPruneCommand())
	return cmd
}

func (a *app) depotUsageCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what is in the depot, by job",
		Long: `Shows how much disk space the depot takes, how much of it no job needs, and what the
jobs that have not ended keep in it. The sizes of jobs are those of their files; on
disk content is compressed, and what jobs share is there once.`,
		Example: "  godwit depot usage\n  godwit depot usage -o json",
		Args:    term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				u, err := c.DepotUsage(cmd.Context(), pruneAge)
				if err != nil {
					return err
				}
				if output == "json" {
					return term.WriteJSON(a.Stdout, u)
				}
				return a.printDepot(&u)
			})
		},
	}
	term.GroupFlags(cmd, term.OutputGroup(&output))
	return cmd
}

func (a *app) printDepot(u *api.DepotUsage) error {
	if _, err := fmt.Fprintf(a.Stdout, "%s on disk, %s of it unused (godwit depot prune frees it)\n",
		term.BytesText(u.Bytes), term.BytesText(u.Unused)); err != nil {
		return err
	}
	if len(u.Held) == 0 {
		return nil
	}
	t := term.NewTable("job", "name", "size", "age", "what").AlignRight(0, 2, 3)
	t.Shrinks = 1
	for i := range u.Held {
		h := &u.Held[i]
		t.AddRow(fmt.Sprint(h.Job), h.Name, term.BytesText(h.Bytes), term.FormatDuration(h.AgeS), h.What)
	}
	return t.PrintTable(a.Stdout, a.TerminalWidth())
}

func (a *app) depotPruneCommand() *cobra.Command {
	var output string
	var dry bool
	older := pruneAge
	cmd := &cobra.Command{
		Use:   "prune [--older-than TIME] [--dry-run]",
		Short: "Free what no job needs",
		Long: `Frees the disk space of what no job needs any more and nobody sent or used within
--older-than. 0s spares nothing, not even the files of a submission under way.`,
		Example:               "  godwit depot prune --dry-run\n  godwit depot prune --older-than 1h",
		Args:                  term.NoArguments,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.AskBroker(cmd.Context(), func(c *api.Client) error {
				return a.pruneDepot(cmd.Context(), c, api.DepotPrune{OlderS: older.Seconds(), DryRun: dry}, output)
			})
		},
	}
	what := term.NewGroup("What to free")
	what.Flags.Var(term.DurationFlag(&older), "older-than", "only what nobody used for this `TIME` (10m)")
	what.Flags.BoolVar(&dry, "dry-run", false, "only say how much it would be")
	term.GroupFlags(cmd, what, term.OutputGroup(&output))
	return cmd
}

func (a *app) pruneDepot(ctx context.Context, c *api.Client, p api.DepotPrune, output string) error {
	u, err := c.PruneDepot(ctx, p)
	if err != nil {
		return err
	}
	if output == "json" {
		return term.WriteJSON(a.Stdout, u)
	}
	text := term.BytesText(u.Freed) + " freed, " + term.BytesText(u.Bytes) + " in use"
	if p.DryRun {
		text = term.BytesText(u.Unused) + " would be freed of " + term.BytesText(u.Bytes)
	}
	_, err = fmt.Fprintln(a.Stdout, text)
	return err
}
