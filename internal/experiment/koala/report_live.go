package koala

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sim/chart"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// Comparison is the same scaled runs in the lab and in the simulator.
type Comparison struct {
	Lab, Simulated *Results
	Machine        measured.Machine
	Loads          []string // load averages of the machine at the end of each run
}

// CompareLive simulates what the lab has played, from the scenario files in dir.
func (l *LiveResults) CompareLive(ctx context.Context, dir string) (*Comparison, error) {
	simulated, err := simulateScaled(ctx, dir)
	if err != nil {
		return nil, err
	}
	lab, err := l.toResults(simulated.Procs)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Lab: lab, Simulated: simulated, Machine: l.Machine}
	for i := range l.Runs {
		c.Loads = append(c.Loads, l.Runs[i].Load)
	}
	return c, nil
}

// closeEnough is how far the simulator may be off.
const closeEnough = 0.1

// differenceOf is how far the simulator is off in a total of one run, as a part of what the lab saw.
func (c *Comparison) differenceOf(w Workload, policy string, of total) float64 {
	lab := c.Lab.meanOf(w, policy, of)
	if lab == 0 {
		return 0
	}
	return c.Simulated.meanOf(w, policy, of)/lab - 1
}

// isClose reports whether the simulator is close to the lab in one run.
func (c *Comparison) isClose(w Workload, policy string) bool {
	return math.Abs(c.differenceOf(w, policy, meanResponse)) <= closeEnough &&
		math.Abs(c.differenceOf(w, policy, meanUtilization)) <= closeEnough
}

// liveSection is what the template of the report says of the lab.
type liveSection struct {
	HowOften, Where string
	Metrics         []string
	Rows            []reportRow
	Close, Runs     int // how many of the runs are close in both
	Holding, Wanted int // of the statements that must come out, in the lab
	Verdicts        []liveVerdict
}

// liveVerdict is a statement of the paper in the simulator at full scale, and scaled in both.
type liveVerdict struct {
	Says, Full, Simulated, Lab, Saw string
}

// liveSection gathers what the report says of the lab; nil: nothing was made there.
func (r *Results) liveSection() *liveSection {
	c := r.Lab
	if c == nil {
		return nil
	}
	s := &liveSection{HowOften: c.howOften(), Where: c.machineText()}
	for _, m := range liveMetrics() {
		s.Metrics = append(s.Metrics, m.title)
	}
	eachRun(Workloads(), func(w Workload, policy string) {
		s.Rows = append(s.Rows, c.liveRow(w, policy))
		s.Runs++
		if c.isClose(w, policy) {
			s.Close++
		}
	})
	s.Verdicts = r.liveVerdicts()
	s.Holding, s.Wanted = CountHolding(c.Lab.CheckStatements(), true)
	return s
}

// liveRow is one run: what the simulator says, what the lab saw, and how far apart they are.
func (c *Comparison) liveRow(w Workload, policy string) reportRow {
	row := reportRow{Name: fmt.Sprintf("%s, %s", policyTitle(policy), w.Name)}
	for _, m := range liveMetrics() {
		mean, spread := c.Lab.meanAndSpread(w, policy, m.of)
		text := m.formatShort(c.Simulated.meanOf(w, policy, m.of)) + " / " + m.formatShort(mean)
		if len(c.Lab.runsOf(w, policy)) > 1 {
			text += " ± " + m.formatShort(spread)
		}
		if m.best != 0 {
			text += fmt.Sprintf(" %s (%+.1f %%)", m.unit, 100*c.differenceOf(w, policy, m.of))
		}
		row.Cells = append(row.Cells, text)
	}
	return row
}

// formatShort writes whole numbers of operations as such.
func (m metric) formatShort(x float64) string {
	if m.unit == "" && x == math.Trunc(x) {
		return fmt.Sprintf("%.0f", x)
	}
	return m.formatValue(x)
}

// liveMetrics are the columns of the table; best is set where both have to be close.
func liveMetrics() []metric {
	return []metric{{"response", meanResponse, "s", -1}, {"utilization", meanUtilization, "%", 1},
		{"waiting, s", meanWait, "s", 0}, {"execution, s", meanRunTime, "s", 0}, {"mean size", meanSize, "", 0},
		{"largest size", maxSize, "", 0}, {"grown", growCount, "", 0}, {"shrunk", shrinkCount, "", 0}}
}

func (r *Results) liveVerdicts() []liveVerdict {
	simulated, lab := r.Lab.Simulated.CheckStatements(), r.Lab.Lab.CheckStatements()
	var list []liveVerdict
	for i, v := range r.CheckStatements() {
		if v.Wanted {
			list = append(list, liveVerdict{v.Says, v.VerdictText(), simulated[i].VerdictText(), lab[i].VerdictText(),
				lab[i].Saw})
		}
	}
	return list
}

func (c *Comparison) howOften() string {
	if n := len(c.Lab.runsOf(wm, egs)); n > 1 {
		return fmt.Sprintf("Every run was made %d times in the lab; ± is the standard deviation of one.", n)
	}
	return "Every run was made once in the lab."
}

// machineText is where and when it was measured.
func (c *Comparison) machineText() string {
	loads := slices.Clone(c.Loads)
	slices.SortFunc(loads, func(a, b string) int { return int(1000 * (firstNumber(a) - firstNumber(b))) })
	return fmt.Sprintf("%s, %d cores, %s, %s; load average of a minute at the end of the runs: %.1f to %.1f",
		c.Machine.Model, c.Machine.CPUs, c.Machine.Kernel, c.Machine.At.Format("2 January 2006, 15:04 UTC"),
		firstNumber(loads[0]), firstNumber(loads[len(loads)-1]))
}

// firstNumber is the load average of the last minute; 0 if it is not known.
func firstNumber(load string) (x float64) {
	_, _ = fmt.Sscan(load, &x)
	return x
}

// labFigure is both side by side: response times, utilization, and cores in use over time.
func (c *Comparison) labFigure() plot.Figure {
	f := plot.NewGrid(2, 2,
		c.barChart("Mean response time", plot.Seconds, meanResponse),
		c.barChart("Utilization of the DAS-3", plot.Percent, meanUtilization),
		c.courseChart(wm, egs), c.courseChart(fastM, egs))
	f.CellWidth, f.CellHeight = 460, 230
	return f
}

func (c *Comparison) barChart(title string, unit plot.Unit, of func(*outcome.Summary) float64) plot.Chart {
	chart := plot.Chart{Title: title, YUnit: unit}
	simulated, lab := plot.NewBars("simulator", nil), plot.NewBars("lab", nil)
	eachRun(Workloads(), func(w Workload, policy string) {
		chart.Categories = append(chart.Categories, policyTitle(policy)+" "+w.Name)
		mean, spread := c.Lab.meanAndSpread(w, policy, of)
		simulated.Y, lab.Y = append(simulated.Y, c.Simulated.meanOf(w, policy, of)), append(lab.Y, mean)
		lab.Low, lab.High = append(lab.Low, mean-spread), append(lab.High, mean+spread)
	})
	chart.Series = []plot.Series{simulated, lab}
	return chart
}

// courseChart is the cores in use in the first run of a policy on a workload.
func (c *Comparison) courseChart(w Workload, policy string) plot.Chart {
	var runs []chart.Run
	for _, of := range []struct {
		name string
		r    *Results
	}{{"simulator", c.Simulated}, {"lab", c.Lab}} {
		first := of.r.runsOf(w, policy)[0]
		runs = append(runs, chart.Run{Name: of.name, Records: first.Records, Series: first.Series, Procs: of.r.Procs})
	}
	drawn := chart.UsedCoresChart(runs)
	drawn.Title = fmt.Sprintf("Cores in use, %s on %s", policyTitle(policy), w.Name)
	return drawn
}
