package grads

import (
	_ "embed" // the template of the report
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// Write writes grads.md and its figure into dir and returns the path of the report. The same
// scenarios give the same bytes.
func (r *Results) Write(dir string) (string, error) {
	figures := filepath.Join(dir, "grads")
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	if err := r.sweepFigure().Save(filepath.Join(figures, "sweeps.svg")); err != nil {
		return "", err
	}
	text, err := r.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "grads.md")
	return path, outfile.WriteAll(path, []byte(text))
}

// overTitles are what a sweep varies, as the report names it.
var overTitles = map[string]string{
	"matrix": "order of the matrix", "load": "programs that come onto the fast nodes",
	"time": "minutes until they come",
}

// sweepFigure is the time of both decisions in each case, a chart for each sweep.
func (r *Results) sweepFigure() plot.Figure {
	var charts []plot.Chart
	for i := range r.Sweeps {
		s := &r.Sweeps[i]
		c := plot.Chart{Title: "QR by the " + overTitles[s.Over], XLabel: overTitles[s.Over], YLabel: "time to the end",
			YUnit: plot.Seconds}
		var stayed, migrated []float64
		for k := range s.Cases {
			c.Categories = append(c.Categories, formatValue(s.Cases[k].Value))
			stayed, migrated = append(stayed, s.Cases[k].Stayed()), append(migrated, s.Cases[k].Migrated())
		}
		c.Series = []plot.Series{plot.NewBars("stays", stayed), plot.NewBars("is migrated", migrated)}
		charts = append(charts, c)
	}
	return plot.Figure{Rows: len(charts), Cols: 1, Charts: charts, CellWidth: 640, CellHeight: 220}
}

func formatValue(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for.
type reportData struct {
	Right, All    int
	Sweeps        []sweepTable
	Opportunistic caseRow
}

type sweepTable struct {
	Over string
	Rows []caseRow
}

// caseRow is a row of a table.
type caseRow struct {
	Value, Stayed, Migrated                   string
	Decision, Current, New, Cost, Gain, Limit string
	Right                                     bool
}

func rowOf(c *Case) caseRow {
	row := caseRow{Value: formatValue(c.Value), Stayed: term.FormatSeconds(c.Stayed()),
		Migrated: term.FormatSeconds(c.Migrated()), Decision: "stay", Right: c.IsRight(),
		Current: "–", New: "–", Cost: "–", Gain: "–", Limit: "–"}
	if c.Moved {
		row.Decision = "migrate"
	}
	if g := c.Gain; g != nil {
		row.Current, row.New, row.Cost = term.FormatSeconds(g.Current), term.FormatSeconds(g.New),
			term.FormatSeconds(g.Cost.TotalSeconds())
		row.Gain, row.Limit = term.FormatPercent(g.Gain), term.FormatPercent(g.Threshold)
	}
	return row
}

func (r *Results) reportMarkdown() (string, error) {
	var d reportData
	d.Right, d.All = r.CountRight()
	for i := range r.Sweeps {
		t := sweepTable{Over: overTitles[r.Sweeps[i].Over]}
		for k := range r.Sweeps[i].Cases {
			t.Rows = append(t.Rows, rowOf(&r.Sweeps[i].Cases[k]))
		}
		d.Sweeps = append(d.Sweeps, t)
	}
	d.Opportunistic = rowOf(&r.Opportunistic.Cases[0])
	return measured.RenderReport(reportTemplate, d)
}
