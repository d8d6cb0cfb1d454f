package programs

import (
	_ "embed" // the template of the report
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
)

// What is wanted of the predictions of all runs together.
const (
	maxError = 0.1
	minHolds = 0.87
	maxHolds = 0.93
)

// Statement is one thing that is wanted, and what was measured.
type Statement struct {
	Says, Saw string
	Holds     bool
}

// judgedPredictions are the predictions of the runs that are wanted.
func (r *Results) judgedPredictions(want func(*Run) bool) []calibration.Judged {
	var all []calibration.Judged
	for i := range r.Runs {
		if want(&r.Runs[i]) {
			all = append(all, r.Runs[i].JudgedPredictions()...)
		}
	}
	return all
}

func everyRun(*Run) bool { return true }

// CheckStatements compares what was measured with what is wanted.
func (r *Results) CheckStatements() []Statement {
	v := calibration.SumUp(r.judgedPredictions(everyRun))
	return []Statement{
		{"the median error of the remaining time, from one third of the run on, is below 10 %",
			fmt.Sprintf("%.1f %% (95 %% interval %.1f to %.1f) in %d runs", 100*v.Middle, 100*v.MiddleBetween[0],
				100*v.MiddleBetween[1], v.Runs), v.N > 0 && v.Middle < maxError},
		{"87 to 93 % of the 90 % bands hold",
			fmt.Sprintf("%.1f ± %.1f %% of %d predictions", 100*v.Holds, 100*v.Deviation, v.N), v.Holds >= minHolds &&
				v.Holds <= maxHolds},
	}
}

// Write writes the report into a folder and says where it is.
func (r *Results) Write(dir string) (string, error) {
	text, err := r.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "predictions.md")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o666)
}

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for; a row of a table is its cells
// with bars between them.
type reportData struct {
	Plan                                  *Plan
	Machine                               *measured.Machine
	Runs                                  int
	Day, Loads, Places                    string
	Missing                               []string
	Statements                            []Statement
	Programs, ByProgram, ByLoad, ByMoment []string
}

func (r *Results) reportMarkdown() (string, error) {
	return measured.RenderReport(reportTemplate, reportData{Plan: &r.Plan, Machine: &r.Machine, Runs: len(r.Runs),
		Day: r.Machine.At.Format("2 January 2006"), Loads: r.loadAverages(), Places: r.Plan.placesUsed(), Missing: r.Missing,
		Statements: r.CheckStatements(),
		Programs:   r.programRows(), ByProgram: r.rowsByProgram(), ByLoad: r.rowsByLoad(), ByMoment: r.rowsByMoment()})
}

// placesUsed says how many runs there were at the same time, and where.
func (p *Plan) placesUsed() string {
	if p.AtOnce == 1 {
		return "one at a time, on one core"
	}
	return "two at once, each on one core"
}

// loadAverages says how busy the machine was: the median of the runs and the extremes.
func (r *Results) loadAverages() string {
	var list []float64
	for i := range r.Runs {
		var x float64
		if _, err := fmt.Sscan(r.Runs[i].Machine, &x); err == nil {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return "unknown"
	}
	slices.Sort(list)
	return fmt.Sprintf("median %.1f, from %.1f to %.1f", list[len(list)/2], list[0], list[len(list)-1])
}

func verdictCells(v *calibration.Verdict) string {
	return fmt.Sprintf("%d | %.1f ± %.1f %% | %.1f %% | %.1f %% | %.0f %% | %.1f %% | %.1f to %.1f %% | %.0f %%", v.Runs,
		100*v.Holds, 100*v.Deviation,
		100*v.Early, 100*v.Late, 100*v.Width, 100*v.Middle, 100*v.MiddleBetween[0], 100*v.MiddleBetween[1], 100*v.Off9)
}

// programRows tell how long the programs took.
func (r *Results) programRows() (rows []string) {
	for _, p := range AllPrograms() {
		var wall, cpu []float64
		for i := range r.Runs {
			if run := &r.Runs[i]; run.Program == p.Name {
				wall, cpu = append(wall, run.Took), append(cpu, run.CPU)
			}
		}
		if len(wall) > 0 {
			rows = append(rows, fmt.Sprintf("`%s` | %s | %s | %s", p.Name, p.Kind, formatSpread(wall), formatSpread(cpu)))
		}
	}
	return rows
}

// rowsByProgram are the verdicts on the programs, and on all.
func (r *Results) rowsByProgram() (rows []string) {
	for _, p := range AllPrograms() {
		if v := calibration.SumUp(r.judgedPredictions(func(run *Run) bool { return run.Program == p.Name })); v.N > 0 {
			rows = append(rows, fmt.Sprintf("`%s` | %s", p.Name, verdictCells(&v)))
		}
	}
	v := calibration.SumUp(r.judgedPredictions(everyRun))
	return append(rows, "all | "+verdictCells(&v))
}

// rowsByLoad are the verdicts by what was beside the program.
func (r *Results) rowsByLoad() (rows []string) {
	var names []string
	for i := range r.Runs {
		if name := r.Runs[i].Load; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if v := calibration.SumUp(r.judgedPredictions(func(run *Run) bool { return run.Load == name })); v.N > 0 {
			rows = append(rows, name+" | "+verdictCells(&v))
		}
	}
	return rows
}

// rowsByMoment are the verdicts by how much of the run is over.
func (r *Results) rowsByMoment() (rows []string) {
	all := r.judgedPredictions(everyRun)
	for _, m := range calibration.Moments {
		some := slices.DeleteFunc(slices.Clone(all), func(j calibration.Judged) bool { return j.Moment != m })
		if v := calibration.SumUp(some); v.N > 0 {
			rows = append(rows, fmt.Sprintf("%.0f %% | %s", 100*m, verdictCells(&v)))
		}
	}
	return rows
}

// formatSpread is the mean and the standard deviation of seconds.
func formatSpread(x []float64) string {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
	}
	mean := sum / float64(len(x))
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return fmt.Sprintf("%.2f ± %.2f s", mean, math.Sqrt(squares/float64(max(1, len(x)-1))))
}
