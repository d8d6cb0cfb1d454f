package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/experiment/adaptive"
)

func (a *app) demoCommand() *cobra.Command {
	d := adaptive.DefaultDemo()
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A program with a deadline while its cluster degrades: moved in time, and not moved",
		Long: `Makes two clusters of two processors of this machine and runs an unmodified
program with a deadline in one of them. Then other programs begin to compute
there. With the adaptive service the program is saved, moved and done in time;
the same again without it is late. Prints what happens while it happens and draws
the predicted ends. Takes about a minute and needs no privileges.

Exit codes: 0 if it came out so, 1 if not.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), d) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&d.Jobs, "jobs", d.Jobs, "the programs are in `DIR`")
	flags.StringVar(&d.Figure, "figure", d.Figure, "draw into `FILE`")
	flags.DurationVar(&d.Length, "length", d.Length, "CPU time of the program")
	return cmd
}

var errNotAsPromised = errors.New("the demonstration came out otherwise than it should")

func (a *app) demo(ctx context.Context, d adaptive.Demo) error {
	d.Out = a.stdout
	out, err := d.Play(ctx)
	if err == nil && !out.AsPromised() {
		err = errNotAsPromised
	}
	return err
}
