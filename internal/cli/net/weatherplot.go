package net

import (
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sched/forecast"
)

// maxPlots is how many series are drawn: more do not fit on a page.
const maxPlots = 8

// weatherFigure shows each series, what was forecast for each value before it
// came, and the interval.
func weatherFigure(list []*measured.Series) (plot.Figure, error) {
	var charts []plot.Chart
	for _, s := range list[:min(len(list), maxPlots)] {
		c, err := seriesChart(s)
		if err != nil {
			return plot.Figure{}, err
		}
		charts = append(charts, c)
	}
	cols := 1
	if len(charts) > 1 {
		cols = 2
	}
	return plot.Figure{Rows: (len(charts) + cols - 1) / cols, Cols: cols, Charts: charts, CellWidth: 420,
		CellHeight: 200}, nil
}

// forecastBand is the interval of the forecasts, in the colour of the forecasts.
func forecastBand(at, low, high []float64) plot.Series {
	band := plot.NewArea("5th to 95th percentile", at, low, high)
	band.Style = 2
	return band
}

func seriesChart(s *measured.Series) (plot.Chart, error) {
	f := forecast.New(s.What.ForecastConfig())
	var x, y, at, said, low, high []float64
	first := s.Readings[0].At
	tell := func(t float64) {
		if n, ok := f.ForecastNext(); ok {
			at, said = append(at, t), append(said, n.Value)
			low, high = append(low, n.Dist.Quantile(0.05)), append(high, n.Dist.Quantile(0.95))
		}
	}
	last := 0.0
	for _, r := range s.Readings {
		last = r.At.Sub(first).Seconds()
		tell(last)
		if err := f.AddValue(r.At, r.Value); err != nil {
			return plot.Chart{}, err
		}
		x, y = append(x, last), append(y, r.Value)
	}
	tell(last + f.UsualStep().Seconds())
	title := s.SeriesName()
	if s.From == "" {
		title = ""
	}
	return plot.Chart{
		Title: title, XLabel: "time", YLabel: s.What.Title(), XUnit: plot.Seconds,
		Series: []plot.Series{
			plot.NewStep("measured", x, y), plot.NewLine("forecast", at, said),
			forecastBand(at, low, high),
		},
	}, nil
}
