package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/demo"
	"github.com/godwit-hpc/godwit/internal/cli/term"
)

const demoLong = `Shows on this machine what Godwit is for. Two cores serve as two clusters. An unmodified
program with a deadline runs on one of them; then other programs start on the same core.
Godwit predicts that the deadline will be missed, writes a checkpoint, migrates the program
to the other cluster, and it completes in time. The same again without migration is late.

What the machine gives is measured first, and program, deadline and load are sized to it: the
demo works on a busy machine too. It takes about a minute, needs no root and no
settings, starts a broker of its own and leaves nothing behind.

Exit codes: 0 if the deadline was met with migration and missed without, 1 if not.`

func (a *app) demoCommand() *cobra.Command {
	d := demo.DefaultDemo()
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a job with a deadline being migrated in time (about a minute)",
		Long:  demoLong,
		Example: `  godwit demo
  godwit demo --figure deadline.svg`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.playDemo(cmd.Context(), d, output) },
	}
	g := term.NewGroup("Output")
	g.Flags.StringVar(&d.Figure, "figure", "", "draw the predicted end over time into `FILE` (SVG)")
	term.OutputFlag(g.Flags, &output)
	g.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, g)
	return cmd
}

func (a *app) playDemo(ctx context.Context, d demo.Demo, output string) error {
	d.Out = a.Stdout
	if output == "json" {
		d.Out = a.Stderr // stdout is for the result
	}
	result, err := d.PlayStory(ctx)
	if output == "json" && result != nil {
		err = errors.Join(term.WriteJSON(a.Stdout, result), err)
	}
	return err
}
