package net

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/connect"
	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// errNobodyMeasures is told instead of starting a broker: it would not know
// anything yet.
var errNobodyMeasures = errors.New("no broker runs, and only a broker measures: start one with `godwit up`, or name " +
	"a file of measurements with --from")

// askRunning runs do with a connection to a broker that runs.
func (a *app) askRunning(ctx context.Context, do func(*api.Client) error) error {
	if os.Getenv(api.SocketSetting) != "" {
		return a.AskBroker(ctx, do)
	}
	state, err := api.StateDir()
	if err != nil {
		return err
	}
	c, err := a.DialBroker(api.SocketPath(state))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := a.PingUntilClear(ctx, c); connect.NobodyThere(err) {
		shared, err := a.SharedBroker(ctx)
		if err != nil {
			return err
		}
		if shared == nil {
			return errNobodyMeasures
		}
		defer shared.Close()
		return do(shared)
	} else if err != nil {
		return err
	}
	return do(c)
}

// liveWeather shows what the broker has measured.
func (a *app) liveWeather(ctx context.Context, f *weatherFlags) error {
	if f.on != "" && !f.graph {
		return &badinput.Error{Field: "--on", Value: f.on, Want: "only together with --graph"}
	}
	return a.askRunning(ctx, func(c *api.Client) error {
		if f.graph {
			g, err := c.WeatherGraph(ctx, f.on, f.over)
			if err != nil {
				return err
			}
			if len(g.Links) == 0 {
				return errNoNetwork
			}
			return term.WriteJSON(a.Stdout, g)
		}
		since := time.Duration(0)
		if f.plot != "" {
			since = f.since
		}
		w, err := c.GetWeather(ctx, f.over, since)
		if err != nil {
			return err
		}
		r := liveReport(&w)
		if !r.knowsWays() {
			g, err := c.WeatherGraph(ctx, "", f.over)
			if err != nil {
				return err
			}
			r.addDescribed(&g)
		}
		return a.showWeather(f, &w, r)
	})
}

// showWeather shows what is asked for of what the broker knows.
func (a *app) showWeather(f *weatherFlags, w *api.Weather, r *weatherReport) error {
	any := len(r.Series) > 0
	r.Series = slices.DeleteFunc(r.Series,
		func(s seriesReport) bool { return !f.wantsSeries(string(s.What), s.From, s.To) })
	if len(r.Series) == 0 && f.output != "json" {
		if any {
			a.SayLine("nothing is known of these; leave out --what and --host to see everything")
		} else {
			a.SayLine(nothingMeasured(w))
		}
		return nil
	}
	readings := slices.DeleteFunc(w.Readings, func(r api.Reading) bool { return !f.wantsSeries(r.What, r.From, r.To) })
	if f.plot != "" && len(readings) == 0 {
		return &nothingToDrawError{f}
	}
	if err := a.drawPlot(f, seriesOf(readings)); err != nil {
		return err
	}
	return a.printWeather(f, r)
}

// nothingToDrawError is that no values are kept of what is to be drawn.
type nothingToDrawError struct{ f *weatherFlags }

func (e *nothingToDrawError) Error() string {
	return "--plot " + e.f.plot + ": there is nothing to draw: no value " + e.f.ofWhat() +
		"was measured and kept in the last " + term.FormatDuration(e.f.since.Seconds()) +
		"; --since 24h asks for more, and what is measured now is kept after some seconds"
}

// ofWhat says what is asked for, if it is not everything.
func (f *weatherFlags) ofWhat() string {
	text := ""
	if f.what != "" {
		text += "of " + f.what + " "
	}
	if len(f.hosts) > 0 {
		text += "of " + strings.Join(f.hosts, " and ") + " "
	}
	return text
}

// errNoNetwork is that there is no network to choose from.
var errNoNetwork = errors.New("no two hosts are known to be connected: `godwit weather` says what is measured; a " +
	"network that may not be measured can be described in a file (weather: {network: FILE} in the settings)")

// nothingMeasured says what to do about it.
func nothingMeasured(w *api.Weather) string {
	switch w.Sensors {
	case 0:
		return "nothing is measured: that needs a cluster that the broker reaches over SSH (ssh: in its settings) and " +
			"probe: on; nor does a file describe a network (weather: {network: FILE})"
	case 1:
		return "1 host has begun to measure; ask again in a minute"
	}
	return term.PluralNoun(int64(w.Sensors), "host") + " have begun to measure; ask again in a minute"
}

// knowsWays reports whether any way from host to host was measured.
func (r *weatherReport) knowsWays() bool {
	return slices.ContainsFunc(r.Series, func(s seriesReport) bool { return s.What == measured.Mbps })
}

// addDescribed adds the ways of a network of which none was measured, so that all it
// says is from a file.
func (r *weatherReport) addDescribed(g *api.Graph) {
	var mbps, ms []seriesReport
	for _, l := range g.Links {
		s := seriesReport{What: measured.Mbps, From: l.A, To: l.B, Forecast: l.Mbps, Quantiles: []float64{}, Described: true,
			name: l.A + " and " + l.B}
		mbps = append(mbps, s)
		if l.Ms > 0 {
			s.What, s.Forecast = measured.Ms, l.Ms
			ms = append(ms, s)
		}
	}
	r.Series = slices.Concat(mbps, ms, r.Series)
}

// liveReport is the broker's series as those of a file.
func liveReport(w *api.Weather) *weatherReport {
	r := &weatherReport{Series: []seriesReport{}, Levels: predict.Levels(), live: true}
	for i := range w.Series {
		s := &w.Series[i]
		one := seriesReport{What: measured.Quantity(s.What), From: s.From, To: s.To, Values: s.Values,
			At: float64(s.At.UnixMilli()) / 1e3, Last: s.Last,
			Step: s.StepS, Steps: s.Steps, Forecast: s.Forecast, Error: s.Error, Quantiles: s.Quantiles, By: s.By, Part: s.Part,
			AgeS: &s.AgeS}
		if d, ok := predict.FromQuantiles(s.Quantiles); ok {
			one.low, one.high = d.Quantile(0.05), d.Quantile(0.95)
		}
		one.name = (&measured.Series{From: s.From, To: s.To}).SeriesName()
		r.Series = append(r.Series, one)
	}
	return r
}

// liveTable has a line for each series.
func (r *weatherReport) liveTable() *term.Table {
	t := term.NewTable("what", "between", "last", "forecast", "±", "age", "values", "by").AlignRight(2, 3, 4, 5, 6)
	t.Optional = []string{"by", "values", "age"}
	for i := range r.Series {
		s := &r.Series[i]
		if s.Described {
			t.AddRow(string(s.What), s.name, "-", term.FormatDigits(s.Forecast), "-", "-", "-",
				"described in a file, not measured")
			continue
		}
		by := s.By
		if s.Part < 0.995 {
			by += ", " + intText(int(100*s.Part+0.5)) + " % of the ensemble"
		}
		t.AddRow(string(s.What), s.name, term.FormatDigits(s.Last), term.FormatDigits(s.Forecast), term.FormatDigits(s.Error),
			term.FormatDuration(*s.AgeS), intText(s.Values), by)
	}
	return t
}

// seriesOf are the series that values belong to, which come series by series.
func seriesOf(list []api.Reading) []*measured.Series {
	var all []*measured.Series
	for _, r := range list {
		what := measured.Quantity(r.What)
		if n := len(all); n == 0 || all[n-1].What != what || all[n-1].From != r.From || all[n-1].To != r.To {
			all = append(all, &measured.Series{What: what, From: r.From, To: r.To})
		}
		s := all[len(all)-1]
		s.Readings = append(s.Readings, measured.Reading{At: core.Time(r.At), Value: r.Value})
	}
	return all
}

// readNetwork reads a network: that of the broker where it is called live and no
// file is.
func (a *app) readNetwork(ctx context.Context, name string) (*nodesel.Network, error) {
	if _, err := os.Stat(name); err == nil || name != "live" && name != "weather" {
		return netgraph.ReadNetwork(name)
	}
	var n *nodesel.Network
	err := a.askRunning(ctx, func(c *api.Client) error {
		g, err := c.WeatherGraph(ctx, "", 0)
		if err != nil {
			return err
		}
		if len(g.Links) == 0 {
			return errNoNetwork
		}
		text, err := json.Marshal(g)
		if err != nil {
			return err
		}
		n, err = netgraph.ParseNetwork(name, text)
		return err
	})
	return n, err
}
