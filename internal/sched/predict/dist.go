package predict

import "math"

// NLevels is how many quantiles make a distribution.
const NLevels = 13

// levels are the probabilities whose quantiles are kept, scores the same as
// quantiles of the standard normal distribution.
var (
	levels = [NLevels]float64{0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}
	scores = [NLevels]float64{
		-2.3263478740408408, -1.6448536269514722, -1.2815515655446004, -0.8416212335729143,
		-0.5244005127080407, -0.2533471031357997, 0, 0.2533471031357997, 0.5244005127080407,
		0.8416212335729143, 1.2815515655446004, 1.6448536269514722, 2.3263478740408408,
	}
)

const middle = NLevels / 2 // the median among the levels

// Levels are the probabilities at which a distribution is known.
func Levels() [NLevels]float64 { return levels }

// Dist is the distribution of something that is not negative (seconds, bytes,
// a share) by its quantiles at Levels. Between them the logarithm runs
// straight against the normal score, so that a lognormal distribution is exact
// and long tails stay long; beyond them it runs on as at the ends. The zero
// Dist is an unknown distribution. Dists do not change and may be copied.
type Dist struct {
	q     [NLevels]float64
	known bool
}

// FromQuantiles is the distribution with these quantiles at Levels. It refuses
// what is not finite, negative, or falls.
func FromQuantiles(q []float64) (Dist, bool) {
	d := Dist{known: true}
	if len(q) != NLevels {
		return Dist{}, false
	}
	last := 0.0
	for i, x := range q {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < last {
			return Dist{}, false
		}
		d.q[i], last = x, x
	}
	return d, true
}

// Point is the distribution of what is certainly x.
func Point(x float64) Dist {
	d := Dist{known: true}
	for i := range d.q {
		d.q[i] = clampPositive(x)
	}
	return d
}

// LogNormal is the lognormal distribution with this median, sigma being the
// standard deviation of the logarithm (0.1: about ten percent).
func LogNormal(median, sigma float64) Dist {
	d := Dist{known: true}
	for i, z := range scores {
		d.q[i] = clampPositive(median * math.Exp(sigma*z))
	}
	return d.repairOrder()
}

// IsKnown is false for the zero Dist only.
func (d Dist) IsKnown() bool { return d.known }

// Quantiles are the quantiles at Levels, nil if the distribution is unknown.
func (d Dist) Quantiles() []float64 {
	if !d.known {
		return nil
	}
	return append([]float64(nil), d.q[:]...)
}

// Median is the quantile that lies in the middle.
func (d Dist) Median() float64 { return d.q[middle] }

// Quantile is the value below which the probability is p; 0 if unknown.
func (d Dist) Quantile(p float64) float64 {
	if !d.known {
		return 0
	}
	return d.atScore(normalScore(p))
}

// atScore is the quantile at the normal score z.
func (d Dist) atScore(z float64) float64 {
	i := scoreSegment(z)
	a, b := d.q[i], d.q[i+1]
	f := (z - scores[i]) / (scores[i+1] - scores[i])
	switch {
	case a == b, f == 0:
		return a
	case f == 1:
		return b
	case isLogarithmic(a, b):
		return min(a*math.Exp(f*math.Log(b/a)), math.MaxFloat64)
	}
	return min(max(a+f*(b-a), 0), math.MaxFloat64)
}

// scoreSegment is the pair of neighbouring levels that z lies between, or the
// outermost pair.
func scoreSegment(z float64) int {
	i := 0
	for i < NLevels-2 && z >= scores[i+1] {
		i++
	}
	return i
}

// isLogarithmic: the logarithm is used where it exists. A value next to nothing
// beside a large one is a mass at zero and not the end of a long tail.
func isLogarithmic(a, b float64) bool { return a > 0 && b/a < 1e6 }

// ProbabilityBelow is the probability that it is at most x; 0 if the distribution is unknown.
func (d Dist) ProbabilityBelow(x float64) float64 {
	if !d.known || math.IsNaN(x) || x < 0 {
		return 0
	}
	// The last segment that begins at or below x, so that a flat piece (a value
	// with a mass of its own) counts in full.
	i := 0
	for i < NLevels-2 && x >= d.q[i+1] {
		i++
	}
	a, b := d.q[i], d.q[i+1]
	if a == b {
		switch {
		case x < a:
			return 0
		case i+1 == NLevels-1:
			return 1
		}
		return levels[i+1]
	}
	f := (x - a) / (b - a)
	if isLogarithmic(a, b) {
		if x == 0 {
			return 0
		}
		f = math.Log(x/a) / math.Log(b/a)
	}
	return normalCDF(scores[i] + f*(scores[i+1]-scores[i]))
}

// Scale is the distribution of k times as much.
func (d Dist) Scale(k float64) Dist {
	return d.mapQuantiles(func(x float64) float64 { return x * k })
}

// Shift is the distribution of x more; what would be negative is nothing.
func (d Dist) Shift(x float64) Dist {
	return d.mapQuantiles(func(q float64) float64 { return q + x })
}

// mapQuantiles applies a rising function to all quantiles.
func (d Dist) mapQuantiles(f func(float64) float64) Dist {
	if !d.known {
		return Dist{}
	}
	for i, x := range d.q {
		d.q[i] = clampPositive(f(x))
	}
	return d.repairOrder()
}

// repairOrder repairs what rounding may have done to the order.
func (d Dist) repairOrder() Dist {
	for i := 1; i < NLevels; i++ {
		d.q[i] = max(d.q[i], d.q[i-1])
	}
	return d
}

// clampPositive keeps a value within what a Dist can hold.
func clampPositive(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, math.MaxFloat64)
}

// Farther out the normal score says no more than "never" and "always".
const farthest = 1e-9

// normalScore is the quantile of the standard normal distribution.
func normalScore(p float64) float64 {
	if math.IsNaN(p) {
		p = 0.5
	}
	p = min(max(p, farthest), 1-farthest)
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// normalCDF is the distribution function of the standard normal distribution.
func normalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }
