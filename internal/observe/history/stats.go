package history

import (
	"math"
	"slices"
)

// betaInc is the regularized incomplete beta function I_x(a, b): the chance that
// a Beta(a, b) variable is at most x. Continued fraction by Lentz's method.
func betaInc(a, b, x float64) float64 {
	if x <= 0 || x >= 1 || math.IsNaN(x) {
		return max(0, min(1, x))
	}
	if x > (a+1)/(a+b+2) { // there the fraction converges slowly
		return 1 - betaInc(b, a, 1-x)
	}
	front := math.Exp(logGamma(a+b) - logGamma(a) - logGamma(b) + a*math.Log(x) + b*math.Log1p(-x))
	const tiny, enough, most = 1e-300, 1e-14, 1000
	c, d := 1.0, 1/nonZero(1-(a+b)*x/(a+1), tiny)
	sum := d
	for m := 1.0; m < most; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / nonZero(1+even*d, tiny)
		c = nonZero(1+even/c, tiny)
		sum *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / nonZero(1+odd*d, tiny)
		c = nonZero(1+odd/c, tiny)
		step := d * c
		sum *= step
		if math.Abs(step-1) < enough {
			break
		}
	}
	return front * sum / a
}

func nonZero(x, tiny float64) float64 {
	if math.Abs(x) < tiny {
		return tiny
	}
	return x
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// betaQuantile is the x with I_x(a, b) = p, by bisection: it is asked rarely and
// never fails.
func betaQuantile(a, b, p float64) float64 {
	lo, hi := 0.0, 1.0
	for range 100 {
		mid := (lo + hi) / 2
		if betaInc(a, b, mid) < p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return (lo + hi) / 2
}

// studentQuantile is the p-quantile of Student's t with df degrees of freedom:
// Newton's method on the logarithm of t, where the tail is nearly straight.
func studentQuantile(df, p float64) float64 {
	if p < 0.5 {
		return -studentQuantile(df, 1-p)
	}
	normal := math.Sqrt2 * math.Erfinv(2*p-1)
	if p == 0.5 || df > 1e6 {
		return normal
	}
	t := normal * (1 + (normal*normal+1)/(4*df)) // Cornish and Fisher's first term
	density := logGamma((df+1)/2) - logGamma(df/2) - 0.5*math.Log(df*math.Pi)
	for range 50 {
		tail := betaInc(df/2, 0.5, df/(df+t*t)) / 2
		slope := t * math.Exp(density-(df+1)/2*math.Log1p(t*t/df)) // of −tail along log t
		step := math.Log(tail/(1-p)) * tail / max(slope, 1e-300)
		t *= math.Exp(max(-1, min(1, step)))
		if math.Abs(step) < 1e-12 {
			break
		}
	}
	return t
}

// binomialCDF is the chance of at most k successes in n tries of chance p.
func binomialCDF(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	}
	return betaInc(float64(n-k), float64(k+1), 1-p)
}

// meanSd is the mean and the sample standard deviation.
func meanSd(x []float64) (mean, sd float64) {
	if len(x) == 0 {
		return 0, 0
	}
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(x)-1))
}

// spread is what is believed of a variance of logarithms before and after
// looking: an inverse-gamma with df degrees of freedom around sd².
type spread struct{ df, sd float64 }

// withObservations adds the sum of squared deviations of a number of observations that were
// free to deviate.
func (s spread) withObservations(squares, free float64) spread {
	df := s.df + free
	return spread{df, math.Sqrt((s.df*s.sd*s.sd + squares) / df)}
}

// logNormal is the quantiles at Levels of a quantity whose logarithm is
// Student-distributed around mean: what is expected of the next observation
// when mean and spread are themselves only known from few. widen is 1 plus the
// variance of the mean in units of that of one observation.
func logNormal(mean float64, s spread, widen float64) []float64 {
	levels := QuantileLevels()
	q := make([]float64, NLevels)
	for i := range (NLevels + 1) / 2 { // the levels lie as far below the middle as above
		off := s.sd * math.Sqrt(widen) * studentQuantile(s.df, levels[NLevels-1-i])
		q[i], q[NLevels-1-i] = math.Exp(mean-off), math.Exp(mean+off)
	}
	return q
}

// medianOf of a list, which is sorted.
func medianOf(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return interpolateBetween(x, float64(len(x)-1)/2)
}
