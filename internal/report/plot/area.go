package plot

import "math"

// areaOpacity lets grid and curves be seen through a shaded area.
const areaOpacity = 0.22

// areaEdges are the drawable places of a shaded area: its lower and its upper edge, from
// left to right.
func (c Chart) areaEdges(s Series) (lower, upper []xy) {
	for i := range min(len(s.X), len(s.Low), len(s.High)) {
		low, high := math.Min(s.Low[i], s.High[i]), math.Max(s.Low[i], s.High[i])
		if isDrawable(s.X[i], c.LogX) && isDrawable(low, c.LogY) && isDrawable(high, c.LogY) {
			lower, upper = append(lower, xy{s.X[i], low}), append(upper, xy{s.X[i], high})
		}
	}
	return lower, upper
}

// shadeArea fills what lies between the edges of an area.
func (p plane) shadeArea(chart Chart, s Series, l seriesLook) {
	lower, upper := chart.areaEdges(s)
	outline := make([]xy, 0, 2*len(lower))
	for _, v := range upper {
		outline = append(outline, p.pixelAt(v))
	}
	for i := len(lower) - 1; i >= 0; i-- {
		outline = append(outline, p.pixelAt(lower[i]))
	}
	p.s.fillOutline(l.color, areaOpacity, p.area.clipOutline(outline))
}

// clipOutline is the part of a closed outline inside r (Sutherland and Hodgman): the
// outline is cut at one side of r after the other.
func (r rect) clipOutline(outline []xy) []xy {
	// inside is how far a point lies on the inner side of each side of r.
	for _, inside := range [...]func(xy) float64{
		func(p xy) float64 { return p.x - r.x0 }, func(p xy) float64 { return r.x1 - p.x },
		func(p xy) float64 { return p.y - r.y0 }, func(p xy) float64 { return r.y1 - p.y },
	} {
		var kept []xy
		for i, b := range outline {
			a := outline[(i+len(outline)-1)%len(outline)]
			fromA, fromB := inside(a), inside(b)
			if (fromA < 0) != (fromB < 0) {
				t := fromA / (fromA - fromB)
				kept = append(kept, xy{a.x + t*(b.x-a.x), a.y + t*(b.y-a.y)})
			}
			if fromB >= 0 {
				kept = append(kept, b)
			}
		}
		outline = kept
	}
	return outline
}
