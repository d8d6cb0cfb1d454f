package model

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/observe/measure"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

type predictFlags struct {
	size         float64
	host, output string
}

func (a *app) predictCommand() *cobra.Command {
	f := new(predictFlags)
	cmd := &cobra.Command{
		Use:   "predict --size N [--host FILE|here] [MODEL]",
		Short: "Say how long a program takes at a size",
		Long: `Says how much CPU time a program needs at a size, with the interval that nine of
ten runs should fall into, by a model that godwit model fit wrote; without one by
the newest in this folder. Without --host for the host where it was fitted, which, if
that is this one, is looked at for half a second: half of what it is faster or slower
now than then is taken to last. --host here for this one; a FILE has the rates of
another, as godwit model host printed them there.`,
		Example: `  godwit model predict --size 4000
  godwit model predict --size 4000 matmul.model -o json

  # For another host
  ssh leeds godwit model host > leeds.json
  godwit model predict --size 4000 --host leeds.json`,
		DisableFlagsInUseLine: true,
		Args:                  cobra.MaximumNArgs(1),
		RunE:                  func(cmd *cobra.Command, args []string) error { return a.predictTime(cmd.Context(), f, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.Var(term.NumberFlag(&f.size, math.SmallestNonzeroFloat64, 1e15), "size", "the size")
	flags.StringVar(&f.host, "host", "", "rates of the host: `FILE`, or here")
	term.OutputFlag(flags, &f.output)
	return cmd
}

// predictReport is what the command prints for programs.
type predictReport struct {
	Model    string    `json:"model"`
	Host     string    `json:"host"`
	Size     float64   `json:"size"`
	Seconds  float64   `json:"seconds"`
	Low      float64   `json:"low_s"`
	High     float64   `json:"high_s"`
	Count    float64   `json:"operations"`
	Waiting  float64   `json:"memory_s"`
	Touching float64   `json:"paging_s"`
	Misses   []float64 `json:"misses"`
	Beyond   float64   `json:"beyond"` // how many times the largest size that ran
}

func (a *app) predictTime(ctx context.Context, f *predictFlags, args []string) error {
	if f.size == 0 {
		return &badinput.Error{Field: "--size", Want: "the size to predict for is needed"}
	}
	m, path, err := readModel(strings.Join(args, ""))
	if err != nil {
		return err
	}
	name, on, err := a.predictHost(ctx, m, f.host)
	if err != nil {
		return err
	}
	p, err := a.predictNow(ctx, m, f.size, on)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &badinput.Error{File: path, Field: "--size", Value: fmt.Sprint(f.size), Problem: err.Error()}
	}
	r := predictReport{Model: path, Host: name, Size: f.size, Seconds: p.Seconds.Value, Low: p.Seconds.Low,
		High:  p.Seconds.High,
		Count: p.Count.Value, Waiting: p.Waiting, Touching: p.Touching, Misses: term.OrEmpty(p.Misses),
		Beyond: f.size / m.Work.To}
	if f.output == "json" {
		return term.WriteJSON(a.Stdout, r)
	}
	return a.printPrediction(r)
}

// predictNow predicts for a host; if that is this one, and the one on which the model
// was made, it counts how slow it is just now.
func (a *app) predictNow(ctx context.Context, m *perfmodel.Model, size float64,
	on *perfmodel.Host) (perfmodel.Prediction, error) {
	here, err := os.Hostname()
	if on != nil || err != nil || here != m.Host.Name {
		return m.Predict(size, on)
	}
	slow, err := measure.CurrentSlowness(ctx, SlownessOf(m.Host))
	if err != nil {
		return m.Predict(size, nil)
	}
	return m.PredictNow(size, slow)
}

// predictHost is the host to predict for; nil for that of the model.
func (a *app) predictHost(ctx context.Context, m *perfmodel.Model, host string) (string, *perfmodel.Host, error) {
	var h perfmodel.Host
	switch host {
	case "":
		return m.Host.Name, nil, nil
	case "here":
		var err error
		if h, err = HostRates(ctx); err != nil {
			return "", nil, err
		}
	default:
		text, err := readSmall(host)
		if err != nil {
			return "", nil, err
		}
		if h, err = perfmodel.DecodeHost(text); err != nil {
			return "", nil, &badinput.Error{File: host, Want: "rates as godwit model host prints them", Err: err}
		}
	}
	if h.Name == m.Host.Name && h.Operations == m.Host.Operations {
		return h.Name, nil, nil // no other
	}
	return h.Name, &h, nil
}

func (a *app) printPrediction(r predictReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at size %s on %s: %s of CPU time, 90 %% interval %s to %s\n",
		strings.TrimSuffix(r.Model, modelSuffix), term.FormatDigits(r.Size), r.Host, term.FormatDuration(r.Seconds),
		term.FormatDuration(r.Low), term.FormatDuration(r.High))
	if r.Waiting > 0.005*r.Seconds || r.Touching > 0.005*r.Seconds {
		fmt.Fprintf(&b, "  of these %s waiting for memory and %s for the kernel to give it\n", term.FormatDuration(r.Waiting),
			term.FormatDuration(r.Touching))
	}
	if r.Beyond > 20 {
		fmt.Fprintf(&b, "  that is %s times the largest size that ran: fit larger ones to know better\n",
			term.FormatDigits(r.Beyond))
	}
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

func (a *app) hostCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "host",
		Short: "Measure this host's rates, for predictions",
		Long: `Measures operations a second, caches and memory of this host, in about three seconds,
and prints them as JSON for godwit model predict --host FILE. What was measured
three times on a model of CPU is remembered.`,
		Example: `  godwit model host`,
		Args:    term.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := HostRates(cmd.Context())
			if err != nil {
				return err
			}
			return term.WriteJSON(a.Stdout, h)
		},
	}
}

func (a *app) showCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "show [MODEL]",
		Short:   "Show what a model rests on",
		Example: `  godwit model show matmul.model`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			m, path, err := readModel(strings.Join(args, ""))
			if err != nil {
				return err
			}
			if output == "json" {
				return term.WriteJSON(a.Stdout, fitReportOf(m, path))
			}
			return a.printFit(m, path)
		},
	}
	term.OutputFlag(cmd.Flags(), &output)
	return cmd
}

// fitReport is what fit and show print for programs.
type fitReport struct {
	Model      string          `json:"model"`
	Command    []string        `json:"command"`
	Counter    string          `json:"counter"`
	Host       string          `json:"host"`
	Formula    string          `json:"formula"`
	Error      float64         `json:"cross_validation_error"`
	PaceError  float64         `json:"time_error"`
	Memory     bool            `json:"memory"`
	Runs       []perfmodel.Run `json:"runs"`
	Candidates []candidate     `json:"candidates"`
}

type candidate struct {
	Formula string  `json:"formula"`
	Weight  float64 `json:"weight"`
	Error   float64 `json:"cross_validation_error"`
}

func fitReportOf(m *perfmodel.Model, path string) fitReport {
	best := m.Work.BestFormula()
	r := fitReport{Model: path, Command: m.Command, Counter: m.Counter, Host: m.Host.Name, Formula: best.String(),
		Error:     best.Error,
		PaceError: m.Pace.Error, Memory: m.Memory != nil, Runs: m.Runs}
	for _, f := range m.Work.Formulas {
		r.Candidates = append(r.Candidates, candidate{f.String(), f.Weight, f.Error})
	}
	return r
}

func (a *app) printFit(m *perfmodel.Model, path string) error {
	t := term.NewTable("size", "instructions", "CPU time", "runs", "spread").AlignRight(0, 1, 2, 3, 4)
	if m.Counter == perfmodel.CounterTime {
		t.Header[1] = "operations"
	}
	for _, r := range m.Runs {
		t.AddRow(term.FormatDigits(r.Size), term.FormatDigits(r.Count), term.FormatDuration(r.CPU), fmt.Sprint(r.Runs),
			term.FormatPercent(r.Noise))
	}
	if err := t.PrintTable(a.Stdout, a.TerminalWidth()); err != nil {
		return err
	}
	best := m.Work.BestFormula()
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s (counted by %s)\n  %s\n", strings.Join(m.Command, " "), m.Counter, best)
	say := func(name, value string) { fmt.Fprintf(&b, "  %-37s%s\n", name, value) }
	say("error at sizes it was not fitted to", term.FormatPercent(best.Error))
	say("error of the CPU time", term.FormatPercent(m.Pace.Error))
	if n := len(m.Work.Formulas) - 1; n > 0 {
		say("other formulas in play", fmt.Sprintf("%d, %s in weight", n, term.FormatPercent(1-best.Weight)))
	}
	if m.SlowOff > 0 {
		say("slowness of the host meanwhile", fmt.Sprintf("%.2f ± %.2f", m.Slow, m.SlowOff))
	}
	if m.Memory != nil {
		say("caches simulated", fmt.Sprintf("at %d sizes", sizesOf(m.Misses)))
	}
	if m.Streams > 0 {
		say("streams that its loops read at once", fmt.Sprintf("%.1f", m.Streams))
	}
	fmt.Fprintf(&b, "%s\n", path)
	_, err := fmt.Fprint(a.Stdout, b.String())
	return err
}

func sizesOf(list []perfmodel.Misses) int {
	seen := map[float64]bool{}
	for _, m := range list {
		seen[m.Size] = true
	}
	return len(seen)
}
