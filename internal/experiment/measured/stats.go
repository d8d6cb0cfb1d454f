// Package measured is what experiments on real machines have in common: means with
// the intervals in which they lie, and what machine it was.
package measured

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Spread is the mean and the standard deviation of measurements.
type Spread struct {
	N        int
	Mean, Sd float64
}

// SpreadOf is the spread of a list.
func SpreadOf(x []float64) Spread {
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
var student95 = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
	2.145, 2.131}

// HalfWidth is half the width of the 95 % confidence interval of the mean; infinite
// for fewer than two measurements.
func (s Spread) HalfWidth() float64 {
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

// Paired compares two lists, each of whose places is one occasion: the comparison of
// their means, and between what it lies for 95 % of the draws of as many occasions.
type Paired struct{ Mean, Low, High float64 }

// RatioOfMeans is how large the mean of a is in parts of that of b.
func RatioOfMeans(a, b []float64) Paired {
	return comparePairs(a, b, func(a, b float64) float64 { return a / b })
}

// DifferenceOfMeans is how much larger the mean of a is than that of b.
func DifferenceOfMeans(a, b []float64) Paired {
	return comparePairs(a, b, func(a, b float64) float64 { return a - b })
}

func comparePairs(a, b []float64, compare func(a, b float64) float64) Paired {
	const draws = 10_000
	p := Paired{compare(SpreadOf(a).Mean, SpreadOf(b).Mean), math.Inf(-1), math.Inf(1)}
	if len(a) < 2 {
		return p
	}
	rnd := rand.New(rand.NewPCG(95, uint64(len(a)))) // the same list has the same interval
	list := make([]float64, draws)
	for i := range list {
		sumA, sumB := 0.0, 0.0
		for range a {
			at := rnd.IntN(len(a))
			sumA, sumB = sumA+a[at], sumB+b[at]
		}
		list[i] = compare(sumA/float64(len(a)), sumB/float64(len(a)))
	}
	slices.Sort(list)
	p.Low, p.High = list[draws*25/1000], list[draws*975/1000-1]
	return p
}
