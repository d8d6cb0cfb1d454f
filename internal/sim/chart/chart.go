// Package chart draws the results of runs beside each other: who used how
// much when, who waited, and how sizes and times are distributed. It decides
// what is on the axes and how much detail a reader can see; how a chart looks
// is for package plot. It must not know what the runs were about.
package chart

import (
	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// Run is one run with the name that it has in the legend. It may pool the jobs
// of several runs: only the first has a course over time then.
type Run struct {
	Name    string
	Style   int // see plot.Series
	Records []outcome.Record
	Series  *outcome.Series // nil: not drawn over time
	Procs   int             // of the platform
}

// measure is a number of a job.
type measure func(r *outcome.Record) float64

// MeanSizes is the distribution of the mean sizes of jobs.
func MeanSizes(runs []Run) plot.Chart {
	return distributionChart(runs, "Mean size of jobs", "cores, mean over the execution", plot.Plain,
		(*outcome.Record).MeanSize)
}

// MaxSizes is the distribution of the largest sizes that jobs had.
func MaxSizes(runs []Run) plot.Chart {
	return distributionChart(runs, "Largest size of jobs", "cores, largest during the execution", plot.Plain,
		func(r *outcome.Record) float64 { return float64(r.MaxSize) })
}

// ExecutionTimes is the distribution of the times that jobs ran.
func ExecutionTimes(runs []Run) plot.Chart {
	return distributionChart(runs, "Execution time", "time from start to end", plot.Seconds, (*outcome.Record).RunSeconds)
}

// ResponseTimes is the distribution of the times from submission to end.
func ResponseTimes(runs []Run) plot.Chart {
	return distributionChart(runs, "Response time", "time from submission to end", plot.Seconds,
		(*outcome.Record).ResponseSeconds)
}

// distributionChart is over completed jobs. Where the times of traces reach from
// seconds to days a logarithmic axis shows them all.
func distributionChart(runs []Run, title, label string, unit plot.Unit, of measure) plot.Chart {
	c := plot.Chart{Title: title, XLabel: label, YLabel: "cumulative share of jobs",
		XUnit: unit, YUnit: plot.Percent, YRange: plot.Range{Max: 1}}
	least, most := 0.0, 0.0
	for _, run := range runs {
		var samples []float64
		for i := range run.Records {
			if r := &run.Records[i]; r.State == core.Done {
				x := of(r)
				samples = append(samples, x)
				most = max(most, x)
				if x > 0 && (least == 0 || x < least) {
					least = x
				}
			}
		}
		s := plot.NewCDF(run.Name, samples)
		s.Style = run.Style
		c.Series = append(c.Series, s)
	}
	const wide = 1000
	c.LogX = least > 0 && most > wide*least
	if !c.LogX && most > 0 {
		c.XRange = plot.Range{Max: most}
	}
	return c
}
