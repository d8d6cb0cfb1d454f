package adaptive

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/loads"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

func (r *Results) writeCalibration(b *strings.Builder) {
	b.WriteString("\n## (e) Calibration\n\nA prediction is a distribution. Of all 90 % bands 90 % should hold the " +
		"actual end, and the\nmedian should be near it. Judged in the same way in simulated and in live runs: the " +
		"first\nprediction after 1/3, 1/2, 2/3 and 5/6 of each run; the error is that of the remaining time, as a\npart of " +
		"it. ± is the standard error, runs being independent of each other; the interval of the\nmedian error holds it " +
		"with 95 % (runs drawn again).\n")
	r.writeSimulated(b)
	r.writeLive(b)
	r.writeTogether(b)
	r.writeTrialBands(b)
}

func (r *Results) writeSimulated(b *strings.Builder) {
	if len(r.Simulated) == 0 {
		return
	}
	b.WriteString("\n### Simulated runs\n\nCPU-bound programs under generated and recorded loads that were not used to " +
		"choose the constants of\nthe predictor; what they need is known to 0.5 % to 3 % (`go test " +
		"./internal/experiment/calibration -v`).\n")
	b.WriteString("\n| rule | load | runs | bands that hold | width of the band | median error | 0.9 quantile of the " +
		"error |\n| --- | --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, s := range r.Simulated {
		for i, load := range s.Loads {
			if s.Rule == calibration.ChangePoint || load == calibration.Changing || load == loads.Alone {
				v := s.Verdicts[i]
				fmt.Fprintf(b, "| %s | %s | %s |\n", s.Rule, load, verdictCells(&v))
			}
		}
	}
	b.WriteString("\nThe change-point rule is ours and the default; fixed N = 10 is the paper's; the width of the\nband " +
		"and the error are parts of the time that was left.\n")
}

func verdictCells(v *calibration.Verdict) string {
	return fmt.Sprintf("%d | %.1f ± %.1f %% | %.0f %% | %.1f %% (%.1f to %.1f) | %.0f %%", v.Runs, 100*v.Holds,
		100*v.Deviation, 100*v.Width,
		100*v.Middle, 100*v.MiddleBetween[0], 100*v.MiddleBetween[1], 100*v.Off9)
}

// judgedPredictions are the predictions of all live runs.
func (l *LiveResults) judgedPredictions(of func(*LiveRun) []calibration.Judged) []calibration.Judged {
	var all []calibration.Judged
	for i := range l.Runs {
		all = append(all, of(&l.Runs[i])...)
	}
	return all
}

func (r *Results) writeLive(b *strings.Builder) {
	l := r.Live
	if l == nil || len(l.Runs) == 0 {
		return
	}
	set := "those not used to choose the constants of the predictor"
	if l.Plan.Choosing {
		set = "**those used to choose the constants of the predictor**"
	}
	beside := "the other core idle but for the broker"
	if l.Plan.AtOnce == 2 {
		beside = "two at once, one on each core"
	}
	m := &l.Machine
	fmt.Fprintf(b, "\n### Live runs\n\n%d real runs of %s, submitted to the real broker, watched by the real agent "+
		"every %s;\n%s. Each takes about %.1f s alone. Real\nprograms compete for its core: under the recorded loads (%s) "+
		"they take of it what\nthe record says, each value for one to five intervals; under the generated ones whole "+
		"programs\n"+
		"come and go. What a program needs is known from history: %d runs alone, and the runs before; half of\nthe runs, "+
		"by chance, also have the pattern of the steps that they report, as their job files do.\nMeasured on %s, %d cores "+
		"(%s).\n",
		len(l.Runs), strings.Join(l.programNames(), " and "), shortDuration(l.Plan.Sample), beside, l.Plan.Length.Seconds(),
		set, l.Plan.Learn, m.At.Format("2 January 2006"), m.CPUs, m.Model)
	b.WriteString("\n![Predicted against actual remaining time of live runs](" + folder + "/live.svg)\n")
	b.WriteString("\n| load | runs | bands that hold | width of the band | median error | 0.9 quantile of the error " +
		"|\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	names, verdicts := calibration.SplitByLoad(l.judgedPredictions((*LiveRun).JudgedPredictions), loads.Alone)
	for i, name := range names {
		fmt.Fprintf(b, "| %s | %s |\n", name, verdictCells(&verdicts[i]))
	}
	for _, prog := range l.programNames() {
		for _, steps := range []bool{false, true} {
			v := calibration.SumUp(l.judgedPredictions(func(run *LiveRun) []calibration.Judged {
				if run.Program != prog || run.Steps != steps {
					return nil
				}
				return run.JudgedPredictions()
			}))
			from := "its need known from history"
			if steps {
				from += ", and its steps"
			}
			if v.N > 0 {
				fmt.Fprintf(b, "| changing, `%s`, %s | %s |\n", prog, from, verdictCells(&v))
			}
		}
	}
	known := calibration.SumUp(l.judgedPredictions((*LiveRun).NeedKnown))
	fmt.Fprintf(b, "| changing, had the need been known before | %s |\n", verdictCells(&known))
	l.writeMachine(b)
}

// writeMachine tells how much the machine itself disturbed.
func (l *LiveResults) writeMachine(b *strings.Builder) {
	b.WriteString("\nThe last row predicts the same samples again with the CPU time that the run then took: what " +
		"is\nleft is the error of the share, the rest comes from programs that do not need the same each time.\nWhat the " +
		"machine itself did:\n\n| program | CPU time | varies by | median error of the need | stolen by the hypervisor | " +
		"used by whoever else was there |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
	for _, prog := range l.programNames() {
		var used, off []float64
		steal, foreign, took := 0.0, 0.0, 0.0
		for i := range l.Runs {
			run := &l.Runs[i]
			if run.Program != prog {
				continue
			}
			used = append(used, run.Used)
			steal, foreign, took = steal+run.Steal, foreign+run.Foreign, took+run.Took
			if n := len(run.Points); n > 0 && !run.Steps { // else it was said by the steps
				off = append(off, math.Abs(run.Points[n/2].Need/run.Used-1))
			}
		}
		s := measured.SpreadOf(used)
		fmt.Fprintf(b, "| `%s` | %.2f ± %.2f s | %.1f %% | %s | %.2f %% | %.1f %% |\n", prog, s.Mean, s.Sd, 100*s.Sd/s.Mean,
			formatPercent(measured.Median(off)), 100*steal/took, 100*foreign/took)
	}
}

// programNames lists those that ran.
func (l *LiveResults) programNames() []string {
	var list []string
	for i := range l.Runs {
		if !slices.Contains(list, l.Runs[i].Program) {
			list = append(list, l.Runs[i].Program)
		}
	}
	return list
}

// Names of runs: the two halves of the live ones, by what they are predicted from,
// and the live and the simulated ones together.
const (
	fromHistory = "live, the need from history"
	fromSteps   = "live, also from steps"
	both        = "both"
)

// eachCalibration tells the verdicts on predictions under changing load: live (by what
// they were made from, and all), simulated and both, of those that there are.
func (r *Results) eachCalibration(tell func(name string, v *calibration.Verdict)) {
	simulated := slices.DeleteFunc(slices.Clone(r.Judged),
		func(j calibration.Judged) bool { return j.Load == loads.Alone })
	if r.Live == nil || len(r.Live.Runs) == 0 || len(simulated) == 0 {
		return
	}
	live := r.Live.judgedPredictions((*LiveRun).JudgedPredictions)
	from := func(steps bool) []calibration.Judged {
		return r.Live.judgedPredictions(func(run *LiveRun) []calibration.Judged {
			if run.Steps != steps {
				return nil
			}
			return run.JudgedPredictions()
		})
	}
	for _, row := range []struct {
		name string
		of   []calibration.Judged
	}{{fromHistory, from(false)}, {fromSteps, from(true)}, {"live, all", live}, {"simulated", simulated},
		{both, slices.Concat(live, simulated)}} {
		if len(row.of) > 0 {
			v := calibration.SumUp(row.of)
			tell(row.name, &v)
		}
	}
}

func (r *Results) writeTogether(b *strings.Builder) {
	begun := false
	r.eachCalibration(func(name string, v *calibration.Verdict) {
		if !begun {
			begun = true
			b.WriteString("\n### Together\n\n| changing load | runs | bands that hold | width of the band | median error | " +
				"0.9 quantile of the error |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
		}
		fmt.Fprintf(b, "| %s | %s |\n", name, verdictCells(v))
	})
}

func (r *Results) writeTrialBands(b *strings.Builder) {
	if len(r.Trials) == 0 {
		return
	}
	b.WriteString("\n### The runs of (a) to (c)\n\nEvery prediction that was shown. Predictions of one run are not " +
		"independent of each other, and a\nband given before the others came could not know of them:\n")
	b.WriteString("\n| program | alone | disturbed, without the service | with it |\n| --- | ---: | ---: | ---: |\n")
	for i := range r.Trials {
		t := &r.Trials[i]
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", t.Name, formatShare(bandsOf(t.Alone)), formatShare(bandsOf(t.Without)),
			formatShare(bandsOf(t.With)))
	}
}

// liveFigure shows predicted against actual remaining time of all live runs, and one
// run of each kind of load.
func (l *LiveResults) liveFigure() plot.Figure {
	all := plot.Chart{Title: "All runs", XLabel: "actual remaining time", YLabel: "predicted remaining time",
		XUnit: plot.Seconds, YUnit: plot.Seconds}
	top := 0.0
	judged := l.judgedPredictions((*LiveRun).JudgedPredictions)
	for _, j := range judged {
		top = max(top, j.Actual)
	}
	all.XRange, all.YRange = plot.Range{Max: top}, plot.Range{Max: 1.25 * top}
	names, _ := calibration.SplitByLoad(judged, loads.Alone)
	var charts []plot.Chart
	for i, name := range names {
		var x, y []float64
		for _, j := range judged {
			if j.Load == name {
				x, y = append(x, j.Actual), append(y, min(j.Mid, 1.25*top))
			}
		}
		if len(x) == 0 { // all loads together
			continue
		}
		all.Series = append(all.Series, testbed.WithStyle(plot.NewScatter(name, x, y), 1+i))
		for n := range l.Runs {
			if run := &l.Runs[n]; run.Load == name && len(run.Points) > 0 {
				charts = append(charts, run.predictionChart())
				break
			}
		}
	}
	all.Series = append(all.Series, testbed.StraightLine("predicted = actual", 0, 0, top, top))
	charts = append([]plot.Chart{all}, charts...)
	f := plot.NewGrid((len(charts)+1)/2, 2, charts...)
	f.CellWidth, f.CellHeight = 320, 230
	return f
}

// predictionChart draws the predicted remaining time of a run against the actual one.
func (r *LiveRun) predictionChart() plot.Chart {
	c := Course{Name: r.Program + ", " + r.Load}
	c.Final.Submitted, c.Final.Ended = momentAt(0), momentAt(r.Took)
	for _, p := range r.Points {
		c.Points = append(c.Points, Point{At: p.At, Early: p.Early, Mid: p.Mid, Late: p.Late})
	}
	return c.leftChart()
}

// momentAt is so many seconds after the beginning of time, for what has only a length.
func momentAt(s float64) *api.Time {
	return &api.Time{Time: time.Unix(0, int64(s*1e9))}
}
