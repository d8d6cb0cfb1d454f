package forecast

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// outcome is how the forecasts of one series turned out.
type outcome struct {
	ratio  float64 // mean absolute error, the best member's in hindsight being 1
	inside int     // next values within the 90 % interval
	below  int
	total  int
	tracks []Track
}

// play lets a forecaster see a series value by value.
func play(tb testing.TB, c Config, values []float64) outcome {
	tb.Helper()
	f := New(c)
	var o outcome
	var abs [nMembers]float64
	mine := 0.0
	for i, x := range values {
		if next, ok := f.ForecastNext(); ok {
			q := next.Dist.Quantiles()
			for j, said := range f.family.said {
				abs[j] += math.Abs(x - said)
			}
			mine += math.Abs(x - next.Value)
			lo, hi := q[1], q[len(q)-2]
			if x < lo {
				o.below++
			} else if x <= hi {
				o.inside++
			}
			o.total++
		}
		if err := f.AddValue(core.AtSecond(float64(i)), x); err != nil {
			tb.Fatal(err)
		}
	}
	best := slices.Min(abs[:])
	o.ratio = mine / best
	if mine == best { // 0 perhaps
		o.ratio = 1
	}
	for i, a := range abs {
		o.tracks = append(o.tracks, Track{Name: names[i], MAE: a / float64(len(values))})
	}
	return o
}

// quantile of what need not be sorted.
func quantile(list []float64, p float64) float64 {
	s := slices.Clone(list)
	slices.Sort(s)
	return s[int(p*float64(len(s)-1)+0.5)]
}

// sums is how all series of a set turned out.
type sums struct {
	ratios               []float64
	good                 int // series at most 5 % worse than the best member
	below, inside, total int // values
}

func judge(tb testing.TB, c Config, series [][]float64) sums {
	tb.Helper()
	var s sums
	for _, v := range series {
		o := play(tb, c, v)
		s.ratios = append(s.ratios, o.ratio)
		if o.ratio <= 1.05 {
			s.good++
		}
		s.below += o.below
		s.inside += o.inside
		s.total += o.total
	}
	return s
}

// known is what is known about a kind of series beforehand: that of the kind,
// or, where nothing is, what the series for tuning say.
func known(tb testing.TB, s dataSet) Prior {
	switch s.name {
	case "3G, Norway", "Oboe", "FCC, HSDPA":
		return BandwidthPrior()
	case "PlanetLab", "Alibaba":
		return LoadPrior()
	}
	return pooled(tb, s.tuning)
}

func pooled(tb testing.TB, series [][]float64) Prior {
	tb.Helper()
	var tracks [][]Track
	for _, v := range series {
		tracks = append(tracks, play(tb, Config{}, v).tracks)
	}
	return poolPriors(tracks...)
}

// recordedSeries are the recorded series, with generated ones in place of those
// that are not here.
func recordedSeries(tb testing.TB) []dataSet {
	tb.Helper()
	sets := append(bandwidths(tb), loads(tb)...)
	if len(sets) < 5 {
		tb.Log("generated series stand for the recorded ones that are not here")
		sets = append(sets, generated()...)
	}
	return sets
}

func TestForecastsAreHardlyWorseThanThoseOfTheBestMemberInHindsight(t *testing.T) {
	good, inside, series, values := 0, 0, 0, 0
	for _, s := range recordedSeries(t) {
		r := judge(t, Config{Prior: known(t, s)}, s.judged)
		n := len(s.judged)
		t.Logf("%s: %d series; error over that of the best in hindsight: median %.3f, 95 of 100 below %.3f, %.1f %% below "+
			"1.05; within the 90 %% interval %.1f %% (below it %.1f %%)",
			s.name, n, quantile(r.ratios, 0.5), quantile(r.ratios, 0.95), percent(r.good, n), percent(r.inside, r.total),
			percent(r.below, r.total))
		if p := percent(r.inside, r.total); p < 85 || p > 95 {
			t.Errorf("%s: %.1f %% of the next values are within the 90 %% interval", s.name, p)
		}
		good, series = good+r.good, series+n
		inside, values = inside+r.inside, values+r.total
	}
	t.Logf("all %d series: %.1f %% below 1.05; within the 90 %% interval %.1f %%", series, percent(good, series),
		percent(inside, values))
	if percent(good, series) < 95 {
		t.Errorf("%d of %d series are forecast at most 5 %% worse than by the best member, want 95 %%", good, series)
	}
	if p := percent(inside, values); p < 87 || p > 93 {
		t.Errorf("%.1f %% of all next values are within the 90 %% interval", p)
	}
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// What a series has in common with others is worth most while it is short.
func TestWhatOthersOfAKindTellHelpsANewSeries(t *testing.T) {
	for _, s := range generated() {
		var short [][]float64
		for _, v := range s.judged {
			short = append(short, v[:30])
		}
		p := pooled(t, s.tuning)
		alone, helped := judge(t, Config{}, short), judge(t, Config{Prior: p}, short)
		a, h := quantile(alone.ratios, 0.5), quantile(helped.ratios, 0.5)
		t.Logf("%s: %.3f alone, %.3f with what others tell", s.name, a, h)
		if h > a+0.01 {
			t.Errorf("%s: worse with what others tell", s.name)
		}
	}
}

// ahead is how often the mean of the next steps values is within the 90 %
// interval, and the ratio of the error to that of the best member in hindsight.
func ahead(tb testing.TB, c Config, values []float64, steps int) (inside, total int, ratio float64) {
	tb.Helper()
	f := New(c)
	var abs forecasts
	mine := 0.0
	for i := range values {
		if i >= 10 && i%3 == 0 && i+steps <= len(values) {
			next, _ := f.ForecastOver(steps)
			mean := 0.0
			for _, x := range values[i : i+steps] {
				mean += x / float64(steps)
			}
			q := next.Dist.Quantiles()
			if mean >= q[1] && mean <= q[len(q)-2] {
				inside++
			}
			total++
			mine += math.Abs(mean - next.Value)
			var said forecasts
			f.family.forecastMean(steps, &said)
			for j := range said {
				abs[j] += math.Abs(mean - said[j])
			}
		}
		if err := f.AddValue(core.AtSecond(float64(i)), values[i]); err != nil {
			tb.Fatal(err)
		}
	}
	return inside, total, mine / slices.Min(abs[:])
}

func TestForecastsOfTheMeanOfSeveralValuesHoldWhatTheyPromise(t *testing.T) {
	for _, s := range recordedSeries(t) {
		every, prior := 1+len(s.judged)/100, known(t, s)
		for _, steps := range []int{2, 4, 8, 16, 32} {
			inside, total := 0, 0
			for i := 0; i < len(s.judged); i += every {
				in, all, _ := ahead(t, Config{Prior: prior}, s.judged[i], steps)
				inside, total = inside+in, total+all
			}
			p := percent(inside, total)
			t.Logf("%s, mean of %d: within the 90 %% interval %.1f %% of %d", s.name, steps, p, total)
			if p < 80 {
				t.Errorf("%s: %.1f %% of the means of %d values are within the 90 %% interval", s.name, p, steps)
			}
		}
	}
}

func BenchmarkAddAndNext(b *testing.B) {
	f := New(Config{})
	x, at := 50.0, core.Time(0)
	for b.Loop() {
		at += 1e9
		x = math.Abs(x + math.Sin(float64(at)))
		if err := f.AddValue(at, x); err != nil {
			b.Fatal(err)
		}
		f.ForecastNext()
	}
}

// worst bounds what one series says about a member that does not suit it.
const worst = 1

// poolPriors is what the errors of several series of one kind (see
// Forecaster.MemberErrors) say about the next such series. Series without an error
// say nothing.
func poolPriors(series ...[]Track) Prior {
	var p Prior
	n := 0.0
	for _, tracks := range series {
		if len(tracks) != nMembers {
			continue
		}
		best := slices.MinFunc(tracks, func(a, b Track) int { return cmp.Compare(a.MAE, b.MAE) }).MAE
		if !(best > 0) {
			continue
		}
		for i, t := range tracks {
			p.excess[i] += min(t.MAE/best-1, worst)
		}
		n++
	}
	if n == 0 {
		return Prior{}
	}
	for i := range p.excess {
		p.excess[i] /= n
	}
	p.known = true
	return p
}
