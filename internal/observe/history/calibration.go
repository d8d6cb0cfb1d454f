package history

import "math"

// Held is how forecasts of one kind held.
type Held struct {
	Quotes int // whose outcome is known
	// Below[i] is the share of outcomes that were at most the quantile at
	// Levels()[i]: the same as the level, if the forecasts are honest.
	Below []float64
	// Band80 and Band90 are the shares of outcomes within the 10 to 90 and the 5
	// to 95 per cent band.
	Band80, Band90 float64
	// Error is the median of |outcome − median forecast| / outcome.
	Error float64
	// Deadlines are the chances that were given of meeting a deadline against
	// how often it was met.
	Deadlines []Chances
	// Brier is the mean squared difference between chance and outcome: 0 is
	// perfect, 0.25 is a coin.
	Brier float64
}

// Chances is forecasts that gave about the same chance.
type Chances struct {
	From, To float64 // the chance given
	Mean     float64 // of it
	Met      float64 // share of deadlines met
	N        int
}

// CalibrateQuotes says how past quotes held, for each kind ("quote", "running", and
// "" for all).
func CalibrateQuotes(quotes []Quote) map[string]Held {
	kinds := map[string][]Quote{}
	for _, q := range quotes {
		if q.Ended <= q.At {
			continue
		}
		kinds[""] = append(kinds[""], q)
		if q.Kind != "" {
			kinds[q.Kind] = append(kinds[q.Kind], q)
		}
	}
	held := map[string]Held{}
	for kind, list := range kinds { // order-free: each by itself
		held[kind] = heldOf(list)
	}
	return held
}

func heldOf(quotes []Quote) Held {
	h := Held{Quotes: len(quotes), Below: make([]float64, NLevels)}
	var errors []float64
	full := 0
	for i := range quotes {
		q := &quotes[i]
		if len(q.Finish) != NLevels {
			continue
		}
		full++
		took := q.Ended.Sub(q.At).Seconds()
		for k, limit := range q.Finish {
			if took <= limit {
				h.Below[k]++
			}
		}
		if took >= q.Finish[2] && took <= q.Finish[10] { // 0.1 and 0.9
			h.Band80++
		}
		if took >= q.Finish[1] && took <= q.Finish[11] { // 0.05 and 0.95
			h.Band90++
		}
		errors = append(errors, math.Abs(took-q.Finish[6])/took)
	}
	if full > 0 {
		for k := range h.Below {
			h.Below[k] /= float64(full)
		}
		h.Band80 /= float64(full)
		h.Band90 /= float64(full)
		h.Error = medianOf(errors)
	}
	h.Deadlines, h.Brier = chancesOf(quotes)
	return h
}

// chanceLimits part the chances into groups, finer where decisions are taken.
var chanceLimits = [...]float64{0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1}

func chancesOf(quotes []Quote) (list []Chances, brier float64) {
	groups := make([]Chances, len(chanceLimits)-1)
	n := 0
	for i := range quotes {
		q := &quotes[i]
		if q.Deadline == 0 || q.Chance < 0 || q.Chance > 1 || math.IsNaN(q.Chance) {
			continue
		}
		k := 0
		for k+2 < len(chanceLimits) && q.Chance >= chanceLimits[k+1] {
			k++
		}
		met := 0.0
		if q.Ended <= q.Deadline {
			met = 1
		}
		groups[k].N++
		groups[k].Mean += q.Chance
		groups[k].Met += met
		brier += (q.Chance - met) * (q.Chance - met)
		n++
	}
	for k, g := range groups {
		if g.N > 0 {
			list = append(list, Chances{From: chanceLimits[k], To: chanceLimits[k+1], Mean: g.Mean / float64(g.N),
				Met: g.Met / float64(g.N), N: g.N})
		}
	}
	return list, brier / math.Max(1, float64(n))
}
