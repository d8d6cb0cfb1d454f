package predict

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// someDist draws distributions of all shapes: narrow, wide, with masses, far
// from one.
func someDist(t *rapid.T, name string) Dist {
	if rapid.IntRange(0, 9).Draw(t, name+" certain") == 0 {
		return Point(rapid.Float64Range(0, 1e6).Draw(t, name))
	}
	q := make([]float64, NLevels)
	scale := math.Pow(10, rapid.Float64Range(-3, 6).Draw(t, name+" scale"))
	x := 0.0
	if rapid.Bool().Draw(t, name+" from above zero") {
		x = rapid.Float64Range(0.01, 10).Draw(t, name+" lowest")
	}
	for i := range q {
		if rapid.IntRange(0, 4).Draw(t, name+" rises") > 0 {
			x += rapid.Float64Range(1e-3, 1).Draw(t, name+" by")
		}
		q[i] = x * scale
	}
	d, ok := FromQuantiles(q)
	if !ok {
		t.Fatalf("refused %v", q)
	}
	return d
}

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*max(math.Abs(a), math.Abs(b))
}

func TestALognormalDistributionIsExact(t *testing.T) {
	d := LogNormal(100, 0.3)
	for _, p := range []float64{0.001, 0.01, 0.03, 0.25, 0.5, 0.77, 0.95, 0.999} {
		x := 100 * math.Exp(0.3*normalScore(p))
		if got := d.Quantile(p); !near(got, x, 1e-9) {
			t.Errorf("quantile %g is %g, not %g", p, got, x)
		}
		if got := d.ProbabilityBelow(x); !near(got, p, 1e-6) {
			t.Errorf("P(%g) is %g, not %g", x, got, p)
		}
	}
}

func TestWhatIsCertainHasNoSpread(t *testing.T) {
	d := Point(7)
	for _, p := range []float64{0, 0.3, 1} {
		if d.Quantile(p) != 7 {
			t.Errorf("quantile %g is %g", p, d.Quantile(p))
		}
	}
	if d.ProbabilityBelow(6.999) != 0 || d.ProbabilityBelow(7) != 1 || d.ProbabilityBelow(math.Inf(1)) != 1 {
		t.Errorf("P jumps from %g to %g", d.ProbabilityBelow(6.999), d.ProbabilityBelow(7))
	}
	if s := Sum(Point(3), Point(4)); s != d {
		t.Errorf("3 + 4 = %v", s)
	}
}

func TestAnUnknownDistributionStaysUnknown(t *testing.T) {
	var d Dist
	if d.IsKnown() || d.Quantiles() != nil || d.ProbabilityBelow(1) != 0 || d.Quantile(0.5) != 0 {
		t.Error("the zero Dist says something")
	}
	for _, e := range []Dist{d.Scale(2), d.Shift(1), Sum(d, Point(1)), Sum(Point(1), d),
		Demand{Work: d}.RuntimeElsewhere(1, 1, Point(1), Point(1))} {
		if e.IsKnown() {
			t.Errorf("made of nothing: %v", e)
		}
	}
}

func TestQuantilesThatAreNoneAreRefused(t *testing.T) {
	good := LogNormal(1, 1).Quantiles()
	for name, spoil := range map[string]func([]float64) []float64{
		"too few":   func(q []float64) []float64 { return q[1:] },
		"too many":  func(q []float64) []float64 { return append(q, 1e9) },
		"falling":   func(q []float64) []float64 { q[3] = 100; return q },
		"negative":  func(q []float64) []float64 { q[0] = -1; return q },
		"no number": func(q []float64) []float64 { q[5] = math.NaN(); return q },
		"infinite":  func(q []float64) []float64 { q[12] = math.Inf(1); return q },
		"nothing":   func([]float64) []float64 { return nil },
	} {
		if d, ok := FromQuantiles(spoil(slices.Clone(good))); ok || d.IsKnown() {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestQuantilesRiseAndPIsTheirInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := someDist(t, "d")
		p := rapid.Float64Range(0.001, 0.999).Draw(t, "p")
		q := rapid.Float64Range(0.001, 0.999).Draw(t, "q")
		x, y := d.Quantile(min(p, q)), d.Quantile(max(p, q))
		if x > y {
			t.Fatalf("quantile %g is %g, quantile %g is %g", min(p, q), x, max(p, q), y)
		}
		if d.ProbabilityBelow(x) > d.ProbabilityBelow(y) {
			t.Fatalf("P(%g) = %g, P(%g) = %g", x, d.ProbabilityBelow(x), y, d.ProbabilityBelow(y))
		}
		// At least p of it lies at or below quantile p; and no more, unless the
		// value has a mass of its own.
		const slack = 1e-7
		at, below := d.ProbabilityBelow(d.Quantile(p)), d.ProbabilityBelow(d.Quantile(p)*(1-1e-9)-1e-300)
		if at < p-slack {
			t.Fatalf("only %g lie at or below quantile %g", at, p)
		}
		if below > p+slack {
			t.Fatalf("%g lie below quantile %g", below, p)
		}
		if back, ok := FromQuantiles(d.Quantiles()); !ok || back != d {
			t.Fatalf("%v comes back as %v", d, back)
		}
	})
}

func TestScalingAndShiftingMoveEveryQuantile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := someDist(t, "d")
		k := rapid.Float64Range(0.01, 100).Draw(t, "k")
		p := rapid.Float64Range(0.02, 0.98).Draw(t, "p")
		if got, want := d.Scale(k).Quantile(p), k*d.Quantile(p); !near(got, want, 1e-6) {
			t.Fatalf("%g times: quantile %g is %g, not %g", k, p, got, want)
		}
		x := rapid.Float64Range(-100, 100).Draw(t, "x")
		for i, q := range d.Shift(x).Quantiles() {
			if want := max(d.Quantiles()[i]+x, 0); !near(q, want, 1e-12) {
				t.Fatalf("%g more: quantile %g is %g, not %g", x, levels[i], q, want)
			}
		}
	})
}

func drawn(d Dist, r *rand.Rand) float64 { return d.Quantile(r.Float64()) }

// checkAgainstDice compares a distribution with 20,000 throws of the dice: the
// part of them below each quantile.
func checkAgainstDice(t *rapid.T, name string, d Dist, throw func(r *rand.Rand) float64) {
	r := rand.New(rand.NewPCG(4, 5))
	const n = 20_000
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = throw(r)
	}
	slices.Sort(xs)
	for l, p := range levels {
		// Where values have a mass of their own, a little less or more does.
		x := d.q[l]
		low, _ := slices.BinarySearch(xs, x*0.98-1e-9)
		high, _ := slices.BinarySearch(xs, x*1.02+1e-9)
		if float64(low)/n > p+0.03 || float64(high)/n < p-0.03 {
			t.Fatalf("%s: quantile %g is %g, but between %g and %g of the throws lie below", name, p, x, float64(low)/n,
				float64(high)/n)
		}
	}
}

func TestASumAgreesWithDice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := someDist(t, "a"), someDist(t, "b").Shift(1e-3)
		checkAgainstDice(t, "sum", Sum(a, b), func(r *rand.Rand) float64 { return drawn(a, r) + drawn(b, r) })
	})
}

func FuzzFromQuantiles(f *testing.F) {
	add := func(q []float64) {
		var b []byte
		for _, x := range q {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		f.Add(b, 0.5, 3.0)
	}
	add(LogNormal(100, 0.2).Quantiles())
	add(Point(0).Quantiles())
	add([]float64{0, 0, 0, 0, 0, 5e-324, 1, 2, 1e100, 1e200, 1e300, 1.7e308, math.MaxFloat64})
	add([]float64{1, math.NaN()})
	f.Fuzz(func(t *testing.T, b []byte, p, x float64) {
		var q []float64
		for ; len(b) >= 8; b = b[8:] {
			q = append(q, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
		d, ok := FromQuantiles(q)
		if !ok {
			return
		}
		elsewhere := Demand{Work: d}.RuntimeElsewhere(x, 1, Point(0.5), d)
		for _, e := range []Dist{d, d.Scale(x), d.Shift(x), Sum(d, d), elsewhere} {
			if _, ok := FromQuantiles(e.Quantiles()); !ok {
				t.Fatalf("%v has become %v", d, e)
			}
		}
		if v := d.Quantile(p); math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Fatalf("quantile %g of %v is %g", p, d, v)
		}
		if v := d.ProbabilityBelow(x); !(v >= 0 && v <= 1) {
			t.Fatalf("P(%g) of %v is %g", x, d, v)
		}
	})
}
