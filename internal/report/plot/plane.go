package plot

import "math"

// plane is the drawing area: it turns values into places and keeps what is
// drawn inside.
type plane struct {
	s    *sheet
	area rect
	x, y axis
}

func (p plane) pixelX(v float64) float64 { return p.area.x0 + p.x.positionOf(v)*p.area.width() }
func (p plane) pixelY(v float64) float64 { return p.area.y0 + p.y.positionOf(v)*p.area.height() }
func (p plane) pixelAt(v xy) xy          { return xy{p.pixelX(v.x), p.pixelY(v.y)} }

// drawLevel draws a line from the left to the right side.
func (p plane) drawLevel(pen pen, y float64) {
	p.s.drawLine(pen, xy{p.area.x0, p.pixelY(y)}, xy{p.area.x1, p.pixelY(y)})
}

// drawGrid draws faint lines at the labelled ticks.
func (p plane) drawGrid(vertical bool) {
	for _, t := range p.y.ticks {
		if t.label != "" {
			p.drawLevel(gridPen, t.value)
		}
	}
	if !vertical {
		return
	}
	for _, t := range p.x.ticks {
		if t.label != "" {
			p.s.drawLine(gridPen, xy{p.pixelX(t.value), p.area.y0}, xy{p.pixelX(t.value), p.area.y1})
		}
	}
}

func (p plane) drawBands(list []Band) {
	for _, b := range list {
		lo, hi := math.Min(b.Min, b.Max), math.Max(b.Min, b.Max)
		if !isDrawable(lo, false) || !isDrawable(hi, p.y.log) {
			continue
		}
		r := rect{p.area.x0, p.area.y0, p.area.x1, math.Min(p.pixelY(hi), p.area.y1)}
		if isDrawable(lo, p.y.log) {
			r.y0 = math.Max(p.pixelY(lo), p.area.y0)
		}
		if r.y1 > r.y0 {
			p.s.fillRect(shade, r)
		}
	}
}

func (p plane) drawReferences(list []RefLine) {
	for _, l := range list {
		if isDrawable(l.Y, p.y.log) && l.Y >= p.y.min && l.Y <= p.y.max {
			p.drawLevel(referencePen, l.Y)
		}
	}
}

// drawSeries draws all series, the first one last: on top of the others. Shaded areas lie
// below everything.
func (p plane) drawSeries(chart Chart) {
	for i, s := range chart.Series {
		if s.Kind == Area {
			p.shadeArea(chart, s, lookOf(chart.seriesStyle(i)))
		}
	}
	if chart.hasBars() {
		p.drawBars(chart)
	}
	for i := len(chart.Series) - 1; i >= 0; i-- {
		s, look := chart.Series[i], lookOf(chart.seriesStyle(i))
		pts := chart.drawablePoints(s)
		switch s.Kind {
		case Scatter:
			p.errorBars(chart, s, look)
			p.drawScatter(pts, look)
		case Line:
			p.drawCurve(thinPoints(pts, p.pixelColumn), look)
			p.errorBars(chart, s, look)
			if len(pts) <= fewPoints && !s.NoMarkers {
				p.drawScatter(pts, look)
			}
		case Step:
			p.drawCurve(staircaseCorners(thinPoints(pts, p.pixelColumn)), look)
		case CDF:
			p.drawCurve(staircaseCorners(thinPoints(p.extendToSides(pts), p.pixelColumn)), look)
		}
	}
}

// extendToSides extends a distribution to both sides of the area: a share of samples
// left of a logarithmic axis comes in at its height, and all samples stay
// below whatever lies right of the largest.
func (p plane) extendToSides(pts []xy) []xy {
	if len(pts) == 0 {
		return nil
	}
	first, last := pts[0], pts[len(pts)-1]
	var out []xy
	if first.x > p.x.min && (first.y > 0 || !p.x.log && !p.y.log) {
		out = append(out, xy{p.x.min, first.y})
	}
	out = append(out, pts...)
	if last.x < p.x.max {
		out = append(out, xy{p.x.max, last.y})
	}
	return out
}

// pixelColumn is the column of half a point that x falls into; what lies far
// outside the area falls into the last one.
func (p plane) pixelColumn(x float64) int {
	const far = 1e6
	return int(math.Floor(math.Max(-far, math.Min(far, 2*p.pixelX(x)))))
}

// drawCurve strokes a line through pts.
func (p plane) drawCurve(pts []xy, l seriesLook) {
	line := make([]xy, len(pts))
	for i, v := range pts {
		line[i] = p.pixelAt(v)
	}
	for _, piece := range p.area.clipLine(line) {
		p.s.drawLine(l.linePen(), piece...)
	}
}

// drawScatter draws markers; of those that hide each other only one.
func (p plane) drawScatter(pts []xy, l seriesLook) {
	var places []xy
	for _, v := range pts {
		if at := p.pixelAt(v); p.area.containsPoint(at) {
			places = append(places, at)
		}
	}
	p.s.drawMarkers(l, dropHidden(places, func(at xy) [2]int {
		return [2]int{int(at.x), int(at.y)} // cells of one point
	}))
}
