package plot

import "math"

// hatch is a pattern over a bar, so that bars differ without colour.
type hatch int

const (
	solid hatch = iota
	rising
	falling
	level
	crossed
	upright
	hatchKinds // how many there are
)

// hatchGap is the distance between the lines of a hatch.
const hatchGap = 5.0

// drawBars draws the bars of all series, group by group.
func (p plane) drawBars(chart Chart) {
	var members []int
	for i, s := range chart.Series {
		if s.Kind == Bar {
			members = append(members, i)
		}
	}
	const groupShare = 0.8 // of the room of a category; the rest is gap
	width := groupShare / float64(len(members))
	for k, i := range members {
		look := lookOf(chart.seriesStyle(i))
		for g, height := range chart.barHeights(chart.Series[i]) {
			if math.IsNaN(height) {
				continue
			}
			left := float64(g) - groupShare/2 + float64(k)*width
			y := p.pixelAt(xy{0, height}).y
			r := rect{p.pixelX(left), math.Min(p.barBase(), y), p.pixelX(left + 0.94*width), math.Max(p.barBase(), y)}
			r.y0, r.y1 = math.Max(r.y0, p.area.y0), math.Min(r.y1, p.area.y1)
			if r.y1 > r.y0 {
				look.drawBar(p.s, r)
			}
			if low, high, ok := chart.errorInterval(chart.Series[i], g); ok {
				p.errorBar(errorBarColor, (r.x0+r.x1)/2, low, high)
			}
		}
	}
	p.s.drawLine(axisPen, xy{p.area.x0, p.barBase()}, xy{p.area.x1, p.barBase()})
}

// barBase is where bars stand: at zero, or on a logarithmic axis at its foot.
func (p plane) barBase() float64 {
	if p.y.log || p.y.min > 0 {
		return p.area.y0
	}
	return math.Min(p.pixelY(0), p.area.y1)
}

// drawBar draws one bar.
func (l seriesLook) drawBar(s *sheet, r rect) {
	s.fillRect(l.color, r)
	s.drawStrokes(hatchPen, l.hatch.hatchLines(r))
}

// hatchLines are the lines of the pattern inside r, each from (x0, y0) to (x1, y1).
func (h hatch) hatchLines(r rect) []rect {
	switch h {
	case rising:
		return slantedLines(r)
	case falling:
		return mirrorLines(r, slantedLines(r))
	case crossed:
		return append(slantedLines(r), mirrorLines(r, slantedLines(r))...)
	case level:
		var list []rect
		for y := r.y0 + hatchGap/2; y < r.y1; y += hatchGap {
			list = append(list, rect{r.x0, y, r.x1, y})
		}
		return list
	case upright:
		var list []rect
		for x := r.x0 + hatchGap/2; x < r.x1; x += hatchGap {
			list = append(list, rect{x, r.y0, x, r.y1})
		}
		return list
	}
	return nil
}

// slantedLines are lines that rise by 45 degrees, cut off at the sides of r.
func slantedLines(r rect) []rect {
	var list []rect
	const gap = hatchGap * math.Sqrt2
	for start := r.y0 - r.width() + gap/2; start < r.y1; start += gap {
		// The line y = start + (x - x0).
		from, to := math.Max(start, r.y0), math.Min(start+r.width(), r.y1)
		if to > from {
			list = append(list, rect{r.x0 + from - start, from, r.x0 + to - start, to})
		}
	}
	return list
}

// mirrorLines turns lines inside r from left to right.
func mirrorLines(r rect, lines []rect) []rect {
	for i, l := range lines {
		lines[i].x0, lines[i].x1 = r.x0+r.x1-l.x0, r.x0+r.x1-l.x1
	}
	return lines
}
