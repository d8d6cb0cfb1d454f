package forecast

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

const (
	// errorsKept is how many errors of the answer make its uncertainty.
	errorsKept = 100
	// farthest bounds an error, in mean errors.
	farthest = 30
	// firstGuess is the mean error, as a part of the value, while only one is
	// known; it counts as much as one error.
	firstGuess = 0.25
	scaleGain  = 0.05
)

// seeds are errors to begin with, in mean errors: those of Laplace's
// distribution. The errors that come push them out.
var seeds = [...]float64{-2.303, -1.204, -0.693, -0.357, -0.105, 0.105, 0.357, 0.693, 1.204, 2.303}

// spread is how far off the answer is: its mean error of late, and its errors
// in terms of what was the mean error then, so that a calm and a wild time of
// one series tell about each other.
type spread struct {
	scale float64
	n     float64 // errors so far
	past  recent
	order sorted
}

func newSpread() spread {
	s := spread{past: newRecent(errorsKept), order: newSorted(errorsKept)}
	for _, x := range seeds {
		s.keepError(x)
	}
	return s
}

func (s *spread) keepError(x float64) {
	s.order.addValue(&s.past, x)
	s.past.addValue(x)
}

// addError is told of an error.
func (s *spread) addError(e float64) {
	x := 0.0
	if e != 0 {
		x = min(max(e/s.scale, -farthest), farthest)
	}
	s.keepError(x)
	s.n++
	s.scale += max(scaleGain, 1/(s.n+1)) * (math.Abs(e) - s.scale)
}

// errorQuantile is the error, in mean errors, below which the probability is p.
func (s *spread) errorQuantile(p float64) float64 {
	v := s.order.values
	n := len(v)
	place := p*float64(n+1) - 1
	switch {
	case place < 0: // beyond what was seen: tails as those of Laplace's distribution
		return v[0] - math.Log(1/(p*float64(n+1)))
	case place > float64(n-1):
		return v[n-1] + math.Log(1/((1-p)*float64(n+1)))
	}
	i := min(int(place), n-2)
	return v[i] + (place-float64(i))*(v[i+1]-v[i])
}

// distAround is the distribution of what will come if value is said and the mean
// error is scale.
func (s *spread) distAround(value, scale, most float64) predict.Dist {
	levels := predict.Levels()
	q := levels[:]
	last := 0.0
	for i, p := range levels {
		x := value + scale*s.errorQuantile(p)
		if most > 0 {
			x = min(x, most)
		}
		last = max(x, last)
		q[i] = last
	}
	d, _ := predict.FromQuantiles(q)
	return d
}
