// Package measured is what experiments on real machines have in common: means with
// the intervals in which they lie, and what machine it was.
package measured

import (
	"math"
	"slices"
)

// Spread is the mean and the standard deviation of measurements.
type Spread struct {
	N        int
	Mean, Sd float64
}

// Of is the spread of a list.
func Of(x []float64) Spread {
	s := Spread{N: len(x)}
	for _, v := range x {
		s.Mean += v / float64(len(x))
	}
	for _, v := range x {
		s.Sd += (v - s.Mean) * (v - s.Mean)
	}
	if s.N > 1 {
		s.Sd = math.Sqrt(s.Sd / float64(s.N-1))
	} else {
		s.Sd = 0
	}
	return s
}

// student95 are the quantiles of Student's distribution between which 95 % lie,
// by degrees of freedom from 1 on.
var student95 = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131}

// Half is half the width of the 95 % confidence interval of the mean; infinite
// for fewer than two measurements.
func (s Spread) Half() float64 {
	if s.N < 2 {
		return math.Inf(1)
	}
	t := 1.96
	if s.N-2 < len(student95) {
		t = student95[s.N-2]
	}
	return t * s.Sd / math.Sqrt(float64(s.N))
}

// Median is the middle of the measurements; NaN if there are none.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	x = slices.Clone(x)
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
