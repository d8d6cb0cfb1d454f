package plot

import "math"

// plane is the drawing area: it turns values into places and keeps what is
// drawn inside.
type plane struct {
	s    *sheet
	area rect
	x, y axis
}

func (p plane) px(v float64) float64 { return p.area.x0 + p.x.place(v)*p.area.width() }
func (p plane) py(v float64) float64 { return p.area.y0 + p.y.place(v)*p.area.height() }
func (p plane) at(v xy) xy           { return xy{p.px(v.x), p.py(v.y)} }

// level draws a line from the left to the right side.
func (p plane) level(pen pen, y float64) {
	p.s.line(pen, xy{p.area.x0, p.py(y)}, xy{p.area.x1, p.py(y)})
}

// grid draws faint lines at the labelled ticks.
func (p plane) grid(vertical bool) {
	for _, t := range p.y.ticks {
		if t.label != "" {
			p.level(gridPen, t.value)
		}
	}
	if !vertical {
		return
	}
	for _, t := range p.x.ticks {
		if t.label != "" {
			p.s.line(gridPen, xy{p.px(t.value), p.area.y0}, xy{p.px(t.value), p.area.y1})
		}
	}
}

func (p plane) bands(list []Band) {
	for _, b := range list {
		lo, hi := math.Min(b.Min, b.Max), math.Max(b.Min, b.Max)
		if !drawable(lo, false) || !drawable(hi, p.y.log) {
			continue
		}
		r := rect{p.area.x0, p.area.y0, p.area.x1, math.Min(p.py(hi), p.area.y1)}
		if drawable(lo, p.y.log) {
			r.y0 = math.Max(p.py(lo), p.area.y0)
		}
		if r.y1 > r.y0 {
			p.s.fill(shade, r)
		}
	}
}

func (p plane) references(list []RefLine) {
	for _, l := range list {
		if drawable(l.Y, p.y.log) && l.Y >= p.y.min && l.Y <= p.y.max {
			p.level(referencePen, l.Y)
		}
	}
}

// series draws all series, the first one last: on top of the others. Shaded areas lie
// below everything.
func (p plane) series(chart Chart) {
	for i, s := range chart.Series {
		if s.Kind == Area {
			p.shadeArea(chart, s, lookOf(chart.style(i)))
		}
	}
	if chart.hasBars() {
		p.bars(chart)
	}
	for i := len(chart.Series) - 1; i >= 0; i-- {
		s, look := chart.Series[i], lookOf(chart.style(i))
		pts := chart.points(s)
		switch s.Kind {
		case Scatter:
			p.errorBars(chart, s, look)
			p.scatter(pts, look)
		case Line:
			p.curve(thin(pts, p.column), look)
			p.errorBars(chart, s, look)
			if len(pts) <= fewPoints && !s.NoMarkers {
				p.scatter(pts, look)
			}
		case Step:
			p.curve(corners(thin(pts, p.column)), look)
		case CDF:
			p.curve(corners(thin(p.sides(pts), p.column)), look)
		}
	}
}

// sides extends a distribution to both sides of the area: a share of samples
// left of a logarithmic axis comes in at its height, and all samples stay
// below whatever lies right of the largest.
func (p plane) sides(pts []xy) []xy {
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

// column is the column of half a point that x falls into; what lies far
// outside the area falls into the last one.
func (p plane) column(x float64) int {
	const far = 1e6
	return int(math.Floor(math.Max(-far, math.Min(far, 2*p.px(x)))))
}

// curve strokes a line through pts.
func (p plane) curve(pts []xy, l look) {
	line := make([]xy, len(pts))
	for i, v := range pts {
		line[i] = p.at(v)
	}
	for _, piece := range p.area.clip(line) {
		p.s.line(l.pen(), piece...)
	}
}

// scatter draws markers; of those that hide each other only one.
func (p plane) scatter(pts []xy, l look) {
	var places []xy
	for _, v := range pts {
		if at := p.at(v); p.area.contains(at) {
			places = append(places, at)
		}
	}
	p.s.markers(l, sparse(places, func(at xy) [2]int {
		return [2]int{int(at.x), int(at.y)} // cells of one point
	}))
}
