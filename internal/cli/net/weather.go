package net

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

const weatherLong = `Shows what was measured of a network and its hosts, and what it will be next: by
the broker's own sensors, or in a file.

A broker measures between the machines that it reaches over SSH, its own included:
bandwidth and latency of each way, the CPU share and the free memory of each host,
never twice at once on a link and with less than 1 % of what it carries. Between
two sites one pair of hosts stands for all. What transfers achieve counts too. Where
no way was measured, what a file describes is shown, marked as such. The settings
are weather: {probe: on|off|30s, budget: 0.5%, network: FILE} in the broker's
configuration.

A file of measurements is CSV with a header, the columns being time (seconds, or
like 2026-05-01T12:00:00Z), from, to and what was measured: mbps (bandwidth), ms
(latency), cpu (share, 0 to 1), mb (free memory); cells may be empty. Or JSON:
{"measurements": [{"time": 0, "from": "a", "to": "b", "mbps": 94.1}]}. Or lines of
seconds and Mbit/s of one path.

26 forecasters run side by side on each series. The forecast is their mean,
weighted by how little each erred so far; the interval holds for 90 % of what
comes. With --over it is of the mean over that time from the last value on.

Exit codes: 0 done, 1 no broker runs or there is nothing to draw, 2 wrong usage or
bad input.`

const weatherExample = `  # What has the broker measured, and what will it be?
  godwit weather

  # Between all hosts, on average over the next ten minutes
  godwit weather --matrix --over 10m

  # As a network from which hosts are chosen: of one cluster, and at once
  godwit weather --graph --on lab
  godwit select --graph live --pattern ring -m 4

  # What will the bandwidth be that others have recorded?
  godwit weather --from examples/networks/weather.csv

  # A matrix by which godwit select --graph chooses hosts
  godwit weather --from examples/networks/weather.csv -o csv

  # How good have the forecasts been?
  godwit weather --from examples/networks/weather.csv --plot weather.svg`

// weatherFlags is what the user asked for.
type weatherFlags struct {
	from   string
	what   string
	hosts  []string
	over   time.Duration
	plot   string
	output string
	matrix bool
	graph  bool
	on     string
	since  time.Duration
}

func (a *app) weatherCommand() *cobra.Command {
	f := &weatherFlags{output: "table", since: 6 * time.Hour}
	cmd := &cobra.Command{
		Use:     "weather [--from FILE] [flags]",
		Short:   "Show bandwidths, latencies and loads, and what they will be",
		Long:    weatherLong,
		Example: weatherExample,
		Args:    term.NoArguments,

		DisableFlagsInUseLine: true,
		RunE:                  func(cmd *cobra.Command, _ []string) error { return a.reportWeather(cmd.Context(), f) },
	}
	var names []string
	for _, q := range measured.AllQuantities() {
		names = append(names, string(q))
	}
	outputs := []string{"table", "matrix", "csv", "json"}
	in, out := term.NewGroup("What to forecast"), term.NewGroup("Output")
	in.Flags.StringVar(&f.from, "from", "",
		"measurements of others instead of the broker's: `FILE` (CSV, JSON, or lines of\nseconds and Mbit/s)")
	in.Flags.Var(term.ChoiceFlag(&f.what, names...), "what", "only this quantity")
	in.Flags.StringSliceVar(&f.hosts, "host", nil, "only what is about this `HOST`; of two: what lies between them")
	in.Flags.Var(term.PositiveDurationFlag(&f.over), "over", "forecast the mean over this time; without it the next value")
	out.Flags.VarP(term.ChoiceFlag(&f.output, outputs...), "output", "o",
		"how results are printed: a table or matrices for people,\nCSV for godwit select (Mbit/s, the worse direction), "+
			"JSON for programs")
	out.Flags.BoolVar(&f.matrix, "matrix", false,
		"the same as -o matrix: each quantity from host to host; with -o json also there")
	out.Flags.BoolVar(&f.graph, "graph", false,
		"the network as JSON that godwit select --graph reads (the broker's alone)")
	out.Flags.StringVar(&f.on, "on", "", "with --graph: only the hosts of `CLUSTER`")
	out.Flags.StringVar(&f.plot, "plot", "",
		"also draw the series and how they were forecast: `FILE`.svg, their values\nbeside it as CSV")
	out.Flags.Var(term.PositiveDurationFlag(&f.since), "since",
		"with --plot: so much of what the broker has measured (6h)")
	out.Flags.BoolP("help", "h", false, "show this help")
	term.GroupFlags(cmd, in, out)
	term.CompleteNames(cmd, "what", names)
	term.CompleteNames(cmd, "output", outputs)
	return cmd
}

// reportWeather reads, forecasts and prints.
func (a *app) reportWeather(ctx context.Context, f *weatherFlags) error {
	if f.matrix && f.output == "table" {
		f.output = "matrix"
	}
	if f.from == "" {
		return a.liveWeather(ctx, f)
	}
	if f.graph {
		return &badinput.Error{Field: "--graph",
			Problem: "only without --from; for a file -o csv prints the matrix that godwit select reads"}
	}
	list, err := measured.Read(f.from)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(s *measured.Series) bool { return !f.wantsSeries(string(s.What), s.From, s.To) })
	if len(list) == 0 {
		return &badinput.Error{Field: cmp.Or(nonEmpty("--what", f.what), "--host"),
			Value: cmp.Or(f.what, strings.Join(f.hosts, ",")), Want: "something that " + f.from + " has"}
	}
	r := &weatherReport{Levels: predict.Levels()}
	for _, s := range list {
		one, err := newSeriesReport(s, f.over)
		if err != nil {
			return err
		}
		r.Series = append(r.Series, one)
	}
	if err := a.drawPlot(f, list); err != nil {
		return err
	}
	return a.printWeather(f, r)
}

// wantsSeries reports whether a series is asked for.
func (f *weatherFlags) wantsSeries(what, from, to string) bool {
	if f.what != "" && f.what != what {
		return false
	}
	one, other := slices.Contains(f.hosts, from), slices.Contains(f.hosts, to)
	switch len(f.hosts) {
	case 0:
		return true
	case 1:
		return one || other
	}
	return one && other
}

func nonEmpty(name, value string) string {
	if value == "" {
		return ""
	}
	return name
}

// drawPlot draws series if that is asked for, and says which are left out.
func (a *app) drawPlot(f *weatherFlags, list []*measured.Series) error {
	if f.plot == "" {
		return nil
	}
	values := term.ValuesBeside(f.plot)
	if values != "" && f.from != "" && isSameFile(values, f.from) {
		return &badinput.Error{Field: "--plot", Value: f.plot,
			Want: "another name: the values of the chart would be written over " + f.from}
	}
	figure, err := weatherFigure(list)
	if err != nil {
		return err
	}
	if err := term.SaveFigure(&figure, f.plot, values); err != nil {
		return err
	}
	a.SayChart(f.plot)
	if len(list) > maxPlots {
		a.SayLine(fmt.Sprintf("%s: the first %d of %d series; --host and --what choose others", f.plot, maxPlots, len(list)))
	}
	return nil
}

// weatherReport is what is known and what will be; programs read its JSON.
type weatherReport struct {
	Series   []seriesReport           `json:"series"`
	Levels   [predict.NLevels]float64 `json:"levels"`             // of the quantiles
	Matrices []matrixReport           `json:"matrices,omitempty"` // with --matrix

	live bool // of a broker, not of a file
}

type seriesReport struct {
	What      measured.Quantity `json:"what"`
	From      string            `json:"from,omitempty"`
	To        string            `json:"to,omitempty"`
	Values    int               `json:"values"`
	At        float64           `json:"at"` // seconds, of the last value
	Last      float64           `json:"last"`
	Step      float64           `json:"step_s"` // usual time between values
	Steps     int               `json:"steps"`  // the forecast is the mean of so many values
	Forecast  float64           `json:"forecast"`
	Error     float64           `json:"error"` // mean absolute, to be expected
	Quantiles []float64         `json:"quantiles"`
	By        string            `json:"by"` // the forecaster that counts most
	Part      float64           `json:"part"`
	AgeS      *float64          `json:"age_s,omitempty"`     // of the last value, of what is measured now
	Described bool              `json:"described,omitempty"` // in a file, for both directions; not measured

	low, high float64 // of the 90 % interval
	name      string
}

func newSeriesReport(s *measured.Series, over time.Duration) (seriesReport, error) {
	f := forecast.New(s.What.ForecastConfig())
	for _, x := range s.Readings {
		if err := f.AddValue(x.At, x.Value); err != nil {
			return seriesReport{}, err
		}
	}
	at, last, _ := f.LastValue()
	next, _ := f.ForecastUntil(at.Add(over))
	return seriesReport{
		What: s.What, From: s.From, To: s.To, Values: f.Len(), At: at.Seconds(), Last: last, Step: f.UsualStep().Seconds(),
		Steps: next.Steps, Forecast: next.Value, Error: next.Error, Quantiles: next.Dist.Quantiles(), By: next.By,
		Part: next.Part,
		low:  next.Dist.Quantile(0.05), high: next.Dist.Quantile(0.95), name: s.SeriesName(),
	}, nil
}

// isSameFile tells whether two names are of one file that exists.
func isSameFile(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}
