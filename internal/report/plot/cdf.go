package plot

import "slices"

// maxCDFPoints bounds the points of a distribution however many samples it
// has.
const maxCDFPoints = 2000

// NewCDF is the distribution of the samples: at x, the share of them that is
// at most x. Distributions of many samples are thinned to 2,000 points; the
// curve is then nowhere more than 1/1,998 too low and never too high, which
// is less than the width of its line.
func NewCDF(name string, samples []float64) Series {
	sorted := make([]float64, 0, len(samples))
	for _, v := range samples {
		if isDrawable(v, false) {
			sorted = append(sorted, v)
		}
	}
	slices.Sort(sorted)

	s := Series{Name: name, Kind: CDF}
	n := float64(len(sorted))
	// A point is kept when the curve has risen this much since the last one.
	// Each kept point but the first and the last uses up that much of the rise
	// from 0 to 1, so there are at most maxCDFPoints.
	rise := 0.0
	if countDistinct(sorted) > maxCDFPoints {
		rise = 1.0 / (maxCDFPoints - 2)
	}
	kept := 0.0
	for i, x := range sorted {
		if i+1 < len(sorted) && sorted[i+1] == x {
			continue // the last of equal samples stands for all of them
		}
		y := float64(i+1) / n
		if len(s.X) == 0 || i+1 == len(sorted) || y-kept >= rise {
			s.X, s.Y, kept = append(s.X, x), append(s.Y, y), y
		}
	}
	return s
}

// countDistinct counts the different values in a sorted slice.
func countDistinct(sorted []float64) int {
	n := 0
	for i, v := range sorted {
		if i == 0 || v != sorted[i-1] {
			n++
		}
	}
	return n
}
