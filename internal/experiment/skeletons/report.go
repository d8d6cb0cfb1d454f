package skeletons

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// Correlation is how well one goes with the other: 1 if one is the other times
// something plus something.
func Correlation(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx += x[i] / n
		my += y[i] / n
	}
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	if xx == 0 || yy == 0 {
		return math.NaN()
	}
	return xy / math.Sqrt(xx*yy)
}

// TimeCorrelation is the correlation of the program's and its skeleton's times.
func (m *Measured) TimeCorrelation() float64 {
	return Correlation(shortestRuns(m.Skeleton), shortestRuns(m.Program))
}

// shortestRuns is the shortest run in each state.
func shortestRuns(runs [][]float64) []float64 {
	list := make([]float64, len(runs))
	for i := range runs {
		list[i] = slices.Min(runs[i])
	}
	return list
}

// medianSpread is how much longer the longest run in a state is than the shortest, in the
// middle of all states.
func medianSpread(runs [][]float64) float64 {
	list := make([]float64, len(runs))
	for i := range runs {
		list[i] = slices.Max(runs[i])/slices.Min(runs[i]) - 1
	}
	return measured.Median(list)
}

// PredictionErrors are how far the predictions were off, in parts of what came.
func (m *Measured) PredictionErrors() []float64 {
	skeleton, program := shortestRuns(m.Skeleton), shortestRuns(m.Program)
	list := make([]float64, len(program))
	for i := range list {
		list[i] = math.Abs(skeleton[i]/m.Scale/program[i] - 1)
	}
	return list
}

// Write writes the report into a folder and returns its path. What was measured stands
// beside it; programs that were measured before and not now stay in the report.
func (r *Result) Write(dir string) (string, error) {
	kept := filepath.Join(dir, "skeletons", "skeletons.json")
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", err
	}
	all := *r
	all.Programs = slices.DeleteFunc(slices.Clone(r.Programs), func(m Measured) bool { return len(m.Program) == 0 })
	all.keepEarlier(kept)
	data, err := json.MarshalIndent(&all, "", " ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "skeletons.md")
	return path, errors.Join(all.resultFigure().Save(filepath.Join(dir, "skeletons", "skeletons.svg")),
		outfile.WriteAll(kept, append(data, '\n')), outfile.WriteAll(path, []byte(all.reportMarkdown())))
}

// Read reads what was measured before, from the file that Write leaves beside the report.
func Read(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, badinput.UnreadableFile(path, err)
	}
	r := new(Result)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, &badinput.Error{File: path, Problem: "not the results of this experiment", Err: err}
	}
	if i := slices.IndexFunc(r.Programs, func(m Measured) bool { return !m.isWhole() }); i >= 0 {
		return nil, &badinput.Error{File: path, Field: "programs", Value: r.Programs[i].Name, Want: "a run of the program and of its skeleton in every state"}
	}
	if len(r.Programs) == 0 {
		return nil, &badinput.Error{File: path, Field: "programs", Problem: "missing", Want: "at least one"}
	}
	return r, nil
}

// isWhole says whether there is a run of the program and of its skeleton in every state.
func (m *Measured) isWhole() bool {
	none := func(runs []float64) bool { return len(runs) == 0 }
	return len(m.Program) > 0 && len(m.Program) == len(m.Skeleton) && m.Scale > 0 &&
		!slices.ContainsFunc(m.Program, none) && !slices.ContainsFunc(m.Skeleton, none)
}

// keepEarlier adds the programs of an earlier result that was measured alike.
func (r *Result) keepEarlier(path string) {
	var old Result
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &old) != nil || old.Part != r.Part || old.Repeat != r.Repeat {
		return
	}
	for _, m := range old.Programs {
		if !slices.ContainsFunc(r.Programs, func(have Measured) bool { return have.Name == m.Name }) {
			r.Programs = append(r.Programs, m)
		}
	}
	slices.SortFunc(r.Programs, func(a, b Measured) int { return cmp.Compare(a.Name, b.Name) })
}

func (r *Result) resultFigure() plot.Figure {
	var charts []plot.Chart
	for i := range r.Programs {
		m := &r.Programs[i]
		skeleton := shortestRuns(m.Skeleton)
		most := slices.Max(skeleton)
		predicted := plot.NewLine("prediction", []float64{0, most}, []float64{0, most / m.Scale})
		predicted.NoMarkers = true
		charts = append(charts, plot.Chart{Title: fmt.Sprintf("%s, r = %.3f", strings.ToUpper(m.Name), m.TimeCorrelation()), XLabel: "skeleton (s)", YLabel: "program (s)",
			Series: []plot.Series{plot.NewScatter("one state of the network", skeleton, shortestRuns(m.Program)), predicted}})
	}
	cols := min(len(charts), 3)
	return plot.NewGrid((len(charts)+cols-1)/cols, cols, charts...)
}

// countPasses is how often all states were gone through, which is less than was asked for
// if that was broken off.
func (r *Result) countPasses() int {
	n := r.Repeat
	for i := range r.Programs {
		for _, runs := range r.Programs[i].Program {
			n = min(n, len(runs))
		}
	}
	return n
}

func (r *Result) reportMarkdown() string {
	var b strings.Builder
	states := 0
	for i := range r.Programs {
		states = max(states, len(r.Programs[i].Program))
	}
	fmt.Fprintf(&b, `# Skeletons: is the program slow where its skeleton is slow?

A skeleton ([how it is made](../guides/capture.md)) is worth running only if its time says how long
the program will take. Four hosts of a lab, each with 0.3 of a core; between any two of them
%g Mbit/s, of which others leave all, a half, a third, … at most up to a tenth: drawn for each state how busy
the network is, then for each pair; %d states, the same for all programs. Each program is captured once,
where nobody else uses the network; then, in every state, its skeleton runs (%.0f %% of the program's time
was asked for) twice, as hosts remember how the network was, and after it the program. All states are gone through one after the other before any comes again,
so that the runs of a state are far apart (times that all were gone through: %d),
and the shortest run of each counts: whoever else uses the machine only makes a run longer. How much longer the longest
was is in the table.

`, fullRate, states, 100*r.Part, r.countPasses())
	b.WriteString("| program | alone | skeleton's part | states | program, all states | r | prediction off by, median | worst | longest run of program, skeleton, median | load |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range r.Programs {
		m := &r.Programs[i]
		program := shortestRuns(m.Program)
		fmt.Fprintf(&b, "| %s %s | %.2f s | %.1f %% | %d | %.2f to %.2f s | **%.3f** | %.0f %% | %.0f %% | +%.0f %%, +%.0f %% | %s |\n", m.Name, strings.Join(m.Args, " "), m.Alone, 100*m.Scale,
			len(program), slices.Min(program), slices.Max(program), m.TimeCorrelation(), 100*measured.Median(m.PredictionErrors()), 100*slices.Max(m.PredictionErrors()),
			100*medianSpread(m.Program), 100*medianSpread(m.Skeleton), m.Load)
	}
	fmt.Fprintf(&b, "\n![a point for each state of the network](skeletons/skeletons.svg)\n\n")
	fmt.Fprintf(&b, "The prediction is the skeleton's time divided by its part of the program's time, without any fit. "+
		"Asked for is r above 0.95. The load is the machine's (averages of 1, 5 and 15 minutes): it is better made when that is low.\n\n"+
		"Made again with `godwit-experiments skeletons`, as root. %s, %d cores, %s.\n", r.Machine.Model, r.Machine.CPUs, r.Machine.Kernel)
	return b.String()
}
