package perfmodel

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Point is what was counted at one size.
type Point struct {
	Size  float64 `json:"size"`
	Value float64 `json:"value"`
}

// Formula is one description of how a count grows: Σ Factors·Terms.
type Formula struct {
	Terms   []Term    `json:"terms"`
	Factors []float64 `json:"factors"`
	Weight  float64   `json:"weight"` // how plausible it is among the formulas of its curve
	Error   float64   `json:"error"`  // at sizes that it was not fitted to: root mean square of the relative error
}

// Curve is a count against the size: the plausible formulas, best first.
type Curve struct {
	Formulas []Formula `json:"formulas"`
	From     float64   `json:"from"` // the smallest and the largest size that it was fitted to
	To       float64   `json:"to"`
}

// Band is a value with the interval that holds it with nine chances in ten.
type Band struct{ Value, Low, High float64 }

// How formulas are chosen.
const (
	MinSizes    = 3    // with fewer nothing is left to judge a formula by
	maxTerms    = 3    // of a formula
	maxFormulas = 12   // that are kept
	exact       = 0.02 // relative errors below this say nothing about a formula
)

var errFewSizes = errors.New("counts at " + strconv.Itoa(MinSizes) + " sizes or more are needed")

// FitCurve finds the formulas that describe the points. noise is the relative error
// of a count; 0 if it is exact.
func FitCurve(points []Point, noise float64) (Curve, error) {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Size, b.Size) })
	if len(points) < MinSizes {
		return Curve{}, errFewSizes
	}
	for i, p := range points {
		if p.Size <= 0 || p.Value < 0 || math.IsInf(p.Value, 0) || math.IsNaN(p.Value) || i > 0 &&
			p.Size == points[i-1].Size {
			return Curve{}, errors.New("sizes must differ and be above 0, counts must not be negative")
		}
	}
	c := Curve{From: points[0].Size, To: points[len(points)-1].Size}
	floor := math.Hypot(exact, noise)
	for _, terms := range termCombinations(termFamily(), min(maxTerms, len(points)-1)) {
		f, ok := fitFormula(terms, points)
		if !ok {
			continue
		}
		f.Error = crossValidation(f.Terms, points)
		// The likelihood of errors of this size, with the error itself estimated.
		f.Weight = math.Pow(f.Error*f.Error+floor*floor, -float64(len(points))/2)
		for _, t := range terms {
			f.Weight *= t.priorPlausibility()
		}
		c.Formulas = append(c.Formulas, f)
	}
	if len(c.Formulas) == 0 { // all counts are 0
		c.Formulas = []Formula{{Terms: []Term{{}}, Factors: []float64{0}, Weight: 1}}
	}
	c.keepPlausible()
	return c, nil
}

// keepPlausible keeps the best formulas and makes their weights add up to 1.
func (c *Curve) keepPlausible() {
	slices.SortStableFunc(c.Formulas, func(a, b Formula) int { return cmp.Compare(b.Weight, a.Weight) })
	sum := 0.0
	for i, f := range c.Formulas {
		if i == maxFormulas || f.Weight < 0.01*c.Formulas[0].Weight {
			c.Formulas = c.Formulas[:i]
			break
		}
		sum += f.Weight
	}
	for i := range c.Formulas {
		c.Formulas[i].Weight /= sum
	}
}

// termCombinations are all sets of one to k terms.
func termCombinations(terms []Term, k int) [][]Term {
	var all [][]Term
	var grow func(from int, set []Term)
	grow = func(from int, set []Term) {
		if len(set) > 0 {
			all = append(all, slices.Clone(set))
		}
		for i := from; i < len(terms) && len(set) < k; i++ {
			grow(i+1, append(set, terms[i]))
		}
	}
	grow(0, nil)
	return all
}

// fitFormula fits the factors of these terms to the relative error. It fails if
// one of them is of no use: the formula without it is judged by itself.
func fitFormula(terms []Term, points []Point) (Formula, bool) {
	x := fitFactors(terms, points)
	for _, v := range x {
		if v <= 0 {
			return Formula{}, false
		}
	}
	return Formula{Terms: terms, Factors: x}, true
}

func fitFactors(terms []Term, points []Point) []float64 {
	least := math.Inf(1)
	for _, p := range points {
		if p.Value > 0 {
			least = math.Min(least, p.Value)
		}
	}
	a, b := make([][]float64, len(terms)), make([]float64, len(points))
	for t, term := range terms {
		a[t] = make([]float64, len(points))
		for i, p := range points {
			a[t][i] = term.ValueAt(p.Size) / math.Max(p.Value, least)
		}
	}
	for i, p := range points {
		b[i] = p.Value / math.Max(p.Value, least)
	}
	return nonNegative(a, b)
}

// crossValidation is how far the formula is off at sizes that it is not fitted to:
// each size from all others, and the largest ones from the smaller ones alone,
// which is what it is there for.
func crossValidation(terms []Term, points []Point) float64 {
	sum, weights := 0.0, 0.0
	judge := func(from []Point, p Point, weight float64) {
		if p.Value <= 0 || len(from) < len(terms) {
			return
		}
		e := Formula{Terms: terms, Factors: fitFactors(terms, from)}.ValueAt(p.Size)/p.Value - 1
		sum += weight * e * e
		weights += weight
	}
	for i, p := range points {
		judge(slices.Concat(points[:i], points[i+1:]), p, 1)
	}
	for left := max(len(terms), 2); left < len(points)-1; left++ {
		for _, p := range points[left:] {
			judge(points[:left], p, 1)
		}
	}
	if weights == 0 {
		return 1
	}
	return math.Sqrt(sum / weights)
}

// ValueAt is the formula's value.
func (f Formula) ValueAt(n float64) float64 {
	v := 0.0
	for i, t := range f.Terms {
		v += f.Factors[i] * t.ValueAt(n)
	}
	return v
}

// String is the formula as it is written, largest term first.
func (f Formula) String() string {
	var parts []string
	for i := len(f.Terms) - 1; i >= 0; i-- {
		s := strconv.FormatFloat(f.Factors[i], 'g', 4, 64)
		if t := f.Terms[i].String(); t != "1" {
			s += " " + t
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " + ")
}

// BestFormula is the most plausible formula.
func (c Curve) BestFormula() Formula { return c.Formulas[0] }

// BandAt is what the formulas say together: their weighted mean, in proportions, and
// an interval that spans their disagreement and the error of each, which grows
// with the distance from the sizes that were seen.
func (c Curve) BandAt(n float64) Band {
	var logs, errs []float64
	mean := 0.0
	for _, f := range c.Formulas {
		v := f.ValueAt(n)
		if v <= 0 {
			return Band{}
		}
		logs = append(logs, math.Log(v))
		errs = append(errs, math.Hypot(f.Error, exact)*c.errorStretch(n))
		mean += f.Weight * math.Log(v)
	}
	return Band{Value: math.Exp(mean), Low: math.Exp(c.mixtureQuantile(logs, errs, 0.05)),
		High: math.Exp(c.mixtureQuantile(logs, errs, 0.95))}
}

// errorStretch is how much larger errors become beyond the sizes that were seen: in
// proportion to how far that is, where one is the whole range seen.
func (c Curve) errorStretch(n float64) float64 {
	beyond := math.Max(0, math.Max(math.Log(n/c.To), math.Log(c.From/n)))
	return 1 + beyond/math.Max(math.Log(c.To/c.From), 0.5)
}

// mixtureQuantile is of the mixture of normal distributions around the formulas' values.
func (c Curve) mixtureQuantile(at, sd []float64, q float64) float64 {
	low, high := slices.Min(at)-5*slices.Max(sd), slices.Max(at)+5*slices.Max(sd)
	for range 60 {
		mid, below := (low+high)/2, 0.0
		for i, f := range c.Formulas {
			below += f.Weight * 0.5 * math.Erfc((at[i]-mid)/(sd[i]*math.Sqrt2))
		}
		if below < q {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}
