package workflow

import (
	_ "embed" // the template of the report
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/experiment/measured"
	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// Write writes workflow.md and its figure into dir and returns the path of the
// report. The same results give the same bytes.
func (r *Results) Write(dir string) (string, error) {
	figures := filepath.Join(dir, "workflow")
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	if err := r.makespanFigure().Save(filepath.Join(figures, "sweep.svg")); err != nil {
		return "", err
	}
	text, err := r.reportMarkdown()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "workflow.md")
	return path, outfile.WriteAll(path, []byte(text))
}

// makespanFigure is the makespan of the sweep in all cases and ways, over the time of one
// instance on an unloaded node of UH, since the data sets take hours and minutes. Error
// bars reach from the shortest seed to the longest. Each data set has a chart of its own.
func (r *Results) makespanFigure() plot.Figure {
	var charts []plot.Chart
	for _, set := range []string{"rdv", "GrOEL"} {
		charts = append(charts, r.sweepChart(set))
	}
	return plot.Figure{Rows: len(charts), Cols: 1, Charts: charts, CellWidth: 640, CellHeight: 220}
}

// sweepChart is the cases of one data set.
func (r *Results) sweepChart(set string) plot.Chart {
	c := plot.Chart{Title: "Makespan of the sweep of " + set + ", mean and range of the seeds",
		YLabel: "makespan / time of one instance"}
	bars := map[string]*plot.Series{}
	for _, way := range PlacementNames() {
		s := plot.NewBars(way, nil)
		bars[way] = &s
	}
	for i := range r.Cases {
		k := &r.Cases[i]
		name, ok := strings.CutPrefix(k.Name, set+", ")
		if !ok {
			continue
		}
		c.Categories = append(c.Categories, name)
		for _, way := range PlacementNames() {
			runs, s := r.runsOf(k, way), bars[way]
			low, high := sweepExtremes(runs)
			s.Y = append(s.Y, meanOver(runs, sweepOf)/k.seconds)
			s.Low, s.High = append(s.Low, low/k.seconds), append(s.High, high/k.seconds)
		}
	}
	for _, way := range PlacementNames() {
		c.Series = append(c.Series, *bars[way])
	}
	return c
}

//go:embed report.md.tmpl
var reportTemplate string

// reportData is what the template of the report asks for.
type reportData struct {
	Seeds, Holding, Wanted int
	Verdicts               []Verdict
	Cases                  []caseTable
	BoundsGain             []string // of the lower bound by work alone, for each case of table I
}

// caseTable is one case beside the paper's.
type caseTable struct {
	*Case
	Placements []placementRow
	LowerBound string // "" where nodes have other work
}

// placementRow is one way to place the instances.
type placementRow struct {
	Name                            string
	EndUH, EndUTK                   string
	Sweep, Shortest, Longest, Whole string
	OnUH, OnUTK, Replans            float64
}

func (r *Results) reportMarkdown() (string, error) {
	d := reportData{Seeds: len(r.Seeds), Verdicts: r.CheckCases()}
	d.Holding, d.Wanted = CountHolding(d.Verdicts)
	for i := range r.Cases {
		c := &r.Cases[i]
		d.Cases = append(d.Cases, r.tableOf(c))
		if c.Table == "I" {
			runs := r.runsOf(c, Ours)
			byWork, bound := meanOver(runs, func(x *Run) float64 { return x.ByWork }),
				meanOver(runs, func(x *Run) float64 { return x.Bound })
			d.BoundsGain = append(d.BoundsGain, formatPercent(1-byWork/bound))
		}
	}
	return measured.RenderReport(reportTemplate, d)
}

// tableOf is the table of a case.
func (r *Results) tableOf(c *Case) caseTable {
	t := caseTable{Case: c}
	for _, way := range PlacementNames() {
		runs := r.runsOf(c, way)
		low, high := sweepExtremes(runs)
		t.Placements = append(t.Placements, placementRow{
			Name:     way,
			EndUH:    formatSpan(meanOver(runs, func(x *Run) float64 { return x.EndUH })),
			EndUTK:   formatSpan(meanOver(runs, func(x *Run) float64 { return x.EndUTK })),
			Sweep:    formatSpan(meanOver(runs, sweepOf)),
			Shortest: formatSpan(low),
			Longest:  formatSpan(high),
			Whole:    formatSpan(meanOver(runs, func(x *Run) float64 { return x.Whole })),
			OnUH:     meanOver(runs, func(x *Run) float64 { return float64(x.UH) }),
			OnUTK:    meanOver(runs, func(x *Run) float64 { return float64(x.UTK) }),
			Replans:  medianOver(runs, func(x *Run) float64 { return float64(x.Replans) }),
		})
	}
	if c.Loaded == 0 {
		t.LowerBound = formatSpan(meanOver(r.runsOf(c, Ours), func(x *Run) float64 { return x.Bound }))
	}
	return t
}

// sweepExtremes are the shortest and the longest sweep of the runs.
func sweepExtremes(runs []Run) (low, high float64) {
	low, high = runs[0].Sweep, runs[0].Sweep
	for _, x := range runs {
		low, high = min(low, x.Sweep), max(high, x.Sweep)
	}
	return low, high
}
