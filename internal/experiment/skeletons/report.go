package skeletons

import (
	"cmp"
	_ "embed" // the template of the report
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
	text, err := all.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "skeletons.md")
	return path, errors.Join(all.resultFigure().Save(filepath.Join(dir, "skeletons", "skeletons.svg")),
		outfile.WriteAll(kept, append(data, '\n')), outfile.WriteAll(path, []byte(text)))
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
		return nil, &badinput.Error{File: path, Field: "programs", Value: r.Programs[i].Name,
			Want: "a run of the program and of its skeleton in every state"}
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
		charts = append(charts, plot.Chart{Title: fmt.Sprintf("%s, r = %.3f", strings.ToUpper(m.Name), m.TimeCorrelation()),
			XLabel: "skeleton (s)", YLabel: "program (s)",
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

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for.
type reportData struct {
	FullRate       float64 // Mbit/s between two hosts
	States, Passes int
	Part           float64 // of a program's time that was asked for, in per cent
	Programs       []programRow
	Machine        measured.Machine
}

// programRow is a program in the table.
type programRow struct {
	Name, Alone, Part       string
	States                  int
	Seconds, Correlation    string
	MedianError, WorstError string
	LongestRuns, Load       string
}

func (r *Result) reportMarkdown() (string, error) {
	d := reportData{FullRate: fullRate, Passes: r.countPasses(), Part: 100 * r.Part, Machine: r.Machine}
	for i := range r.Programs {
		m := &r.Programs[i]
		program := shortestRuns(m.Program)
		d.States = max(d.States, len(program))
		d.Programs = append(d.Programs, programRow{
			Name:        m.Name + " " + strings.Join(m.Args, " "),
			Alone:       fmt.Sprintf("%.2f s", m.Alone),
			Part:        fmt.Sprintf("%.1f %%", 100*m.Scale),
			States:      len(program),
			Seconds:     fmt.Sprintf("%.2f to %.2f s", slices.Min(program), slices.Max(program)),
			Correlation: fmt.Sprintf("%.3f", m.TimeCorrelation()),
			MedianError: fmt.Sprintf("%.0f %%", 100*measured.Median(m.PredictionErrors())),
			WorstError:  fmt.Sprintf("%.0f %%", 100*slices.Max(m.PredictionErrors())),
			LongestRuns: fmt.Sprintf("+%.0f %%, +%.0f %%", 100*medianSpread(m.Program), 100*medianSpread(m.Skeleton)),
			Load:        m.Load,
		})
	}
	return measured.RenderReport(reportTemplate, d)
}
