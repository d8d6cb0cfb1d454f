package plot

import "math"

// capWidth is half the width of the caps of an error bar.
const capWidth = 2.0

// errorBarColor is that of intervals over bars, which have colours of their own.
const errorBarColor = "#222222"

// errorInterval is the error bar of a value; false where there is none.
func (c Chart) errorInterval(s Series, i int) (low, high float64, ok bool) {
	if i >= min(len(s.Low), len(s.High), len(s.Y)) {
		return 0, 0, false
	}
	low, high = math.Min(s.Low[i], s.High[i]), math.Max(s.Low[i], s.High[i])
	return low, high, isDrawable(low, c.LogY) && isDrawable(high, c.LogY) && isDrawable(s.Y[i], c.LogY)
}

// errorBar draws an interval at a place of the x axis.
func (p plane) errorBar(color string, x, low, high float64) {
	bottom, top := math.Max(p.pixelY(low), p.area.y0), math.Min(p.pixelY(high), p.area.y1)
	if x < p.area.x0 || x > p.area.x1 || top <= bottom {
		return
	}
	p.s.drawStrokes(pen{color: color, width: 0.9}, []rect{
		{x, bottom, x, top}, {x - capWidth, bottom, x + capWidth, bottom}, {x - capWidth, top, x + capWidth, top},
	})
}

// errorBars draws the intervals of a series of points.
func (p plane) errorBars(chart Chart, s Series, l seriesLook) {
	for i := range min(len(s.X), len(s.Y)) {
		low, high, ok := chart.errorInterval(s, i)
		if ok && isDrawable(s.X[i], chart.LogX) {
			p.errorBar(l.color, p.pixelX(s.X[i]), low, high)
		}
	}
}
