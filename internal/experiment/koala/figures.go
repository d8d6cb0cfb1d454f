package koala

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sim/chart"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// paperFigure is the six parts of figure 7 (PRA) or 8 (PWA) of the paper. The
// distributions are over the jobs of all seeds, the courses over time are
// those of the first seed.
func (r *Results) paperFigure(ws []Workload) plot.Figure {
	var list []chart.Run
	for _, policy := range []string{fpsma, egs} {
		for _, w := range ws {
			list = append(list, r.pooledRun(w, policy))
		}
	}
	parts := []plot.Chart{
		chart.MeanSizes(list), chart.MaxSizes(list), chart.ExecutionTimes(list),
		chart.ResponseTimes(list), chart.UsedCoresChart(list), chart.OperationsChart(list),
	}
	for i := range parts {
		parts[i].Title = fmt.Sprintf("(%c) %s", 'a'+i, parts[i].Title)
	}
	f := plot.NewGrid(3, 2, parts...)
	f.CellWidth, f.CellHeight = 380, 230
	return f
}

// pooledRun is the jobs of all seeds as one run.
func (r *Results) pooledRun(w Workload, policy string) chart.Run {
	run := chart.Run{Name: policyTitle(policy) + " on " + w.Name, Procs: r.Procs}
	for i, one := range r.runsOf(w, policy) {
		run.Records = append(run.Records, one.Records...)
		if i == 0 {
			run.Series = one.Series
		}
	}
	return run
}

// policyFigure is all policies on all workloads: response times and
// utilization, with the standard deviation over the seeds.
func (r *Results) policyFigure() plot.Figure {
	bars := func(name, label string, unit plot.Unit, of func(*outcome.Summary) float64) plot.Chart {
		c := plot.Chart{Title: name, YLabel: label, YUnit: unit}
		for _, w := range Workloads() {
			c.Categories = append(c.Categories, w.Name)
		}
		for _, policy := range Policies() {
			s := plot.NewBars(policy, nil)
			for _, w := range Workloads() {
				mean, spread := r.meanAndSpread(w, policy, of)
				s.Y = append(s.Y, mean)
				s.Low, s.High = append(s.Low, mean-spread), append(s.High, mean+spread)
			}
			c.Series = append(c.Series, s)
		}
		return c
	}
	f := plot.NewGrid(1, 2,
		bars("Mean response time on the DAS-3", "mean ± standard deviation of seeds", plot.Seconds, meanResponse),
		bars("Utilization of the DAS-3", "cores in use, mean ± standard deviation", plot.Percent, meanUtilization))
	f.CellWidth, f.CellHeight = 380, 230
	return f
}
