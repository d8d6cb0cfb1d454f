package plot

import (
	"math"
	"strings"
	"testing"
)

func TestAShadedAreaWidensTheAxisAndStaysInsideTheFrame(t *testing.T) {
	c := Chart{Series: []Series{
		NewLine("value", []float64{0, 1, 2}, []float64{1, 2, 1}),
		NewArea("band", []float64{0, 1, 2, 3}, []float64{0, 1, 0, math.NaN()}, []float64{2, 40, 2, 1}),
	}}
	if x, y := c.dataExtents(); y.max != 40 || x.max != 2 {
		t.Errorf("the axes end at %v and %v, want 2 and 40", x.max, y.max)
	}
	if svg := render(t, c.asFigure()); strings.Count(svg, "fill-opacity") != 2 { // the area and its picture in the legend
		t.Errorf("the area is not drawn:\n%s", svg)
	}
	frame := rect{0, 0, 10, 10}
	for _, p := range frame.clipOutline([]xy{{-5, 5}, {5, 25}, {15, 5}, {5, -3}}) {
		if !frame.containsPoint(p) {
			t.Errorf("%v lies outside", p)
		}
	}
	if out := frame.clipOutline([]xy{{20, 20}, {30, 20}, {30, 30}}); len(out) != 0 {
		t.Errorf("of an area outside %v is left", out)
	}
}

func TestACurveAtTheUpperEndOfTheAxisIsBelowTheEdge(t *testing.T) {
	c := Chart{YUnit: Percent, YRange: Range{Max: 1}, Series: []Series{NewCDF("waits", []float64{1, 2, 3})}}
	_, y, _ := c.makeAxes(300, 200)
	if y.positionOf(1) > 0.98 {
		t.Errorf("the curve ends at %v of the height", y.positionOf(1))
	}
	if last := y.ticks[len(y.ticks)-1]; last.label != "100 %" {
		t.Errorf("the last tick is %q", last.label)
	}
}
