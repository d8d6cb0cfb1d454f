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

// bands says how well predictions held, in per cent.
type bands struct {
	Runs                          int
	Holds, Deviation, Width       float64
	Middle, MiddleLow, MiddleHigh float64
	Off9                          float64
}

func bandsFrom(v *calibration.Verdict) bands {
	return bands{Runs: v.Runs, Holds: 100 * v.Holds, Deviation: 100 * v.Deviation, Width: 100 * v.Width,
		Middle: 100 * v.Middle, MiddleLow: 100 * v.MiddleBetween[0], MiddleHigh: 100 * v.MiddleBetween[1],
		Off9: 100 * v.Off9}
}

// bandsRow is that of some runs together.
type bandsRow struct {
	Name  string
	Bands bands
}

// simulatedRow is that of one rule under one load.
type simulatedRow struct {
	Rule, Load string
	Bands      bands
}

// simulatedRows are ours under all loads, and the others under changing load and alone.
func (r *Results) simulatedRows() []simulatedRow {
	var rows []simulatedRow
	for _, s := range r.Simulated {
		for i, load := range s.Loads {
			if s.Rule == calibration.ChangePoint || load == calibration.Changing || load == loads.Alone {
				rows = append(rows, simulatedRow{fmt.Sprint(s.Rule), fmt.Sprint(load), bandsFrom(&s.Verdicts[i])})
			}
		}
	}
	return rows
}

// judgedPredictions are the predictions of all live runs.
func (l *LiveResults) judgedPredictions(of func(*LiveRun) []calibration.Judged) []calibration.Judged {
	var all []calibration.Judged
	for i := range l.Runs {
		all = append(all, of(&l.Runs[i])...)
	}
	return all
}

// liveTable is what the report says of live runs.
type liveTable struct {
	*measured.Machine
	Date, Programs, Sample string
	Runs, Learn            int
	Length                 float64
	TwoAtOnce, Choosing    bool
	ByLoad                 []bandsRow
	ByProgram              []programBands
	NeedKnown              bands // had the need of each run been known before
	Disturbance            []disturbance
}

// programBands is that of one program, predicted with or without its steps.
type programBands struct {
	Program string
	Steps   bool
	Bands   bands
}

// disturbance is how much the machine itself disturbed the runs of a program; parts in
// per cent.
type disturbance struct {
	Program                 string
	CPU                     measured.Spread
	Varies, Stolen, Foreign float64
	NeedError               string
}

// reportTable is nil if nothing was run.
func (l *LiveResults) reportTable() *liveTable {
	if l == nil || len(l.Runs) == 0 {
		return nil
	}
	t := &liveTable{Machine: &l.Machine, Date: l.Machine.At.Format("2 January 2006"),
		Programs: strings.Join(l.programNames(), " and "), Sample: shortDuration(l.Plan.Sample), Runs: len(l.Runs),
		Learn: l.Plan.Learn, Length: l.Plan.Length.Seconds(), TwoAtOnce: l.Plan.AtOnce == 2, Choosing: l.Plan.Choosing}
	names, verdicts := calibration.SplitByLoad(l.judgedPredictions((*LiveRun).JudgedPredictions), loads.Alone)
	for i, name := range names {
		t.ByLoad = append(t.ByLoad, bandsRow{fmt.Sprint(name), bandsFrom(&verdicts[i])})
	}
	for _, prog := range l.programNames() {
		for _, steps := range []bool{false, true} {
			v := calibration.SumUp(l.judgedPredictions(func(run *LiveRun) []calibration.Judged {
				if run.Program != prog || run.Steps != steps {
					return nil
				}
				return run.JudgedPredictions()
			}))
			if v.N > 0 {
				t.ByProgram = append(t.ByProgram, programBands{prog, steps, bandsFrom(&v)})
			}
		}
		t.Disturbance = append(t.Disturbance, l.disturbanceOf(prog))
	}
	known := calibration.SumUp(l.judgedPredictions((*LiveRun).NeedKnown))
	t.NeedKnown = bandsFrom(&known)
	return t
}

// disturbanceOf tells how much the machine itself disturbed a program.
func (l *LiveResults) disturbanceOf(prog string) disturbance {
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
	return disturbance{Program: prog, CPU: s, Varies: 100 * s.Sd / s.Mean, Stolen: 100 * steal / took,
		Foreign: 100 * foreign / took, NeedError: formatPercent(measured.Median(off))}
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

func (r *Results) togetherRows() []bandsRow {
	var rows []bandsRow
	r.eachCalibration(func(name string, v *calibration.Verdict) {
		rows = append(rows, bandsRow{name, bandsFrom(v)})
	})
	return rows
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
