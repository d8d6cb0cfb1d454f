package plot

import (
	"cmp"
	"math"
	"slices"
)

// xy is a point in the units of the data.
type xy struct{ x, y float64 }

// largest and smallest are the sizes beyond which a value is taken for a
// mistake rather than a measurement: differences and ratios of drawable values
// are always finite.
const (
	largest  = 1e150
	smallest = 1 / largest
)

// isDrawable reports whether a value can be drawn on an axis.
func isDrawable(v float64, log bool) bool {
	if log {
		return v >= smallest && v <= largest
	}
	return !math.IsNaN(v) && math.Abs(v) <= largest
}

// drawablePoints are the drawable points of a series. Samples of a distribution that
// a logarithmic axis cannot show (waits of zero) are not lost: the curve
// begins at the height they lift it to.
func (c Chart) drawablePoints(s Series) []xy {
	n := min(len(s.X), len(s.Y))
	pts := make([]xy, 0, n)
	hidden := 0.0 // the share of samples left of a logarithmic axis
	for i := range n {
		p := xy{s.X[i], s.Y[i]}
		if !isDrawable(p.x, false) || !isDrawable(p.y, c.LogY) {
			continue
		}
		if !isDrawable(p.x, c.LogX) {
			hidden = p.y
			continue
		}
		pts = append(pts, p)
	}
	if s.Kind == CDF && len(pts) > 0 {
		// The vertical rise to the first point belongs to the curve.
		if foot := (xy{pts[0].x, hidden}); isDrawable(foot.y, c.LogY) {
			pts = slices.Insert(pts, 0, foot)
		}
	}
	return pts
}

// barHeights are the heights of a series of bars, NaN where there is none.
func (c Chart) barHeights(s Series) []float64 {
	heights := slices.Clone(s.Y)
	for i, h := range heights {
		if !isDrawable(h, c.LogY) {
			heights[i] = math.NaN()
		}
	}
	return heights
}

// categoryNames are the names of the groups of bars: those given, and empty ones
// for further groups.
func (c Chart) categoryNames() []string {
	names := slices.Clone(c.Categories)
	for _, s := range c.Series {
		for s.Kind == Bar && len(names) < len(s.Y) {
			names = append(names, "")
		}
	}
	return names
}

// staircaseCorners turns values that hold until the next one into the corners of a
// staircase.
func staircaseCorners(pts []xy) []xy {
	if len(pts) == 0 {
		return nil
	}
	out := make([]xy, 0, 2*len(pts)-1)
	for i, p := range pts {
		if i > 0 {
			out = append(out, xy{p.x, pts[i-1].y})
		}
		out = append(out, p)
	}
	return out
}

// thinPoints drops points that cannot be seen. It cuts the axis into columns no
// wider than the line and keeps of the run of points in one column the first,
// the lowest, the highest and the last: what was visible stays visible, and a
// year of events makes a file that a browser opens.
func thinPoints(pts []xy, column func(x float64) int) []xy {
	out := make([]xy, 0, min(len(pts), 4096))
	for from := 0; from < len(pts); {
		to, low, high := from, from, from
		for col := column(pts[from].x); to < len(pts) && column(pts[to].x) == col; to++ {
			if pts[to].y < pts[low].y {
				low = to
			}
			if pts[to].y > pts[high].y {
				high = to
			}
		}
		keep := []int{from, low, high, to - 1}
		slices.Sort(keep)
		for _, i := range slices.Compact(keep) {
			out = append(out, pts[i])
		}
		from = to
	}
	return out
}

// dropHidden drops points that lie on top of each other: one of each cell stays.
func dropHidden(pts []xy, cell func(p xy) [2]int) []xy {
	index := make([]int, len(pts))
	for i := range index {
		index[i] = i
	}
	cells := make([][2]int, len(pts))
	for i, p := range pts {
		cells[i] = cell(p)
	}
	slices.SortStableFunc(index, func(i, j int) int {
		return cmp.Or(cmp.Compare(cells[i][0], cells[j][0]), cmp.Compare(cells[i][1], cells[j][1]))
	})
	index = slices.CompactFunc(index, func(i, j int) bool { return cells[i] == cells[j] })
	slices.Sort(index)
	out := make([]xy, len(index))
	for i, at := range index {
		out[i] = pts[at]
	}
	return out
}
