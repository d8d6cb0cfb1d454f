package plot

import (
	"math"
	"slices"
)

// axis is one finished axis: what it shows and where its ticks are.
type axis struct {
	min, max float64
	log      bool
	ticks    []tick
}

// tick is a mark on an axis; without a label it is a small one.
type tick struct {
	value float64
	label string
}

// extent grows to hold values.
type extent struct{ min, max float64 }

func emptyExtent() extent { return extent{math.Inf(1), math.Inf(-1)} }

func (e *extent) addValue(v float64) {
	e.min, e.max = math.Min(e.min, v), math.Max(e.max, v)
}

func (e extent) isEmpty() bool { return e.min > e.max }

// longestName is the room that the name of a category may take.
const longestName = 110

// dataExtents are the ranges of everything drawable in the chart.
func (c Chart) dataExtents() (x, y extent) {
	x, y = emptyExtent(), emptyExtent()
	zero := false // bars stand on zero
	for _, s := range c.Series {
		for i := range s.Low {
			if low, high, ok := c.errorInterval(s, i); ok {
				y.addValue(low)
				y.addValue(high)
			}
		}
		if s.Kind == Area {
			lower, upper := c.areaEdges(s)
			for i := range lower {
				x.addValue(lower[i].x)
				y.addValue(lower[i].y)
				y.addValue(upper[i].y)
			}
			continue
		}
		if s.Kind == Bar {
			for i, h := range c.barHeights(s) {
				if !math.IsNaN(h) {
					x.addValue(float64(i))
					y.addValue(h)
					zero = true
				}
			}
			continue
		}
		for _, p := range c.drawablePoints(s) {
			x.addValue(p.x)
			y.addValue(p.y)
			if s.Kind == CDF && !c.LogY {
				y.addValue(0)
				y.addValue(1)
			}
		}
	}
	if y.isEmpty() {
		return x, y // a reference without anything to compare is no data
	}
	for _, l := range c.Lines {
		c.addY(&y, l.Y)
	}
	for _, b := range c.Bands {
		c.addY(&y, b.Min)
		c.addY(&y, b.Max)
	}
	if zero {
		c.addY(&y, 0)
	}
	return x, y
}

func (c Chart) addY(y *extent, v float64) {
	if isDrawable(v, c.LogY) {
		y.addValue(v)
	}
}

// makeAxes are the finished axes for a drawing area of about w by h points; empty
// says that there is nothing to draw.
func (c Chart) makeAxes(w, h float64) (x, y axis, empty bool) {
	ex, ey := c.dataExtents()
	if ex.isEmpty() || ey.isEmpty() {
		return axis{min: 0, max: 1}, axis{min: 0, max: 1}, true
	}
	if c.hasBars() {
		names := c.categoryNames()
		x = axis{min: -0.5, max: float64(len(names)) - 0.5}
		for i, name := range names {
			x.ticks = append(x.ticks, tick{float64(i), tickText.fitText(name, longestName)})
		}
	} else {
		x = c.xAxis(ex, int(math.Round(w/60)))
	}
	return x, c.yAxis(ey, int(math.Round(h/32))), false
}

func (c Chart) xAxis(e extent, want int) axis {
	a := axis{log: c.LogX}
	a.min, a.max = widenExtent(e, c.LogX)
	if c.hasPoints() {
		a.padEnds(0.03)
	}
	if span := a.max - a.min; !a.log && a.min > 0 && a.min < span/10 {
		a.min = 0 // the axis almost began there anyway
	}
	a.limitTo(c.XRange)
	a.ticks = c.XUnit.makeTicks(a.min, a.max, a.log, want)
	return a
}

// headroom is the share of the height that is left above a curve that would lie on the
// upper edge, as distributions do at 100 %.
const headroom = 0.03

func (c Chart) yAxis(e extent, want int) axis {
	a := axis{log: c.LogY}
	a.min, a.max = widenExtent(e, c.LogY)
	if c.LogY && c.hasPoints() {
		a.padEnds(0.03)
	}
	if !c.LogY && a.min > 0 && a.min < 0.6*a.max {
		a.min = 0 // heights can then be compared by eye
	}
	if !a.limitTo(c.YRange) && !c.LogY {
		a.roundToSteps(c.YUnit.tickStep(a.max-a.min, want))
	}
	a.ticks = c.YUnit.makeTicks(a.min, a.max, c.LogY, want)
	if !c.LogY && !c.hasBars() && math.Abs(e.max-a.max) <= slack*math.Abs(a.max) {
		a.max += headroom * (a.max - a.min)
	}
	return a
}

func (c Chart) hasPoints() bool {
	return slices.ContainsFunc(c.Series, func(s Series) bool { return s.Kind == Scatter })
}

func (c Chart) hasBars() bool {
	return slices.ContainsFunc(c.Series, func(s Series) bool { return s.Kind == Bar && len(s.Y) > 0 })
}

// padEnds adds a share of its length to both ends of the axis, so that markers do
// not lie on its edge.
func (a *axis) padEnds(share float64) {
	if a.log {
		factor := math.Pow(a.max/a.min, share)
		a.min, a.max = a.min/factor, a.max*factor
		return
	}
	length := (a.max - a.min) * share
	a.min, a.max = a.min-length, a.max+length
}

// limitTo shows what the caller asked for, if it can be shown.
func (a *axis) limitTo(r Range) bool {
	// A range too narrow for its size would have no ticks that differ.
	if !isDrawable(r.Min, a.log) || !isDrawable(r.Max, a.log) ||
		r.Max-r.Min <= math.Max(smallest, slack*math.Max(math.Abs(r.Min), math.Abs(r.Max))) {
		return false
	}
	a.min, a.max = r.Min, r.Max
	return true
}

// roundToSteps extends the axis to whole steps, so that it ends at a tick.
func (a *axis) roundToSteps(step float64) {
	a.min = math.Floor(a.min/step+slack) * step
	a.max = math.Ceil(a.max/step-slack) * step
}

// widenExtent gives a range that contains one value only a width.
func widenExtent(e extent, log bool) (lo, hi float64) {
	size := math.Max(math.Abs(e.min), math.Abs(e.max))
	switch {
	case log && e.max/e.min < 1.01:
		return e.min / 2, e.max * 2
	case size < smallest:
		return 0, 1
	case e.max-e.min > slack*size:
		return e.min, e.max
	default:
		return e.min - size/2, e.max + size/2
	}
}

// positionOf is where v lies on the axis: 0 at its beginning, 1 at its end.
func (a axis) positionOf(v float64) float64 {
	if a.log {
		return math.Log(v/a.min) / math.Log(a.max/a.min)
	}
	return (v - a.min) / (a.max - a.min)
}
