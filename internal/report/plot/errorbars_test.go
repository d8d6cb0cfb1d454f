package plot

import (
	"math"
	"strings"
	"testing"
)

func TestIntervalsAreDrawnAndWidenTheAxis(t *testing.T) {
	points := NewScatter("a", []float64{1, 2, 3}, []float64{10, 20, 30})
	points.Low, points.High = []float64{5, math.NaN(), 30}, []float64{15, 25, 90}
	bars := NewBars("a", []float64{10, 20})
	bars.Low, bars.High = []float64{5, 18}, []float64{15, 90}
	for name, c := range map[string]Chart{"points": {Series: []Series{points}}, "bars": {Series: []Series{bars}}} {
		if _, y := c.dataExtents(); y.max != 90 {
			t.Errorf("%s: the axis ends at %v, the highest interval at 90", name, y.max)
		}
		with := render(t, c.asFigure())
		c.Series[0].Low = nil
		if without := render(t, c.asFigure()); len(with) <= len(without) {
			t.Errorf("%s: intervals were not drawn", name)
		}
	}
}

func TestALineThatIsNoDataHasNoMarkers(t *testing.T) {
	line := NewLine("equal", []float64{1, 100}, []float64{1, 100})
	marked := render(t, Chart{Series: []Series{line}}.asFigure())
	line.NoMarkers = true
	plain := render(t, Chart{Series: []Series{line}}.asFigure())
	if !strings.Contains(marked, circle) || strings.Contains(plain, circle) {
		t.Error("the markers of a line do not follow NoMarkers")
	}
}
