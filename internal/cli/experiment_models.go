package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/experiment/models"
)

type modelsFlags struct {
	programs, out, output string
	budget                time.Duration
}

func (a *app) modelsCommand() *cobra.Command {
	f := &modelsFlags{budget: time.Minute}
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Performance models (papers/003): predicted against measured at ten times the largest fitted size",
		Long: `Fits the example programs at small sizes, predicts their CPU time at two, five and
ten times the largest of these, and measures it. Writes models.md with a figure.
This is a measurement: it takes some minutes, and the machine should have nothing
else to do.`,
		Example: `  godwit experiment models
  godwit experiment models --out /tmp/report -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.models(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.programs, "programs", "examples/apps/build", "the programs are in `DIR` (make examples)")
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	flags.Var(above(&f.budget), "budget", "time for simulating the caches of one program (1m)")
	outputFlag(flags, &f.output)
	return cmd
}

// modelsReport is what the command prints for programs.
type modelsReport struct {
	Report    string  `json:"report"`
	MeanError float64 `json:"mean_error_at_10"`
	Hold      int     `json:"intervals_hold_at_10"`
	Programs  int     `json:"programs"`
}

func (a *app) models(ctx context.Context, f *modelsFlags) error {
	host, err := a.hostRates(ctx)
	if err != nil {
		return err
	}
	tell, done := a.phases()
	r, err := models.Run(ctx, models.Plan{Programs: f.programs, Host: host, Clock: a.now, Budget: f.budget, Tell: tell})
	done()
	if err != nil {
		return a.fitFailed(err)
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	mean, hold, all := r.At(10)
	if f.output == "json" {
		return writeJSON(a.stdout, modelsReport{path, mean, hold, all})
	}
	_, err = fmt.Fprintf(a.stdout, "at ten times the largest fitted size: mean error %s, %d of %d intervals hold\n%s\n", percent(mean), hold, all, path)
	return err
}
