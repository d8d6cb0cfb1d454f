package demo

import (
	"bytes"

	"github.com/godwit-hpc/godwit/internal/report/outfile"
	"github.com/godwit-hpc/godwit/internal/report/plot"
)

// Styles of the lines, the same in both charts.
const (
	stylePredicted = 1 + iota
	styleLoad
	styleActual
	styleMove
	_
	styleInterval
)

// drawRuns writes a figure of runs side by side: the predicted end over time.
func drawRuns(path string, runs ...*Run) error {
	longest, top := 0.0, 0.0
	for _, r := range runs {
		longest = max(longest, r.TookS)
		top = max(top, 1.25*max(r.TookS, r.DeadlineS))
	}
	var charts []plot.Chart
	for _, r := range runs {
		c := r.chart(top)
		c.XRange, c.YRange = plot.Range{Max: longest}, plot.Range{Max: top}
		charts = append(charts, c)
	}
	f := plot.Grid(1, len(charts), charts...)
	f.CellWidth, f.CellHeight = 380, 260
	var svg bytes.Buffer
	if err := f.WriteSVG(&svg); err != nil {
		return err
	}
	return outfile.WriteAll(path, svg.Bytes())
}

// chart draws the predicted end of one run, its deadline, what happened, and when it
// really ended.
func (r *Run) chart(top float64) plot.Chart {
	var at, early, mid, late []float64
	for _, p := range r.points {
		at, early, mid, late = append(at, p.at), append(early, min(p.early, top)), append(mid, min(p.mid, top)), append(late, min(p.late, top))
	}
	c := plot.Chart{Title: r.Name, XLabel: "time since submission", YLabel: "predicted end", XUnit: plot.Seconds, YUnit: plot.Seconds}
	c.Series = append(c.Series,
		styled(plot.NewLine("predicted end", at, mid), stylePredicted),
		styled(plot.NewLine("90 % interval", at, early), styleInterval),
		styled(plot.NewLine("", at, late), styleInterval))
	c.Lines = append(c.Lines, plot.RefLine{Name: "deadline", Y: r.DeadlineS})
	if r.loadAt > 0 {
		c.Series = append(c.Series, vertical("other programs start", r.loadAt, top, styleLoad))
	}
	for i, at := range r.moves {
		name := "migrated"
		if i > 0 {
			name = ""
		}
		c.Series = append(c.Series, vertical(name, at, top, styleMove))
	}
	c.Series = append(c.Series, styled(plot.NewScatter("actual end", []float64{r.TookS}, []float64{r.TookS}), styleActual))
	return c
}

// vertical is a line at one moment; by so many points that their markers are not drawn.
func vertical(name string, at, top float64, style int) plot.Series {
	const points = 40
	var x, y []float64
	for i := range points + 1 {
		x, y = append(x, at), append(y, top*float64(i)/points)
	}
	return styled(plot.NewLine(name, x, y), style)
}

func styled(s plot.Series, style int) plot.Series {
	s.Style = style
	return s
}
