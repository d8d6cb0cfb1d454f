package chart

import (
	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// UtilizationChart is the share of all processors in use over time.
func UtilizationChart(runs []Run) plot.Chart {
	c := courseChart(runs, "Utilization", "cores in use", func(r Run, i int) float64 {
		return float64(r.Series.Used[i]) / float64(r.Procs)
	})
	c.YUnit = plot.Percent
	return c
}

// UsedCoresChart is the number of processors in use over time.
func UsedCoresChart(runs []Run) plot.Chart {
	return courseChart(runs, "Cores in use", "cores", func(r Run, i int) float64 { return float64(r.Series.Used[i]) })
}

// QueueChart is the number of waiting jobs over time.
func QueueChart(runs []Run) plot.Chart {
	c := courseChart(runs, "Waiting jobs", "jobs submitted and not running", func(r Run, i int) float64 {
		return float64(r.Series.Waiting[i])
	})
	c.YUnit = plot.Count
	return c
}

// OperationsChart is the number of changes of size, grown and shrunk, up to each
// moment.
func OperationsChart(runs []Run) plot.Chart {
	c := plot.Chart{Title: "Grow and shrink operations", XLabel: "time", YLabel: "operations so far", XUnit: plot.Seconds}
	for _, run := range runs {
		if run.Series == nil {
			continue
		}
		x, y := seriesPoints(run.Series, func(i int) float64 { return float64(run.Series.Grows[i] + run.Series.Shrinks[i]) })
		c.Series = append(c.Series, plot.Series{Name: run.Name, Kind: plot.Step, X: x, Y: y, Style: run.Style})
	}
	return c
}

// courseChart draws a value that holds until it changes. A curve with more changes
// than can be seen is averaged; of several curves fewer can be seen.
func courseChart(runs []Run, title, label string, value func(r Run, i int) float64) plot.Chart {
	c := plot.Chart{Title: title, XLabel: "time", YLabel: label, XUnit: plot.Seconds}
	visible, windows := 3000, 400
	if len(runs) > 1 {
		visible, windows = 400, 120
	}
	for _, run := range runs {
		if run.Series == nil {
			continue
		}
		x, y := seriesPoints(run.Series, func(i int) float64 { return value(run, i) })
		if len(x) > visible {
			x, y = averageWindows(x, y, windows)
		}
		c.Series = append(c.Series, plot.Series{Name: run.Name, Kind: plot.Step, X: x, Y: y, Style: run.Style})
	}
	return c
}

// seriesPoints are the changes of a series, in seconds from its beginning.
func seriesPoints(s *outcome.Series, value func(i int) float64) (x, y []float64) {
	var start core.Time
	for i, at := range s.At {
		if i == 0 {
			start = at
		}
		x, y = append(x, at.Sub(start).Seconds()), append(y, value(i))
	}
	return x, y
}

// averageWindows is the mean of each of so many windows of equal length.
func averageWindows(x, y []float64, windows int) (ax, ay []float64) {
	first, last := x[0], x[len(x)-1]
	width := (last - first) / float64(windows)
	i := 0
	for w := range windows {
		from, to := first+float64(w)*width, first+float64(w+1)*width
		sum := 0.0
		for at := from; at < to; {
			for i+1 < len(x) && x[i+1] <= at {
				i++
			}
			until := to
			if i+1 < len(x) {
				until = min(to, x[i+1])
			}
			sum += y[i] * (until - at)
			at = until
		}
		ax, ay = append(ax, from), append(ay, sum/width)
	}
	return append(ax, last), append(ay, ay[len(ay)-1])
}
