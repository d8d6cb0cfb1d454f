package forecast

import "math"

// regression is autoregression of first order: how far the next value is from
// the mean, as a part of how far the last one is. Older pairs fade.
type regression struct {
	last   float64
	weight float64 // of all pairs
	x, y   float64 // mean of what came before, and after
	xx, xy float64 // sums of products of what departs from them
	any    bool
}

const keepPairs = 0.99

func (r *regression) addValue(x float64) {
	if !r.any {
		r.skipGap(x)
		return
	}
	r.weight = keepPairs*r.weight + 1
	dx, dy := r.last-r.x, x-r.y
	r.x += dx / r.weight
	r.y += dy / r.weight
	r.xx = keepPairs*r.xx + dx*(r.last-r.x)
	r.xy = keepPairs*r.xy + dx*(x-r.y)
	r.last = x
}

// skipGap is told of a value with others missing before it: no pair.
func (r *regression) skipGap(x float64) { r.last, r.any = x, true }

// meanAhead is the mean of the next steps values.
func (r *regression) meanAhead(steps int) float64 {
	if !(r.xx > 0) {
		return r.last
	}
	keep := min(max(r.xy/r.xx, -1), 1)
	return r.y + geometricSum(keep, steps)/float64(steps)*(r.last-r.x)
}

// geometricSum is q + q² + … + qⁿ.
func geometricSum(q float64, n int) float64 {
	switch {
	case n == 1:
		return q
	case 1-q < 1e-9:
		return float64(n)
	}
	return q * (1 - math.Pow(q, float64(n))) / (1 - q)
}

// level is the mean since the last change, found by two cumulative sums
// (Page's test): of what values lie above the mean, and below, in standard
// deviations, less an allowance.
type level struct {
	mean, n float64 // since the change
	spread  float64 // mean of the absolute departure
	up      climb
	down    climb
}

// climb is one of the sums, with the values since it was last at 0: if it
// comes to be a change, they are what came after it.
type climb struct{ height, sum, n float64 }

const (
	allowance  = 0.5 // standard deviations
	changed    = 5.0
	oneValue   = 3.0 // what one value can say at most: an outlier is no change
	spreadGain = 0.05
)

func (l *level) addValue(x float64) {
	if l.n == 0 {
		l.mean, l.n = x, 1
		return
	}
	d := x - l.mean
	if l.spread == 0 {
		l.spread = math.Abs(d)
	}
	z := 0.0
	if l.spread > 0 {
		z = min(max(d/(1.25*l.spread), -oneValue), oneValue)
	}
	l.n++
	l.spread += max(spreadGain, 1/l.n) * (math.Abs(d) - l.spread)
	l.mean += d / l.n
	for _, c := range [2]*climb{l.up.addDeviation(z, x), l.down.addDeviation(-z, x)} {
		if c.height > changed {
			l.mean, l.n = c.sum/c.n, c.n
			l.up, l.down = climb{}, climb{}
			return
		}
	}
}

func (c *climb) addDeviation(z, x float64) *climb {
	c.height += z - allowance
	c.sum += x
	c.n++
	if c.height <= 0 {
		*c = climb{}
	}
	return c
}

// trend is Holt's line, damped so that it does not run away.
type trend struct {
	level, slope float64
	any          bool
}

const (
	levelGain, slopeGain = 0.5, 0.2
	damping              = 0.8
)

func (t *trend) addValue(x, steps float64) {
	if !t.any || steps > 1 {
		t.level, t.slope, t.any = x, 0, true
		return
	}
	before := t.level
	next := before + damping*t.slope
	t.level = next + levelGain*(x-next)
	t.slope = damping*t.slope + slopeGain*(t.level-before-damping*t.slope)
}

// meanAhead is the mean of the next steps values.
func (t *trend) meanAhead(steps int) float64 {
	if steps == 1 {
		return t.level + damping*t.slope
	}
	// The k-th value is the level and damping + … + dampingᵏ slopes.
	n := float64(steps)
	return t.level + damping/(1-damping)*(n-geometricSum(damping, steps))/n*t.slope
}
