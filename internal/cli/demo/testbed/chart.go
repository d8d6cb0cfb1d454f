package testbed

import "github.com/godwit-hpc/godwit/internal/report/plot"

// Record is what the charts show of a job, all in seconds since its submission.
type Record struct {
	Name        string
	Took        float64
	Deadline    float64 // 0 if it has none
	LoadAt      float64 // when competitors started; 0 if they never did
	Moves       []float64
	Predictions []Prediction
}

// Prediction is the end that was predicted at one moment.
type Prediction struct {
	At               float64
	Early, Mid, Late float64 // 5 %, 50 %, 95 %
}

// Styles of the series, the same in all charts.
const (
	StylePredicted = 1 + iota
	styleLoad
	styleActual
	styleMove
	_
	styleInterval
	styleDeadline
)

// headroom is how much higher a chart is than what it must show.
const headroom = 1.25

// RemainingChart draws the predicted remaining time of a job against the actual one.
func (r *Record) RemainingChart() plot.Chart {
	top := headroom * max(r.Took, r.Deadline)
	c := plot.Chart{Title: r.Name, XLabel: "time since submission", YLabel: "remaining time", XUnit: plot.Seconds,
		YUnit:  plot.Seconds,
		XRange: plot.Range{Max: r.Took}, YRange: plot.Range{Max: top}}
	c.Series = r.predictedSeries("predicted", func(end, at float64) float64 { return max(0, end-at) })
	c.Series = append(c.Series, styledLine("actual", 0, r.Took, r.Took, 0, styleActual))
	if r.Deadline > 0 {
		end := min(r.Took, r.Deadline)
		c.Series = append(c.Series, styledLine("to the deadline", 0, r.Deadline, end, r.Deadline-end, styleDeadline))
	}
	c.Series = append(c.Series, r.eventMarks(top)...)
	return c
}

// EndCharts draw the predicted end of jobs over time, with the same axes, the deadline
// and the actual end.
func EndCharts(records ...*Record) []plot.Chart {
	longest, top := 0.0, 0.0
	for _, r := range records {
		longest, top = max(longest, r.Took), max(top, headroom*max(r.Took, r.Deadline))
	}
	var charts []plot.Chart
	for _, r := range records {
		c := plot.Chart{Title: r.Name, XLabel: "time since submission", YLabel: "predicted end", XUnit: plot.Seconds,
			YUnit:  plot.Seconds,
			XRange: plot.Range{Max: longest}, YRange: plot.Range{Max: top}}
		c.Series = r.predictedSeries("predicted end", func(end, _ float64) float64 { return min(end, top) })
		c.Series = append(c.Series, r.eventMarks(top)...)
		c.Series = append(c.Series, WithStyle(plot.NewScatter("actual end", []float64{r.Took}, []float64{r.Took}),
			styleActual))
		if r.Deadline > 0 {
			c.Lines = append(c.Lines, plot.RefLine{Name: "deadline", Y: r.Deadline})
		}
		charts = append(charts, c)
	}
	return charts
}

// predictedSeries are the predictions with their 90 % interval; value makes of a predicted
// end and its moment what is drawn.
func (r *Record) predictedSeries(name string, value func(end, at float64) float64) []plot.Series {
	var at, early, mid, late []float64
	for _, p := range r.Predictions {
		at = append(at, p.At)
		early, mid, late = append(early, value(p.Early, p.At)), append(mid, value(p.Mid, p.At)),
			append(late, value(p.Late, p.At))
	}
	return []plot.Series{
		WithStyle(plot.NewLine(name, at, mid), StylePredicted),
		WithStyle(plot.NewArea("90 % interval", at, early, late), styleInterval),
	}
}

// eventMarks are vertical lines where competitors started and where the job was migrated.
func (r *Record) eventMarks(top float64) []plot.Series {
	var list []plot.Series
	if r.LoadAt > 0 {
		list = append(list, styledLine("other programs start", r.LoadAt, 0, r.LoadAt, top, styleLoad))
	}
	for i, at := range r.Moves {
		name := "migrated"
		if i > 0 {
			name = ""
		}
		list = append(list, styledLine(name, at, 0, at, top, styleMove))
	}
	return list
}

// StraightLine is a line from one point to another in the style of a deadline.
func StraightLine(name string, x0, y0, x1, y1 float64) plot.Series {
	return styledLine(name, x0, y0, x1, y1, styleDeadline)
}

func styledLine(name string, x0, y0, x1, y1 float64, style int) plot.Series {
	line := WithStyle(plot.NewLine(name, []float64{x0, x1}, []float64{y0, y1}), style)
	line.NoMarkers = true
	return line
}

// WithStyle gives a series one of the styles.
func WithStyle(s plot.Series, style int) plot.Series {
	s.Style = style
	return s
}
