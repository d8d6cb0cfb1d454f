package forecast

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// fed is a forecaster that got these values, a second apart.
func fed(tb testing.TB, c Config, values ...float64) *Forecaster {
	tb.Helper()
	f := New(c)
	for i, x := range values {
		if err := f.AddValue(core.AtSecond(float64(i)), x); err != nil {
			tb.Fatal(err)
		}
	}
	return f
}

func next(tb testing.TB, f *Forecaster) Forecast {
	tb.Helper()
	n, ok := f.ForecastNext()
	if !ok {
		tb.Fatal("no forecast")
	}
	return n
}

func TestThereIsNoForecastBeforeTheFirstValue(t *testing.T) {
	f := New(Config{})
	if _, ok := f.ForecastNext(); ok {
		t.Error("a forecast of nothing")
	}
	if _, ok := f.ForecastUntil(core.AtSecond(10)); ok {
		t.Error("a forecast of nothing")
	}
	if _, _, ok := f.LastValue(); ok {
		t.Error("a last value of nothing")
	}
}

func TestOneValueIsForecastWithAWideGuess(t *testing.T) {
	n := next(t, fed(t, Config{}, 80))
	if n.Value != 80 {
		t.Errorf("forecast %v", n.Value)
	}
	if lo, hi := n.Dist.Quantile(0.05), n.Dist.Quantile(0.95); lo > 60 || hi < 100 {
		t.Errorf("interval %v to %v after one value", lo, hi)
	}
}

func TestAConstantSeriesIsForecastExactlyAndWithoutDoubt(t *testing.T) {
	n := next(t, fed(t, Config{}, slices.Repeat([]float64{0.1}, 500)...))
	if n.Value != 0.1 || n.Error > 1e-6 || n.Dist.Quantile(0.99)-n.Dist.Quantile(0.01) > 1e-6 {
		t.Errorf("%+v", n)
	}
	z := next(t, fed(t, Config{}, 0, 0, 0, 0))
	if z.Value != 0 || z.Error != 0 || !z.Dist.IsKnown() {
		t.Errorf("nothing, forecast: %+v", z)
	}
}

func TestWhatIsNoMeasurementIsRefusedAndChangesNothing(t *testing.T) {
	f := fed(t, Config{}, 1, 2, 3)
	before, _ := json.Marshal(f)
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, -1e-300, 1e101} {
		if err := f.AddValue(core.AtSecond(10), x); !errors.Is(err, ErrValue) {
			t.Errorf("%v: %v", x, err)
		}
	}
	for _, at := range []float64{2, 1, -5} {
		if err := f.AddValue(core.AtSecond(at), 1); !errors.Is(err, ErrOrder) {
			t.Errorf("at %v: %v", at, err)
		}
	}
	if after, _ := json.Marshal(f); string(after) != string(before) {
		t.Error("a refused value changed something")
	}
}

func TestAnOutlierHardlyMovesTheForecastOfASteadySeries(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var values []float64
	for i := range 200 {
		x := 100 + r.NormFloat64()
		if i%25 == 24 { // the last one among them
			x = 5
		}
		values = append(values, x)
	}
	if n := next(t, fed(t, Config{}, values...)); math.Abs(n.Value-100) > 3 {
		t.Errorf("forecast %v by %s", n.Value, n.By)
	}
}

func TestAChangeOfLevelIsFollowedWithinAFewValues(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	var values []float64
	for i := range 206 {
		level := 100.0
		if i >= 200 {
			level = 30
		}
		values = append(values, level+r.NormFloat64())
	}
	if n := next(t, fed(t, Config{}, values...)); n.Value > 60 {
		t.Errorf("forecast %v by %s, six values after the change to 30", n.Value, n.By)
	}
}

func TestTheBestMemberComesToCountMost(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	x := 1000.0
	f := New(Config{Prior: LoadPrior()}) // which says that medians are best
	for i := range 1000 {
		x = math.Abs(x + r.NormFloat64())
		if err := f.AddValue(core.AtSecond(float64(i)), x); err != nil {
			t.Fatal(err)
		}
	}
	tracks := f.MemberErrors()
	best := slices.MinFunc(tracks, func(a, b Track) int { return cmp.Compare(a.MAE, b.MAE) })
	heaviest := slices.MaxFunc(tracks, func(a, b Track) int { return cmp.Compare(a.Weight, b.Weight) })
	if best.Name != heaviest.Name || best.Weight < 0.3 || next(t, f).By != best.Name {
		t.Errorf("best %+v, heaviest %+v", best, heaviest)
	}
	if e := next(t, f).Error; e < 0.5 || e > 1.2 {
		t.Errorf("error to expect %v, steps are normal", e)
	}
}

func TestWhatWasSaidBeforeAGapIsNotJudgedByWhatCameAfter(t *testing.T) {
	f := fed(t, Config{}, 10, 11, 10, 11, 10, 11)
	before := f.MemberErrors()
	if err := f.AddValue(core.AtSecond(3600), 500); err != nil {
		t.Fatal(err)
	}
	for i, track := range f.MemberErrors() {
		if track.MAE != before[i].MAE {
			t.Errorf("%s was judged", track.Name)
		}
	}
	if s := f.UsualStep(); s != time.Second {
		t.Errorf("usual step %v", s)
	}
}

func TestAForecastAskedForLaterIsOneOverALongerTime(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	x := 100.0
	f := New(Config{Most: 200})
	for i := range 400 {
		x = min(math.Abs(x+r.NormFloat64()), 200)
		if err := f.AddValue(core.AtSecond(float64(10*i)), x); err != nil {
			t.Fatal(err)
		}
	}
	last, _, _ := f.LastValue()
	width := 0.0
	for _, c := range []struct {
		after time.Duration
		steps int
	}{{0, 1}, {10 * time.Second, 1}, {time.Minute, 6}, {10 * time.Minute, 60}, {24 * time.Hour, 8640},
		{1 << 62, farthestStep}} {
		n, _ := f.ForecastUntil(last.Add(c.after))
		if n.Steps != c.steps {
			t.Errorf("after %v: %d steps, want %d", c.after, n.Steps, c.steps)
		}
		if n.Error < width {
			t.Errorf("after %v: error %v, less than earlier", c.after, n.Error)
		}
		width = n.Error
		if q := n.Dist.Quantile(0.99); q > 200 {
			t.Errorf("after %v: quantile %v above what can be", c.after, q)
		}
	}
}

func TestARestoredForecasterGoesOnAsIfNothingHadHappened(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, n := range []int{0, 1, 2, 30, 200} {
		f := New(Config{Step: time.Second, Most: 1000, Prior: BandwidthPrior()})
		add := func(f *Forecaster, i int, x float64) {
			if err := f.AddValue(core.AtSecond(float64(i+i/50*100)), x); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n {
			add(f, i, 100*r.Float64())
		}
		text, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var g Forecaster
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatal(err)
		}
		for i := range 150 {
			x := 100 * r.Float64()
			add(f, n+i, x)
			add(&g, n+i, x)
			for _, steps := range []int{1, 5, 100} {
				a, _ := f.ForecastOver(steps)
				b, _ := g.ForecastOver(steps)
				if a != b {
					t.Fatalf("%d values, then %d: %+v, restored %+v", n, i+1, a, b)
				}
			}
		}
		t.Logf("state after %d values: %d bytes", n, len(text))
	}
}

func TestAStateThatDoesNotFitIsRefused(t *testing.T) {
	good, err := json.Marshal(fed(t, Config{}, 1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(m map[string]any){
		"another family": func(m map[string]any) { m["members"] = []string{"last value"} },
		"no horizons":    func(m map[string]any) { m["horizons"] = nil },
		"a short list":   func(m map[string]any) { m["smooth"] = []float64{1} },
		"negative":       func(m map[string]any) { m["values"] = []float64{1, -2, 3} },
		"huge":           func(m map[string]any) { m["mean"] = 1e300 },
		"wrong count":    func(m map[string]any) { m["count"] = 7 },
	} {
		var m map[string]any
		if err := json.Unmarshal(good, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		bad, _ := json.Marshal(m)
		var f Forecaster
		if err := json.Unmarshal(bad, &f); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A state from outside never makes a forecaster that panics or forecasts
// nonsense.
func FuzzState(f *testing.F) {
	for _, n := range []int{0, 1, 3} {
		var values []float64
		for i := range n {
			values = append(values, float64(i%7))
		}
		text, err := json.Marshal(fed(f, Config{}, values...))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 3.5)
	}
	f.Fuzz(func(t *testing.T, text []byte, x float64) {
		var s Forecaster
		if json.Unmarshal(text, &s) != nil {
			return
		}
		at := s.last
		for range 70 {
			at = at.Add(time.Second)
			if s.AddValue(at, x) != nil {
				return
			}
			n, ok := s.ForecastOver(1 + s.Len()%20)
			if !ok || !n.Dist.IsKnown() || math.IsNaN(n.Value) || math.IsInf(n.Value, 0) || n.Value < 0 {
				t.Fatalf("%+v", n)
			}
		}
	})
}

func TestMeansAheadAreThoseOfTheSingleValues(t *testing.T) {
	tr := trend{level: 10, slope: 3}
	re := regression{last: 20, x: 5, y: 6, xx: 1, xy: 0.7, weight: 1, any: true}
	sumT, sumR, slopes := 0.0, 0.0, 0.0
	for n := 1; n <= 70; n++ {
		slopes += math.Pow(damping, float64(n))
		sumT += 10 + 3*slopes
		sumR += 6 + 15*math.Pow(0.7, float64(n))
		if got := tr.meanAhead(n); math.Abs(got-sumT/float64(n)) > 1e-9 {
			t.Errorf("trend, mean of %d: %v, want %v", n, got, sumT/float64(n))
		}
		if got := re.meanAhead(n); math.Abs(got-sumR/float64(n)) > 1e-9 {
			t.Errorf("autoregression, mean of %d: %v, want %v", n, got, sumR/float64(n))
		}
	}
}

// Whatever comes, all stays finite, and the windows are what they should be.
func TestWindowsAgreeWithPlainOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	f := New(Config{})
	var all []float64
	for i := range 2000 {
		x := math.Floor(10 * r.Float64()) // many alike
		switch r.IntN(40) {
		case 0:
			x = 1e100 * r.Float64()
		case 1:
			x = 5e-324
		}
		all = append(all, x)
		if err := f.AddValue(core.AtSecond(float64(i)), x); err != nil {
			t.Fatal(err)
		}
		for k, n := range medianLengths {
			last := slices.Clone(all[max(0, len(all)-n):])
			slices.Sort(last)
			if !slices.Equal(last, f.family.medians[k].values) {
				t.Fatalf("value %d: the last %d sorted are %v, want %v", i, n, f.family.medians[k].values, last)
			}
		}
		for k, n := range meanLengths {
			last, sum := all[max(0, len(all)-n):], 0.0
			for _, x := range last {
				sum += x
			}
			if want, got := sum/float64(len(last)), f.family.said[atMeans+k]; math.Abs(got-want) > 1e-6*want {
				t.Fatalf("value %d: mean of %d is %v, want %v", i, n, got, want)
			}
		}
		n := next(t, f)
		if !n.Dist.IsKnown() || math.IsInf(n.Value, 0) || math.IsNaN(n.Value) {
			t.Fatalf("value %d: %+v", i, n)
		}
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}
