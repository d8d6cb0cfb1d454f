package plot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// shareUpTo is the share of samples of at most x, counted.
func shareUpTo(sorted []float64, x float64) float64 {
	n, _ := slices.BinarySearchFunc(sorted, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	return float64(n) / float64(len(sorted))
}

// drawn is the height of the drawn curve at x.
func drawn(s Series, x float64) float64 {
	n, _ := slices.BinarySearchFunc(s.X, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	if n == 0 {
		return 0
	}
	return s.Y[n-1]
}

func TestAThinnedDistributionKeepsItsShape(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for name, draw := range map[string]func() float64{
		"even":         r.Float64,
		"heavy tailed": func() float64 { return math.Exp(4 * r.NormFloat64()) },
		"with ties":    func() float64 { return math.Floor(r.Float64() * 5000) },
		"mostly zero":  func() float64 { return math.Max(0, r.NormFloat64()-1) },
		"two values":   func() float64 { return float64(r.IntN(2)) },
	} {
		for _, n := range []int{1, 2, 1999, 2001, 100_000} {
			samples := make([]float64, n)
			for i := range samples {
				samples[i] = draw()
			}
			s := NewCDF(name, samples)
			slices.Sort(samples)
			if len(s.X) > maxCDFPoints {
				t.Errorf("%s, %d samples: %d points", name, n, len(s.X))
			}
			if !slices.IsSorted(s.X) || !slices.IsSorted(s.Y) || s.Y[len(s.Y)-1] != 1 {
				t.Errorf("%s, %d samples: no distribution", name, n)
			}
			for _, x := range samples {
				off := shareUpTo(samples, x) - drawn(s, x)
				if off < -1e-12 || off >= 1.0/1998 || n <= 1999 && off > 1e-12 {
					t.Fatalf("%s, %d samples: the curve is %v too low at %v", name, n, off, x)
				}
			}
		}
	}
}

func TestTheSamplesOfADistributionStayAsTheyWere(t *testing.T) {
	samples := []float64{3, 1, 2}
	NewCDF("x", samples)
	if !slices.Equal(samples, []float64{3, 1, 2}) {
		t.Errorf("the samples are now %v", samples)
	}
}

func TestWaitsOfZeroLiftADistributionOnALogarithmicAxis(t *testing.T) {
	c := Chart{LogX: true, Series: []Series{NewCDF("waits", []float64{0, 0, 10, 100})}}
	pts := c.drawablePoints(c.Series[0])
	if want := []xy{{10, 0.5}, {10, 0.75}, {100, 1}}; !slices.Equal(pts, want) {
		t.Errorf("points %v, want %v", pts, want)
	}
}

func TestThinningKeepsEveryExtreme(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var pts []xy
	for i := range 100_000 {
		pts = append(pts, xy{float64(i), r.NormFloat64()})
	}
	column := func(x float64) int { return int(x / 500) }
	out := thinPoints(pts, column)
	if len(out) > 4*200 {
		t.Errorf("%d points are left of 200 columns", len(out))
	}
	for col := range 200 {
		all, kept := pts[col*500:(col+1)*500], []xy{}
		for _, p := range out {
			if column(p.x) == col {
				kept = append(kept, p)
			}
		}
		if highest(all) != highest(kept) || lowest(all) != lowest(kept) ||
			all[0] != kept[0] || all[len(all)-1] != kept[len(kept)-1] {
			t.Fatalf("column %d lost its outline", col)
		}
	}
}

func highest(pts []xy) float64 {
	y := math.Inf(-1)
	for _, p := range pts {
		y = math.Max(y, p.y)
	}
	return y
}

func lowest(pts []xy) float64 {
	y := math.Inf(1)
	for _, p := range pts {
		y = math.Min(y, p.y)
	}
	return y
}

func TestFewPointsAreNotThinned(t *testing.T) {
	pts := []xy{{1, 5}, {2, 3}, {3, 8}}
	if out := thinPoints(pts, func(x float64) int { return int(x) }); !slices.Equal(out, pts) {
		t.Errorf("points %v, want %v", out, pts)
	}
}

func TestOfHiddenMarkersOneStaysInItsPlace(t *testing.T) {
	pts := []xy{{5, 5}, {1, 1}, {5.1, 5.1}, {1.2, 1}, {9, 9}}
	out := dropHidden(pts, func(p xy) [2]int { return [2]int{int(p.x), int(p.y)} })
	if want := []xy{{5, 5}, {1, 1}, {9, 9}}; !slices.Equal(out, want) {
		t.Errorf("points %v, want %v", out, want)
	}
}

func TestAStaircaseHoldsEachValueUntilTheNext(t *testing.T) {
	got := staircaseCorners([]xy{{0, 1}, {2, 3}, {4, 0}})
	if want := []xy{{0, 1}, {2, 1}, {2, 3}, {4, 3}, {4, 0}}; !slices.Equal(got, want) {
		t.Errorf("corners %v, want %v", got, want)
	}
}

func TestLinesEndAtTheEdgeOfTheArea(t *testing.T) {
	area := rect{0, 0, 10, 10}
	for _, c := range []struct {
		what string
		line []xy
		want [][]xy
	}{
		{"inside", []xy{{1, 1}, {5, 9}, {9, 1}}, [][]xy{{{1, 1}, {5, 9}, {9, 1}}}},
		{"through", []xy{{-5, 5}, {15, 5}}, [][]xy{{{0, 5}, {10, 5}}}},
		{"past a corner", []xy{{-5, 5}, {5, 20}}, nil},
		{"out and in again", []xy{{5, 5}, {5, 15}, {7, 15}, {7, 5}}, [][]xy{{{5, 5}, {5, 10}}, {{7, 10}, {7, 5}}}},
		{"along the edge", []xy{{0, 10}, {10, 10}}, [][]xy{{{0, 10}, {10, 10}}}},
		{"outside", []xy{{11, 0}, {11, 10}}, nil},
		{"one point", []xy{{5, 5}}, nil},
	} {
		got := area.clipLine(c.line)
		if len(got) != len(c.want) {
			t.Errorf("%s: pieces %v, want %v", c.what, got, c.want)
			continue
		}
		for i := range got {
			if !slices.Equal(got[i], c.want[i]) {
				t.Errorf("%s: pieces %v, want %v", c.what, got, c.want)
			}
		}
	}
}
