package predict

import "math"

const (
	// needWrong is the chance that what is said of the need is of another
	// program or another input. Then nothing is known but its order of
	// magnitude, and the longer it has run the longer it is likely to run on:
	// P(need > x) = (1 + x/median)^−wrongTail.
	needWrong = 0.02
	wrongTail = 1.5
)

// needLeft fills in what is left, in each future, of a job that needs need and
// has used a part of it: the distribution of need, given that it is more than
// used, less used.
func needLeft(need Dist, used float64, left *futures) {
	median := max(need.Median(), 1e-9)
	done := need.ProbabilityBelow(used)
	right := (1 - needWrong) * (1 - done)
	wrong := needWrong * math.Pow(1+used/median, -wrongTail)
	sound := nFutures - int(math.Round(nFutures*wrong/(wrong+right)))
	fillQuantiles(left[:sound], func(p float64) float64 {
		return need.Quantile(done+p*(1-done)) - used
	})
	fillQuantiles(left[sound:], func(p float64) float64 {
		return (median + used) * math.Expm1(-math.Log1p(-p)/wrongTail)
	})
}

// fillQuantiles gives each stratum its quantile. They run smoothly: all are computed at
// the ends, every eighth between.
func fillQuantiles(left []float64, quantile func(p float64) float64) {
	const ends, every = 4, 8
	n := len(left)
	last := 0
	for i := 0; i < n; {
		left[i] = max(quantile((float64(i)+0.5)/float64(n)), 0)
		for j := last + 1; j < i; j++ {
			left[j] = interpolateBetween(left[last], left[i], float64(j-last)/float64(i-last))
		}
		last = i
		if i+1 < ends || i+every > n-ends {
			i++
		} else {
			i += every
		}
	}
}
