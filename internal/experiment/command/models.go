package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/model"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/models"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
)

type modelsFlags struct {
	programs, results, out, output string
	only                           []string
	again, repeat                  bool
	budget                         time.Duration
}

func (a *app) modelsCommand() *cobra.Command {
	f := &modelsFlags{budget: time.Minute}
	cmd := &cobra.Command{
		Use:   "models",
		Short: "Performance models (papers/003): predicted against measured",
		Long: `Fits the example programs, and others that serve for nothing else, at small sizes,
predicts their CPU time at two, five and ten times the largest of these, and
measures it. Writes models.md with a figure. This is a measurement: it takes some
minutes for each program, and the machine should have nothing else to do. What was
seen is kept in a file, so that programs can be measured in several goes, and the
whole repeated: the report tells the errors of each repeat.`,
		Example: `  godwit-experiments models
  godwit-experiments models --repeat
  godwit-experiments models --only matmul,fft
  godwit-experiments models --out /tmp/report -o json`,
		Args: term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runModels(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.programs, "programs", "examples/apps/build", "the programs are in `DIR` (make examples)")
	flags.StringSliceVar(&f.only, "only", nil, "measure these `PROGRAMS` alone and keep what was seen of the others")
	flags.BoolVar(&f.repeat, "repeat", false, "begin a further repeat and keep what was seen in those before")
	flags.BoolVar(&f.again, "again", false, "measure nothing: fit and predict once more from what was seen")
	flags.StringVar(&f.results, "results", "build/models.json", "keep what was seen in `FILE`")
	flags.StringVar(&f.out, "out", "docs/experiments", "write the report into `DIR`")
	flags.Var(term.PositiveDurationFlag(&f.budget), "budget", "time for simulating the caches of one program (1m)")
	term.OutputFlag(flags, &f.output)
	return cmd
}

// modelsReport is what the command prints for programs.
type modelsReport struct {
	Report   string       `json:"report"`
	Examples modelsResult `json:"examples_at_10"`
	HeldOut  modelsResult `json:"held_out"`
	// Repeats are the mean errors of the examples at ten times the largest fitted size.
	Repeats []float64 `json:"examples_at_10_repeats"`
}

type modelsResult struct {
	MeanError float64 `json:"mean_error"`
	Hold      int     `json:"intervals_hold"`
	Checks    int     `json:"checks"`
}

func (a *app) runModels(ctx context.Context, f *modelsFlags) error {
	if f.again && (f.repeat || len(f.only) > 0) {
		return &badinput.Error{Field: "--again", Problem: "not together with --only or --repeat: nothing is measured"}
	}
	for _, name := range f.only {
		if !slices.Contains(models.ProgramNames(), name) {
			return &badinput.Error{Field: "--only", Value: name, Want: "some of " + strings.Join(models.ProgramNames(), ", ")}
		}
	}
	r := new(models.Results)
	if f.again || f.repeat || len(f.only) > 0 {
		text, err := os.ReadFile(f.results)
		if err == nil {
			if r, err = models.Decode(text); err != nil {
				return &badinput.Error{File: f.results, Want: "results of this experiment (or remove it)", Err: err}
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return &badinput.Error{File: f.results, Problem: "cannot be read", Err: err}
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.results), 0o755); err != nil {
		return err
	}
	if f.repeat {
		r.StartRepeat()
	}
	var err error
	if f.again {
		err = r.RefitAll()
	} else {
		err = a.measureModels(ctx, f, r)
	}
	if err != nil {
		return model.ExplainFailure(&a.App, err)
	}
	if len(r.Cases) == 0 {
		return &badinput.Error{File: f.results, Want: "results of this experiment: run it without --again first"}
	}
	path, err := r.Write(f.out)
	if err != nil {
		return err
	}
	examples, held := r.SummaryAt(10, false), r.SummaryAt(0, true)
	if f.output == "json" {
		return term.WriteJSON(a.Stdout,
			modelsReport{path, modelsResult{examples.Error, examples.Hold, examples.All},
				modelsResult{held.Error, held.Hold, held.All}, term.OrEmpty(r.RepeatErrors(10, false))})
	}
	_, err = fmt.Fprintf(a.Stdout,
		"examples at ten times the largest fitted size: mean error %s, %d of %d intervals hold\nheld out, at two, five and "+
			"ten times: mean error %s, %d of %d intervals hold\n%s\n",
		term.FormatPercent(examples.Error), examples.Hold, examples.All, term.FormatPercent(held.Error), held.Hold, held.All,
		path)
	return err
}

func (a *app) measureModels(ctx context.Context, f *modelsFlags, r *models.Results) error {
	host, err := model.HostRates(ctx)
	if err != nil {
		return err
	}
	tell, done := a.PhaseProgress()
	defer done()
	return r.Run(ctx, models.Plan{Programs: f.programs, Only: f.only, Host: host, Clock: a.Now, Budget: f.budget,
		Slowness: model.SlownessOf(host), Tell: tell,
		Save: func(r *models.Results) error { return saveJSON(f.results, r) }})
}

// saveJSON puts a whole file in its place at once.
func saveJSON(path string, v any) error {
	f, err := outfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := json.NewEncoder(f).Encode(v); err != nil {
		return err
	}
	return f.Commit()
}
