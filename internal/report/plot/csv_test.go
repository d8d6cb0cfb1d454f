package plot

import (
	"strings"
	"testing"
)

func TestTheValuesOfAChartAreARowEach(t *testing.T) {
	c := Chart{Categories: []string{"left", "right"}, Series: []Series{NewLine("a, b", []float64{1, 2}, []float64{0.5, 3}), NewBars("c", []float64{7, 8})}}
	var out strings.Builder
	if err := c.WriteCSV(&out); err != nil {
		t.Fatal(err)
	}
	want := "series,x,y\n\"a, b\",1,0.5\n\"a, b\",2,3\nc,left,7\nc,right,8\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestCountsHaveWholeTicksOnly(t *testing.T) {
	for _, tick := range Count.ticks(0, 3, false, 8) {
		if strings.Contains(tick.label, ".") {
			t.Errorf("a tick at %s", tick.label)
		}
	}
	if n := len(Count.ticks(0, 3, false, 8)); n != 4 {
		t.Errorf("%d ticks from 0 to 3, want 4", n)
	}
}
