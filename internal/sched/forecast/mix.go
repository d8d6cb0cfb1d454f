package forecast

import "math"

const (
	// certainty is how fast weights follow the errors: a member whose error is
	// larger than the best one's by the part d has, after n values, the weight
	// exp(−certainty·√n·d) beside 1 of the best. Chance makes d about 1/√n.
	certainty = 6

	// keepRecord is the part of the errors so far that counts beside the newest:
	// what a member did a thousand values ago says little.
	keepRecord = 0.998

	nothing = 30.0 // exp(−nothing) is no weight at all
)

// record is how the members did so far; old errors fade.
type record struct {
	n       float64
	abs     forecasts
	squared forecasts
}

func (r *record) addForecasts(said *forecasts, x float64) {
	r.n = keepRecord*r.n + 1
	for i, f := range said {
		e := math.Abs(x - f)
		r.abs[i] = keepRecord*r.abs[i] + e
		r.squared[i] = keepRecord*r.squared[i] + e*e
	}
}

// mix is how much each member counts.
type mix struct {
	weights forecasts // their sum is 1
	first   int       // the member with the most
}

// mixMembers weighs the members by their errors so far, counted in mean errors of the
// best of them, and by what is known of other series.
func (r *record) mixMembers(p *Prior) mix {
	best := r.abs[0]
	for _, e := range r.abs {
		best = min(best, e)
	}
	unit, others := best/max(r.n, 1), 0.0
	if p.known {
		others = experience / (1 + r.n/fading)
	}
	rate := certainty / math.Sqrt(max(r.n+others, 1))
	var m mix
	lowest := math.Inf(1)
	for i, e := range r.abs {
		switch {
		case unit > 0:
			e /= unit
		case e > best: // another never erred
			e = math.Inf(1)
		default:
			e = 0
		}
		e += others * p.excess[i]
		m.weights[i] = e
		if e < lowest {
			lowest, m.first = e, i
		}
	}
	sum := 0.0
	for i, e := range m.weights {
		m.weights[i] = 0
		if behind := rate * (e - lowest); behind < nothing {
			m.weights[i] = math.Exp(-behind)
			sum += m.weights[i]
		}
	}
	for i := range m.weights {
		m.weights[i] /= sum
	}
	return m
}

// combineForecasts is the answer, made of what the members say.
func (m *mix) combineForecasts(said *forecasts) float64 {
	// Departures from one of them rather than the values are weighed, so that
	// all saying the same is said exactly.
	base, sum := said[m.first], 0.0
	for i, x := range said {
		sum += m.weights[i] * (x - base)
	}
	return max(base+sum, 0)
}
