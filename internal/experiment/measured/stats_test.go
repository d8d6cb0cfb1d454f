package measured

import (
	"math"
	"testing"
)

func TestMeansHaveTheirConfidence(t *testing.T) {
	s := Of([]float64{1, 2, 3})
	if s.Mean != 2 || s.Sd != 1 || math.Abs(s.Half()-4.303/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%+v ± %.3f", s, s.Half())
	}
	if one := Of([]float64{5}); one.Mean != 5 || one.Sd != 0 || !math.IsInf(one.Half(), 1) {
		t.Errorf("%+v ± %.3f", one, one.Half())
	}
	if !math.IsNaN(Median(nil)) || Median([]float64{3, 1, 2}) != 2 || Median([]float64{4, 1, 2, 3}) != 2.5 {
		t.Error("a median is wrong")
	}
	if many := Of(make([]float64, 100)); many.Half() != 0 {
		t.Errorf("± %.3f", many.Half())
	}
}
