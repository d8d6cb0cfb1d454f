package perfmodel

import (
	"math"
	"strconv"
	"strings"
)

// Term is one way to grow with the size n: n^Power · (log₂ n)^Log.
type Term struct {
	Power float64 `json:"power"`
	Log   int     `json:"log,omitempty"`
}

// ValueAt is the term's value; sizes below 2 have the logarithm of 2, so that no term
// but the constant one is the same everywhere or vanishes.
func (t Term) ValueAt(n float64) float64 {
	v := math.Pow(n, t.Power)
	for range t.Log {
		v *= math.Log2(math.Max(n, 2))
	}
	return v
}

func (t Term) String() string {
	var parts []string
	switch t.Power {
	case 0:
	case 1:
		parts = append(parts, "n")
	case 2:
		parts = append(parts, "n²")
	case 3:
		parts = append(parts, "n³")
	case 4:
		parts = append(parts, "n⁴")
	default:
		parts = append(parts, "n^"+strconv.FormatFloat(t.Power, 'g', 4, 64))
	}
	if t.Log > 0 {
		parts = append(parts, "log n")
	}
	if len(parts) == 0 {
		return "1"
	}
	return strings.Join(parts, " ")
}

// termFamily are the terms of which formulas are made, slowest first.
func termFamily() []Term {
	var list []Term
	for _, p := range []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 4} {
		list = append(list, Term{Power: p}, Term{Power: p, Log: 1})
	}
	return list
}

// priorPlausibility is how plausible the term is before anything was counted: programs
// are made of nested loops, often of halving, rarely of anything else.
func (t Term) priorPlausibility() float64 {
	half := t.Power != math.Trunc(t.Power)
	switch {
	case t == Term{}:
		return 1 // every program begins and ends
	case half && t.Log > 0:
		return 0.01
	case half:
		return 0.02
	case t.Log > 0 && (t.Power == 0 || t.Power > 2) || t.Power > 3:
		return 0.05
	case t.Log > 0:
		return 0.2
	}
	return 0.5
}
