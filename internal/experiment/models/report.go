package models

import (
	_ "embed" // the template of the report
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
	"github.com/godwit-hpc/godwit/internal/sched/perfmodel"
)

// Write writes models.md with its figure into a folder, and says where.
func (r *Results) Write(dir string) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "models"), 0o755); err != nil {
		return "", err
	}
	if err := r.predictionFigure().Save(filepath.Join(dir, "models", "predicted.svg")); err != nil {
		return "", err
	}
	text, err := r.reportText()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "models.md")
	f, err := outfile.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	if _, err := f.Write([]byte(text)); err != nil {
		return "", err
	}
	return path, f.Commit()
}

// predictionFigure shows predicted against measured time of all programs with the intervals of
// the predictions, and the line on which both are equal.
func (r *Results) predictionFigure() plot.Chart {
	c := plot.Chart{Title: "CPU time at 2, 5 and 10 times the largest fitted size",
		XLabel: "measured CPU time (s)", YLabel: "predicted CPU time (s), 90 % interval",
		LogX: true, LogY: true}
	low, high := 1e9, 0.0
	for i, k := range r.Cases {
		s := plot.NewScatter(k.Name, nil, nil)
		for _, p := range k.Checked {
			s.X, s.Y = append(s.X, p.Measured), append(s.Y, p.Predicted.Value)
			s.Low, s.High = append(s.Low, p.Predicted.Low), append(s.High, p.Predicted.High)
			low, high = min(low, p.Measured), max(high, p.Measured)
		}
		s.Style = 1 + i
		c.Series = append(c.Series, s)
	}
	equal := plot.NewLine("predicted = measured", []float64{low, high}, []float64{low, high})
	equal.Style, equal.NoMarkers = 1+len(r.Cases), true
	c.Series = append(c.Series, equal)
	return c
}

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for; a row of a table is its cells
// with bars between them.
type reportData struct {
	Errors, Checks, Formulas, Levels []string
	Repeats                          []string // none if there was one only
	Host                             string
}

func (r *Results) reportText() (string, error) {
	host := &r.Cases[0].Model.Host
	d := reportData{Errors: r.errorRows(), Checks: r.checkRows(), Host: hostText(host), Levels: levelRows(host),
		Repeats: r.repeatRows()}
	for _, c := range r.Cases {
		best := c.Model.Work.BestFormula()
		d.Formulas = append(d.Formulas,
			fmt.Sprintf("%s | %s | %s | %.2f %% | %.1f %% | %.1f", c.Name, c.Model.Counter, best, 100*best.Error,
				100*c.Model.Pace.Error, max(c.Model.Streams, 1)))
	}
	return measured.RenderReport(reportTemplate, d)
}

// errorRows sum up by kind of program and by how far beyond the fitted sizes.
func (r *Results) errorRows() (rows []string) {
	for _, kind := range []struct {
		name    string
		heldOut bool
	}{{"examples", false}, {"held out", true}} {
		for _, f := range append(slices.Clone(factors), 0) {
			s, at := r.SummaryAt(f, kind.heldOut), fmt.Sprintf("%g", f)
			if f == 0 {
				at = "all"
			}
			if s.All > 0 {
				rows = append(rows, fmt.Sprintf("%s | %s | %.1f %% | %d of %d | %.0f %% | %.1f %%", kind.name, at, 100*s.Error,
					s.Hold, s.All,
					100*float64(s.Runs)/float64(s.Seen), 100*s.Known))
			}
		}
	}
	return rows
}

// repeatRows tell of the predictions at the largest factor in each repeat.
func (r *Results) repeatRows() (rows []string) {
	if len(r.Earlier) == 0 {
		return nil
	}
	far := factors[len(factors)-1]
	for i, cases := range r.allRepeats() {
		cells := []string{strconv.Itoa(i + 1)}
		for _, heldOut := range []bool{false, true} {
			if s := summariseCases(cases, far, heldOut); s.All > 0 {
				cells = append(cells, fmt.Sprintf("%.1f %%", 100*s.Error), fmt.Sprintf("%.1f %%", 100*s.Known),
					fmt.Sprintf("%d of %d", s.Hold, s.All))
			} else {
				cells = append(cells, "–", "–", "–")
			}
		}
		rows = append(rows, strings.Join(append(cells, slownessRange(cases)), " | "))
	}
	return rows
}

// slownessRange is how slow the host was in the runs that were foretold.
func slownessRange(cases []Case) string {
	low, high := math.Inf(1), 0.0
	for _, c := range cases {
		for _, k := range c.Checked {
			low, high = min(low, k.Slow), max(high, k.Slow)
		}
	}
	return fmt.Sprintf("%.2f to %.2f", low, high)
}

// checkRows tell of every size that was run.
func (r *Results) checkRows() (rows []string) {
	for _, c := range r.Cases {
		title := c.Name
		if c.HeldOut {
			title += " (held out)"
		}
		var sizes []string
		for _, run := range c.Model.Runs {
			sizes = append(sizes, fmt.Sprintf("%g", run.Size))
		}
		for i, k := range c.Checked {
			name, at := title, strings.Join(sizes, ", ")
			if i > 0 {
				name, at = "", ""
			}
			in := ""
			if !k.IsWithin() {
				in = " **missed**"
			}
			rows = append(rows, fmt.Sprintf("%s | %s | %g | %.3f s | %.3f to %.3f s%s | %.0f %% | %.3f s | %.0f %% | %+.1f %% "+
				"| %.2f | %+.1f %%",
				name, at, k.Size, k.Predicted.Value, k.Predicted.Low, k.Predicted.High, in, 100*k.Waiting/k.Predicted.Value,
				k.Measured,
				100*k.Noise, 100*k.Error(), k.Slow, 100*k.KnownError()))
		}
	}
	return rows
}

// hostText tells the rates of the machine.
func hostText(h *perfmodel.Host) string {
	return fmt.Sprintf("%.2f G operations/s, %.2f GFlop/s, first touch of a page %.2f µs. "+
		"The same work takes longer or shorter by %.0f %% from one time to the next.",
		h.Operations/1e9, h.Flops/1e9, 1e6*h.Fault, 100*h.Spread)
}

// levelRows are the levels of its memory.
func levelRows(h *perfmodel.Host) (rows []string) {
	for _, l := range h.Levels {
		size := fmt.Sprintf("%.0f KiB", l.Bytes/1024)
		if l.Bytes == 0 {
			size = "more"
		}
		rows = append(rows, fmt.Sprintf("%s | %.1f ns | %.2f ns | %.2f ns | %.2f ns | %.0f %% | %.2f ns | %.0f %%", size,
			1e9*l.Latency, 1e9*l.InOrder, 1e9*l.TwoStreams, 1e9*l.FourStreams, 100*l.Beside, 1e9*l.Written, 100*l.BesideWritten))
	}
	return rows
}
