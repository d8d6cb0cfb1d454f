package plot

import (
	"math"
	"strings"
	"testing"
)

func TestTheValuesOfAChartAreARowEach(t *testing.T) {
	bars := NewBars("c", []float64{7, math.NaN()})
	bars.Low, bars.High = []float64{6, math.NaN()}, []float64{8.5, math.NaN()}
	c := Chart{Title: "sizes", Categories: []string{"left", "right"}, Series: []Series{
		NewLine("a, b", []float64{1, 2}, []float64{0.5, 3}), bars, NewArea("band", []float64{1}, []float64{2}, []float64{3}),
	}}
	var out strings.Builder
	if err := c.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	want := "chart,series,x,y,low,high\nsizes,\"a, b\",1,0.5,,\nsizes,\"a, " +
		"b\",2,3,,\nsizes,c,left,7,6,8.5\nsizes,c,right,,,\n" +
		"sizes,band,1,,2,3\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestCountsHaveWholeTicksOnly(t *testing.T) {
	for _, tick := range Count.makeTicks(0, 3, false, 8) {
		if strings.Contains(tick.label, ".") {
			t.Errorf("a tick at %s", tick.label)
		}
	}
	if n := len(Count.makeTicks(0, 3, false, 8)); n != 4 {
		t.Errorf("%d ticks from 0 to 3, want 4", n)
	}
}
