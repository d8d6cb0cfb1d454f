package measured

import (
	"math"
	"testing"
)

func TestMeansHaveTheirConfidence(t *testing.T) {
	s := SpreadOf([]float64{1, 2, 3})
	if s.Mean != 2 || s.Sd != 1 || math.Abs(s.HalfWidth()-4.303/math.Sqrt(3)) > 1e-9 {
		t.Errorf("%+v ± %.3f", s, s.HalfWidth())
	}
	if one := SpreadOf([]float64{5}); one.Mean != 5 || one.Sd != 0 || !math.IsInf(one.HalfWidth(), 1) {
		t.Errorf("%+v ± %.3f", one, one.HalfWidth())
	}
	if !math.IsNaN(Median(nil)) || Median([]float64{3, 1, 2}) != 2 || Median([]float64{4, 1, 2, 3}) != 2.5 {
		t.Error("a median is wrong")
	}
	if many := SpreadOf(make([]float64, 100)); many.HalfWidth() != 0 {
		t.Errorf("± %.3f", many.HalfWidth())
	}
}

func TestPairsAreComparedOccasionByOccasion(t *testing.T) {
	a, b := []float64{1, 10, 100, 5}, []float64{2, 20, 200, 10}
	if p := RatioOfMeans(a, b); math.Abs(p.Mean-0.5) > 1e-12 || math.Abs(p.Low-0.5) > 1e-12 ||
		math.Abs(p.High-0.5) > 1e-12 {
		t.Errorf("each is half of the other, but the ratio is %+v", p)
	}
	if p := DifferenceOfMeans([]float64{3, 1, 3, 1}, []float64{1, 1, 1, 1}); p.Mean != 1 || p.Low != 0 || p.High != 2 {
		t.Errorf("of four differences of 0 and 2: %+v", p)
	}
	if p := RatioOfMeans([]float64{1}, []float64{2}); !math.IsInf(p.High, 1) {
		t.Errorf("one occasion tells nothing of others: %+v", p)
	}
}
