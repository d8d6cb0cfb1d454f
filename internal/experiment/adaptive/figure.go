package adaptive

import "github.com/godwit-hpc/godwit/internal/plot"

// Chart draws the predicted end of a job over its life: the band in which nine
// ends of ten lie, the deadline, and when it really ended.
func (c *Course) Chart() plot.Chart {
	var at, early, mid, late []float64
	for _, p := range c.Points {
		if p.Mid > 0 {
			at, early, mid, late = append(at, p.At), append(early, p.Early), append(mid, p.Mid), append(late, p.Late)
		}
	}
	ch := plot.Chart{Title: c.Name, XLabel: "time since submission", YLabel: "predicted end", XUnit: plot.Seconds, YUnit: plot.Seconds,
		XRange: plot.Range{Max: c.Took()}}
	line := func(name string, y []float64, style int) {
		s := plot.NewLine(name, at, y)
		s.Style = style
		ch.Series = append(ch.Series, s)
	}
	line("predicted end", mid, 0)
	line("5 %", early, 1)
	line("95 %", late, 1)
	if c.Deadline > 0 {
		ch.Series = append(ch.Series, plot.NewLine("deadline", []float64{0, c.Took()}, []float64{c.Deadline, c.Deadline}))
	}
	ch.Series = append(ch.Series, plot.NewScatter("end", []float64{c.Took()}, []float64{c.Took()}))
	return ch
}
