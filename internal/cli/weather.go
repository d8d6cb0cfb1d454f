package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/godwit-hpc/godwit/internal/badinput"
	"github.com/godwit-hpc/godwit/internal/outfile"
	"github.com/godwit-hpc/godwit/internal/predict"
	"github.com/godwit-hpc/godwit/internal/weather/forecast"
	"github.com/godwit-hpc/godwit/internal/weather/measured"
)

const weatherLong = `Shows what was measured of a network and its hosts, and what it will be next.

A file of measurements is CSV with a header, the columns being time (seconds, or
like 2026-05-01T12:00:00Z), from, to and what was measured: mbps (bandwidth), ms
(latency), cpu (share, 0 to 1), mb (free memory); cells may be empty. Or JSON:
{"measurements": [{"time": 0, "from": "a", "to": "b", "mbps": 94.1}]}. Or lines of
seconds and Mbit/s of one path.

26 forecasters run side by side on each series. The forecast is their mean,
weighted by how little each erred so far; the interval holds for 90 % of what
comes. With --over it is of the mean over that time from the last value on.

Exit codes: 0 done, 2 wrong usage or bad input.`

const weatherExample = `  # What will the bandwidth be?
  godwit weather --from examples/networks/weather.csv

  # On average over the next ten minutes, between all hosts
  godwit weather --from examples/networks/weather.csv --over 10m -o matrix

  # A matrix by which godwit select --graph chooses hosts
  godwit weather --from examples/networks/weather.csv -o csv

  # How good have the forecasts been?
  godwit weather --from examples/networks/weather.csv --plot weather.svg`

// weatherFlags is what the user asked for.
type weatherFlags struct {
	from   string
	what   string
	over   time.Duration
	plot   string
	output string
}

func (a *app) weatherCommand() *cobra.Command {
	f := &weatherFlags{output: "table"}
	cmd := &cobra.Command{
		Use:     "weather --from FILE [flags]",
		Short:   "Show bandwidths, latencies and loads, and what they will be",
		Long:    weatherLong,
		Example: weatherExample,
		Args:    noArguments,

		DisableFlagsInUseLine: true,
		RunE:                  func(*cobra.Command, []string) error { return a.weather(f) },
	}
	var names []string
	for _, q := range measured.Quantities() {
		names = append(names, string(q))
	}
	outputs := []string{"table", "matrix", "csv", "json"}
	in, out := newGroup("What to forecast"), newGroup("Output")
	in.flags.StringVar(&f.from, "from", "", "the measurements: `FILE` (CSV, JSON, or lines of seconds and Mbit/s)")
	in.flags.Var(choice(&f.what, names...), "what", "only this quantity")
	in.flags.Var(above(&f.over), "over", "forecast the mean over this time; without it the next value")
	out.flags.VarP(choice(&f.output, outputs...), "output", "o", "how results are printed: a table or matrices for people,\nCSV for godwit select (Mbit/s, the worse direction), JSON for programs")
	out.flags.StringVar(&f.plot, "plot", "", "also draw the series and how they were forecast: `FILE`.svg")
	out.flags.BoolP("help", "h", false, "show this help")
	groupFlags(cmd, in, out)
	completeNames(cmd, "what", names)
	completeNames(cmd, "output", outputs)
	return cmd
}

// weather reads, forecasts and prints.
func (a *app) weather(f *weatherFlags) error {
	if f.from == "" {
		return &badinput.Error{Field: "--from", Want: "a file of measurements is needed"}
	}
	list, err := measured.Read(f.from)
	if err != nil {
		return err
	}
	if f.what != "" {
		list = slices.DeleteFunc(list, func(s *measured.Series) bool { return string(s.What) != f.what })
		if len(list) == 0 {
			return &badinput.Error{Field: "--what", Value: f.what, Want: "something that " + f.from + " has"}
		}
	}
	r := &weatherReport{Levels: predict.Levels()}
	for _, s := range list {
		one, err := newSeriesReport(s, f.over)
		if err != nil {
			return err
		}
		r.Series = append(r.Series, one)
	}
	if f.plot != "" {
		svg, err := weatherPlot(list)
		if err != nil {
			return err
		}
		if err := outfile.WriteAll(f.plot, svg); err != nil {
			return err
		}
	}
	return a.printWeather(f, r)
}

// weatherReport is what is known and what will be; programs read its JSON.
type weatherReport struct {
	Series []seriesReport           `json:"series"`
	Levels [predict.NLevels]float64 `json:"levels"` // of the quantiles
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

	low, high float64 // of the 90 % interval
	name      string
}

func newSeriesReport(s *measured.Series, over time.Duration) (seriesReport, error) {
	f := forecast.New(s.What.Config())
	for _, x := range s.Readings {
		if err := f.Add(x.At, x.Value); err != nil {
			return seriesReport{}, err
		}
	}
	at, last, _ := f.Last()
	next, _ := f.Until(at.Add(over))
	return seriesReport{
		What: s.What, From: s.From, To: s.To, Values: f.Len(), At: at.Seconds(), Last: last, Step: f.Step().Seconds(),
		Steps: next.Steps, Forecast: next.Value, Error: next.Error, Quantiles: next.Dist.Quantiles(), By: next.By, Part: next.Part,
		low: next.Dist.Quantile(0.05), high: next.Dist.Quantile(0.95), name: s.Name(),
	}, nil
}
