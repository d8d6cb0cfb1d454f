package programs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/calibration"
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
			fmt.Sprintf("%.1f %% (95 %% interval %.1f to %.1f) in %d runs", 100*v.Middle, 100*v.MiddleBetween[0], 100*v.MiddleBetween[1], v.Runs), v.N > 0 && v.Middle < maxError},
		{"87 to 93 % of the 90 % bands hold",
			fmt.Sprintf("%.1f ± %.1f %% of %d predictions", 100*v.Holds, 100*v.Deviation, v.N), v.Holds >= minHolds && v.Holds <= maxHolds},
	}
}

// Write writes the report into a folder and says where it is.
func (r *Results) Write(dir string) (string, error) {
	var b strings.Builder
	r.writeHead(&b)
	b.WriteString("\n## What is wanted, what we see\n\n| wanted | measured | |\n| --- | --- | --- |\n")
	for _, s := range r.CheckStatements() {
		word := "holds"
		if !s.Holds {
			word = "**does not hold**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", s.Says, s.Saw, word)
	}
	r.writePrograms(&b)
	r.writeLoads(&b)
	path := filepath.Join(dir, "predictions.md")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(b.String()), 0o666)
}

func (r *Results) writeHead(b *strings.Builder) {
	p, m := &r.Plan, &r.Machine
	fmt.Fprintf(b, `# Predictions of ten programs

How far live predictions can be trusted of programs of all kinds, not only of those that compute:
each is run by the real broker and watched by the real agent every %s, %s
of this machine. What is known of a program is the history of its runs: %d alone before
the first that is judged, and all that came before. Every second run has real programs beside it that take
from its core what recorded and generated loads say. Judged are the first predictions after
1/3, 1/2, 2/3 and 5/6 of each run; the error is that of the remaining time, as a part of it.
± is the standard error, runs being independent of each other.

This file is written by `+"`godwit-experiments predictions`"+`; every number is computed from the runs.

%d runs, measured on %s, on %d cores (%s), %s.
`, p.Sample, p.placesUsed(), p.Learn, len(r.Runs), m.At.Format("2 January 2006"), m.CPUs, m.Model, m.Kernel)
	fmt.Fprintf(b, "Load average of the machine (1 minute) at the start of the runs: %s.\n", r.loadAverages())
	for _, why := range r.Missing {
		fmt.Fprintf(b, "Not run: %s.\n", why)
	}
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

const verdictHead = "runs | bands that hold | ends before | ends after | width of the band | median error | 95 % interval | 0.9 quantile of the error |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"

func verdictCells(v *calibration.Verdict) string {
	return fmt.Sprintf("%d | %.1f ± %.1f %% | %.1f %% | %.1f %% | %.0f %% | %.1f %% | %.1f to %.1f %% | %.0f %%", v.Runs, 100*v.Holds, 100*v.Deviation,
		100*v.Early, 100*v.Late, 100*v.Width, 100*v.Middle, 100*v.MiddleBetween[0], 100*v.MiddleBetween[1], 100*v.Off9)
}

func (r *Results) writePrograms(b *strings.Builder) {
	b.WriteString("\n## By program\n\n| program | kind | wall time | CPU time |\n| --- | --- | ---: | ---: |\n")
	for _, p := range AllPrograms() {
		var wall, cpu []float64
		for i := range r.Runs {
			if run := &r.Runs[i]; run.Program == p.Name {
				wall, cpu = append(wall, run.Took), append(cpu, run.CPU)
			}
		}
		if len(wall) > 0 {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", p.Name, p.Kind, formatSpread(wall), formatSpread(cpu))
		}
	}
	b.WriteString("\nMean ± standard deviation over all runs, with and without others beside it.\n\n| program | " + verdictHead + "\n")
	for _, p := range AllPrograms() {
		if v := calibration.SumUp(r.judgedPredictions(func(run *Run) bool { return run.Program == p.Name })); v.N > 0 {
			fmt.Fprintf(b, "| `%s` | %s |\n", p.Name, verdictCells(&v))
		}
	}
	v := calibration.SumUp(r.judgedPredictions(everyRun))
	fmt.Fprintf(b, "| all | %s |\n", verdictCells(&v))
}

func (r *Results) writeLoads(b *strings.Builder) {
	b.WriteString("\n## By what was beside it\n\n| load | " + verdictHead + "\n")
	var names []string
	for i := range r.Runs {
		if name := r.Runs[i].Load; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if v := calibration.SumUp(r.judgedPredictions(func(run *Run) bool { return run.Load == name })); v.N > 0 {
			fmt.Fprintf(b, "| %s | %s |\n", name, verdictCells(&v))
		}
	}
	b.WriteString("\n## By how much of the run is over\n\n| over | " + verdictHead + "\n")
	all := r.judgedPredictions(everyRun)
	for _, m := range calibration.Moments {
		some := slices.DeleteFunc(slices.Clone(all), func(j calibration.Judged) bool { return j.Moment != m })
		if v := calibration.SumUp(some); v.N > 0 {
			fmt.Fprintf(b, "| %.0f %% | %s |\n", 100*m, verdictCells(&v))
		}
	}
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
