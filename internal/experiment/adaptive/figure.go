package adaptive

import "github.com/godwit-hpc/godwit/internal/report/plot"

// The looks of what the figures show, the same in all of them.
const (
	stylePredicted = 1 + iota
	styleLoad
	styleActual
	styleMove
	_
	styleBand
	styleDeadline
)

// leftChart draws the predicted remaining time of a job against the actual one,
// as figures 5.8 to 5.19 of the paper do.
func (c *Course) leftChart() plot.Chart {
	at, early, mid, late := c.predictions()
	left := func(ends []float64) []float64 {
		list := make([]float64, len(ends))
		for i := range ends {
			list[i] = max(0, ends[i]-at[i])
		}
		return list
	}
	took := c.Took()
	top := 1.25 * max(took, c.Deadline)
	ch := plot.Chart{Title: c.Name, XLabel: "time since submission", YLabel: "remaining time", XUnit: plot.Seconds, YUnit: plot.Seconds,
		XRange: plot.Range{Max: took}, YRange: plot.Range{Max: top}}
	ch.Series = append(ch.Series,
		styled(plot.NewLine("predicted", at, left(mid)), stylePredicted),
		styled(plot.NewArea("90 % interval", at, left(early), left(late)), styleBand),
		straight("actual", 0, took, took, 0, styleActual))
	if c.Deadline > 0 {
		end := min(took, c.Deadline)
		ch.Series = append(ch.Series, straight("to the deadline", 0, c.Deadline, end, c.Deadline-end, styleDeadline))
	}
	ch.Series = append(ch.Series, c.marks(top)...)
	return ch
}

// marks are vertical lines where others began to compute and where it was moved.
func (c *Course) marks(top float64) []plot.Series {
	var list []plot.Series
	if c.LoadAt > 0 {
		list = append(list, straight("others begin", c.LoadAt, 0, c.LoadAt, top, styleLoad))
	}
	for i, at := range c.Moves() {
		name := "moved"
		if i > 0 {
			name = ""
		}
		list = append(list, straight(name, at, 0, at, top, styleMove))
	}
	return list
}

// predictions are the points at which something was predicted.
func (c *Course) predictions() (at, early, mid, late []float64) {
	for _, p := range c.Points {
		if p.Mid > 0 {
			at, early, mid, late = append(at, p.At), append(early, p.Early), append(mid, p.Mid), append(late, p.Late)
		}
	}
	return at, early, mid, late
}

// straight is a line from one point to another; by so many points between them
// that their markers are not drawn.
func straight(name string, x0, y0, x1, y1 float64, style int) plot.Series {
	const steps = 40
	var x, y []float64
	for i := range steps + 1 {
		part := float64(i) / steps
		x, y = append(x, x0+part*(x1-x0)), append(y, y0+part*(y1-y0))
	}
	return styled(plot.NewLine(name, x, y), style)
}

func styled(s plot.Series, style int) plot.Series {
	s.Style = style
	return s
}
