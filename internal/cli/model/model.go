// Package model is the commands of performance models: godwit model fit, predict, redistribute,
// show and host. It must not know how models are fitted.
package model

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/host/calibrate"
	"github.com/godwit-hpc/godwit/internal/observe/measure"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// app is the program whose commands these are.
type app struct{ *term.App }

// NewCommand is godwit model with the commands below it.
func NewCommand(program *term.App) *cobra.Command {
	a := &app{program}
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Learn from small runs of a program how long large ones take",
		Long: `Runs a program at a few small sizes, counts what it does, and finds the formula
behind the counts. From then on the CPU time at any size is predicted, here or on
another host, with an interval that nine of ten runs should fall into.`,
		Example: `  godwit model fit --sizes 100,200,400,800 -- ./examples/apps/build/matmul {n}
  godwit model predict --size 4000`,
		Args: a.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.fitCommand(), a.predictCommand(), a.redistributeCommand(), a.showCommand(), a.hostCommand())
	return cmd
}

type fitFlags struct {
	sizes                 []float64
	counter, name, output string
	budget                time.Duration
}

func (a *app) fitCommand() *cobra.Command {
	f := &fitFlags{counter: measure.Auto, budget: time.Minute}
	cmd := &cobra.Command{
		Use:   "fit --sizes N,N,N[,…] [flags] -- CMD ARGS…",
		Short: "Run a program at several sizes and fit a model",
		Long: `Runs a program at several sizes on this host, and writes NAME.model. {n} in the
command stands for the size.

Operations are counted by the CPU (perf), where the kernel gives its
counters, else under valgrind, else CPU time stands for them. Under valgrind
caches of many capacities are simulated too: how often a line is missing from each
tells how the program uses memory. Which terms the formula has (n, n log n, n², …)
is decided by how well those fitted to some sizes foretell the others.

Choose sizes whose largest run takes some ten milliseconds or more: shorter ones
tell little about the pace of the program.`,
		Example: `  godwit model fit --sizes 100,200,400,800 -- ./examples/apps/build/matmul {n}

  # By CPU time alone: fast, and for programs that valgrind cannot run
  godwit model fit --sizes 500,1000,2000 --counter time -- python3 primes.py {n}`,
		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.fitProgram(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(sizeList(&f.sizes), "sizes", "sizes to run at, each larger than the one before")
	flags.Var(term.ChoiceFlag(&f.counter, measure.Auto, perfmodel.CounterPerf, perfmodel.CounterValgrind,
		perfmodel.CounterTime), "counter", "how to count operations")
	flags.StringVar(&f.name, "name", "", "write `NAME`.model; else as the program is called")
	flags.Var(term.PositiveDurationFlag(&f.budget), "budget",
		"time for simulating caches; larger sizes are left out of it (1m)")
	term.OutputFlag(flags, &f.output)
	return cmd
}

// sizeList is a flag with sizes.
func sizeList(to *[]float64) term.Checked[[]float64] {
	want := fmt.Errorf("at least %d numbers above 0, each larger than the one before, like 100,200,400",
		perfmodel.MinSizes)
	return term.CheckedFlag(to, "N,N,N", nil, func(text string) ([]float64, error) {
		var list []float64
		for part := range strings.SplitSeq(text, ",") {
			v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
			if err != nil || !(v > 0) || v > 1e15 || len(list) > 0 && v <= list[len(list)-1] {
				return nil, want
			}
			list = append(list, v)
		}
		if len(list) < perfmodel.MinSizes || len(list) > 100 {
			return nil, want
		}
		return list, nil
	})
}

const modelSuffix = ".model"

func (a *app) fitProgram(ctx context.Context, f *fitFlags, argv []string) error {
	switch {
	case len(f.sizes) == 0:
		return &badinput.Error{Field: "--sizes", Want: "the sizes to run at are needed, like --sizes 100,200,400,800"}
	case len(argv) == 0:
		return &badinput.Error{Field: "command", Want: "a program is needed after --, with {n} where its size stands"}
	case !slices.ContainsFunc(argv[1:], func(s string) bool { return strings.Contains(s, measure.Placeholder) }):
		return &badinput.Error{Field: "command", Value: strings.Join(argv, " "),
			Problem: "{n} is needed where the size stands"}
	case strings.ContainsRune(f.name, '/'):
		return &badinput.Error{Field: "--name", Value: f.name, Want: "a name without /"}
	}
	if f.name == "" {
		f.name = strings.TrimSuffix(filepath.Base(argv[0]), filepath.Ext(argv[0]))
	}
	out, err := outfile.Create(f.name + modelSuffix)
	if err != nil {
		return err
	}
	defer out.Discard()
	host, err := HostRates(ctx)
	if err != nil {
		return err
	}
	tell, done := a.PhaseProgress()
	m, err := measure.FitModel(ctx,
		measure.Options{Program: measure.Program{Argv: argv, Slowness: SlownessOf(host)}, Name: f.name, Sizes: f.sizes,
			Counter: f.counter,
			Host:    host, Budget: f.budget, Clock: a.Now, Tell: tell})
	done()
	var cannot *measure.NoCounterError
	if errors.As(err, &cannot) {
		return &badinput.Error{Field: "--counter", Value: f.counter, Problem: cannot.Err.Error()}
	}
	if err != nil {
		return ExplainFailure(a.App, err)
	}
	text, err := m.EncodeFile()
	if err == nil {
		_, err = out.Write(text)
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return err
	}
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, fitReportOf(m, f.name+modelSuffix))
	}
	return a.printFit(m, f.name+modelSuffix)
}

// ExplainFailure tells how a fitted program ended, and prints what it said.
func ExplainFailure(a *term.App, err error) error {
	var failed *measure.FailedError
	if !errors.As(err, &failed) {
		return err
	}
	for line := range strings.Lines(failed.Last) {
		_, _ = fmt.Fprintf(a.Stderr, "  %s\n", strings.TrimRight(line, "\n")) // what it said; the error follows
	}
	return fmt.Errorf("%s: %s", strings.Join(failed.Argv, " "), failed.How)
}

// HostRates are those of this host, measured a few times and then remembered.
func HostRates(ctx context.Context) (perfmodel.Host, error) {
	state, err := api.StateDir()
	if err != nil {
		return perfmodel.Host{}, err
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return perfmodel.Host{}, err
	}
	return calibrate.CachedHost(ctx, filepath.Join(state, "rates.json"))
}

// SlownessOf is how much longer than in its best moments a CPU of this host needs for
// the same work just now.
func SlownessOf(host perfmodel.Host) func(cpu int) (float64, error) {
	return func(cpu int) (float64, error) {
		pulse, err := calibrate.MeasurePulse(cpu)
		return pulse * host.Speed, err
	}
}

// readModel reads a model: the file named, or the newest in this folder.
func readModel(path string) (*perfmodel.Model, string, error) {
	if path == "" {
		var newest time.Time
		names, _ := filepath.Glob("*" + modelSuffix) // the pattern is sound
		for _, name := range names {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() &&
				(path == "" || info.ModTime().After(newest)) {
				path, newest = name, info.ModTime()
			}
		}
		if path == "" {
			return nil, "", &badinput.Error{Field: "model",
				Problem: "no .model file in this folder: name one, or make one with godwit model fit"}
		}
	}
	text, err := readSmall(path)
	if err != nil {
		return nil, "", err
	}
	m, err := perfmodel.DecodeFile(text)
	if err != nil {
		return nil, "", &badinput.Error{File: path, Want: "a model as godwit model fit writes it", Err: err}
	}
	return m, path, nil
}

// maxModel is far above what any fit writes.
const maxModel = 64 << 20

// readSmall reads a file that must be there and may not be huge.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &badinput.Error{File: path, Problem: "no such file"}
	case err != nil:
		return nil, &badinput.Error{File: path, Problem: "cannot be read", Err: err}
	case !info.Mode().IsRegular() || info.Size() > maxModel:
		return nil, &badinput.Error{File: path, Want: "a file of less than 64 MB"}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, &badinput.Error{File: path, Problem: "cannot be read", Err: err}
	}
	return text, nil
}
