package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/experiment/loads"
)

// steadySeries do not change their level.
var steadySeries = []struct {
	name string
	// allowed alarms, as a multiple of the stated rate
	allowed float64
	make    func(r *rand.Rand) loads.Load
}{
	{"even, 2 % noise", 1, func(r *rand.Rand) loads.Load {
		return func() float64 { return 0.8 + 0.02*r.NormFloat64() }
	}},
	{"even, 10 % noise", 1, func(r *rand.Rand) loads.Load {
		return func() float64 { return 0.5 + 0.1*r.NormFloat64() }
	}},
	{"hardly any noise", 1, func(r *rand.Rand) loads.Load {
		return func() float64 { return 0.99 + 0.001*r.NormFloat64() }
	}},
	{"with a dip every now and then", 1, func(r *rand.Rand) loads.Load {
		return func() float64 {
			if r.Float64() < 0.03 {
				return 0.5
			}
			return 0.95 + 0.02*r.NormFloat64()
		}
	}},
	{"noise with long tails", 1, func(r *rand.Rand) loads.Load {
		return func() float64 {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return 0.5 + 0.05*r.NormFloat64()/math.Sqrt((a*a+b*b+c*c)/3)
		}
	}},
	// How samples depend on each other has to be learned first, at the cost of
	// some alarms.
	{"each depends on the one before", 4, func(r *rand.Rand) loads.Load {
		x := 0.0
		return func() float64 { x = 0.5*x + 0.05*r.NormFloat64(); return 0.5 + x }
	}},
	{"each value stays for five samples", 15, func(r *rand.Rand) loads.Load {
		x, i := 0.0, -1
		return func() float64 {
			if i++; i%5 == 0 {
				x = 0.1 * r.NormFloat64()
			}
			return 0.5 + x + 0.005*r.NormFloat64()
		}
	}},
}

func TestFalseAlarmsAreAsRareAsStated(t *testing.T) {
	for _, k := range steadySeries {
		for _, rate := range []float64{1e-2, 1e-3} {
			alarms, samples := 0.0, 0.0
			for seed := range uint64(100) {
				next := k.make(rand.New(rand.NewPCG(seed, 7)))
				s := series{grain: shareGrain, top: 1}
				ChangePoint{FalseAlarm: rate}.prepareSeries(&s)
				for range 1000 {
					s.addRate(next(), 2)
				}
				alarms, samples = alarms+s.changes, samples+1000
			}
			got := alarms / samples
			t.Logf("%s: %.5f false alarms a sample, %g stated", k.name, got, rate)
			// Three standard deviations of what 100,000 samples tell.
			if limit := k.allowed * rate; got > limit+3*math.Sqrt(limit/samples) {
				t.Errorf("%s: %.5f false alarms a sample, at most %g were stated", k.name, got, limit)
			}
		}
	}
}

// A program that gets half of its CPU from one moment on.
func TestAChangeIsFoundAtOnceAndOnlyOnce(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 8))
		w := NewWatch(Config{})
		var s Sample
		var found []Change
		const before, after = 60, 60
		var delay int
		for i := range before + after {
			share := 1.0
			if i >= before {
				share = 0.5
			}
			s.At += seconds(2)
			s.CPU += seconds(2 * share * (1 - 0.02*r.Float64()))
			w.AddSample(s)
			if c, ok := w.LastChange(); ok {
				found = append(found, c)
				delay = i + 1 - before
			}
		}
		if len(found) != 1 {
			t.Fatalf("seed %d: found %v", seed, found)
		}
		c := found[0]
		if !near(c.From, 0.99, 0.02) || !near(c.To, 0.5, 0.05) || c.At != seconds(2*before) {
			t.Errorf("seed %d: %+v", seed, c)
		}
		if delay != minSide {
			t.Errorf("seed %d: found after %d samples", seed, delay)
		}
	}
}

// The paper's rule needs ten samples on one side of a mean that still knows the
// old level; until then it predicts a past that is over.
func TestAChangeIsSeenSoonerThanByTheFixedRule(t *testing.T) {
	const before = 60
	rules := []Rule{ChangePoint{}, FixedN{10}, MeanOnly{}}
	errs := map[Rule]map[int]float64{}
	for _, rule := range rules {
		errs[rule] = map[int]float64{}
		r := rand.New(rand.NewPCG(3, 8))
		need := 300.0
		w := NewWatch(Config{Need: LogNormal(need, 0.01), Rule: rule})
		var s Sample
		for i := range before + 40 {
			share := 0.99
			if i >= before {
				share = 0.5
			}
			s.At += seconds(2)
			s.CPU += seconds(2 * share * (1 - 0.02*r.Float64()))
			w.AddSample(s)
			if after := i + 1 - before; after > 0 {
				d, _ := w.RemainingTime()
				actual := (need - s.CPU.Seconds()) / 0.495
				errs[rule][after] = math.Abs(d.Median()/actual - 1)
			}
		}
	}
	for _, after := range []int{1, 3, 5, 9, 15, 40} {
		t.Logf("%2d samples after the share fell to one half the remaining time is off by: change point %.0f %%, fixed N = "+
			"10 %.0f %%, mean only %.0f %%",
			after, 100*errs[rules[0]][after], 100*errs[rules[1]][after], 100*errs[rules[2]][after])
	}
	for after := minSide; after < 10; after++ {
		// A share that has changed once may do so again, or go back: the median
		// is not that of the new share for ever.
		if ours, papers := errs[rules[0]][after], errs[rules[1]][after]; ours > papers/2 {
			t.Errorf("%d samples after the change it is off by %.0f %%, by the fixed rule %.0f %%", after, 100*ours, 100*papers)
		}
	}
}

// papers/004 section 4.8.3, by hand.
func TestTheFixedRuleIsThePapers(t *testing.T) {
	s := series{grain: shareGrain, top: 1}
	FixedN{3}.prepareSeries(&s)
	level := func() float64 { o := s.makeOutlook(2); return o.level }
	for _, step := range []struct{ share, want float64 }{
		{1.0, 1.0},
		{1.0, 1.0},
		{1.0, 1.0},
		{1.0, 1.0},
		{0.5, 4.5 / 5}, // one below the mean
		{0.5, 5.0 / 6}, // two
		{0.5, 0.5},     // three: their own mean counts
		{0.4, 1.9 / 4}, // four
		{1.0, 6.9 / 9}, // above it: the mean of all again
	} {
		s.addRate(step.share, 2)
		if got := level(); !near(got, step.want, 1e-9) {
			t.Errorf("after %g: %g, want %g", step.share, got, step.want)
		}
	}
}

func TestASeriesOfAnyLengthTakesTheSameSpace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	s := series{grain: shareGrain, top: 1}
	ChangePoint{FalseAlarm: 1e-6}.prepareSeries(&s)
	sum := 0.0
	const n = 200_000
	for range n {
		x := 0.5 + 0.1*r.NormFloat64()
		sum += x
		s.addRate(x, 2)
	}
	if s.used > 80 {
		t.Errorf("%d samples take %d blocks", n, s.used)
	}
	blocks := 0.0
	for _, b := range s.blocks[:s.used] {
		blocks += b.n
	}
	if blocks != s.whole.n || s.total.n != n {
		t.Errorf("%g samples in the blocks, %g in all of them together, %g seen", blocks, s.whole.n, s.total.n)
	}
	if !near(s.total.mean, sum/n, 1e-9) {
		t.Errorf("mean %g, not %g", s.total.mean, sum/n)
	}
}
