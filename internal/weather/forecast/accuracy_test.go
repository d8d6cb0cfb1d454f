package forecast

import (
	"math"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/core"
)

// outcome is how the forecasts of one series turned out.
type outcome struct {
	ratio   float64 // mean absolute error, the best member's in hindsight being 1
	inside  int     // next values within the 90 % interval
	below   int
	total   int
	width   float64 // mean width of the interval, the mean absolute error being 1
	tracks  []Track
	exact   bool // the best member never erred
	pinball float64
}

// play lets a forecaster see a series value by value.
func play(tb testing.TB, c Config, values []float64) outcome {
	tb.Helper()
	f := New(c)
	var o outcome
	var abs [nMembers]float64
	mine, width := 0.0, 0.0
	for i, x := range values {
		if next, ok := f.Next(); ok {
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
			width += hi - lo
			o.pinball += pinball(q[1], 0.05, x) + pinball(q[len(q)-2], 0.95, x)
		}
		if err := f.Add(core.AtSecond(float64(i)), x); err != nil {
			tb.Fatal(err)
		}
	}
	best := slices.Min(abs[:])
	o.exact = best == 0
	o.ratio, o.width, o.pinball = mine/best, width/mine, o.pinball/mine
	if o.exact {
		o.ratio = 1
		if mine > 0 {
			o.ratio = math.Inf(1)
		}
	}
	for i, a := range abs {
		o.tracks = append(o.tracks, Track{Name: names[i], MAE: a / float64(len(values))})
	}
	return o
}

func pinball(q, p, x float64) float64 { return max(p*(x-q), (p-1)*(x-q)) }

// quantile of what need not be sorted.
func quantile(list []float64, p float64) float64 {
	s := slices.Clone(list)
	slices.Sort(s)
	return s[int(p*float64(len(s)-1)+0.5)]
}

// sums is how all series of a set turned out.
type sums struct {
	ratios                []float64
	good                  int
	below, inside, total  int
	width, pinball, exact float64
}

func judge(tb testing.TB, c Config, series [][]float64) sums {
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
		if !o.exact {
			s.width += o.width
			s.pinball += o.pinball
		} else {
			s.exact++
		}
	}
	return s
}

func learned(tb testing.TB, series [][]float64) Prior {
	var tracks [][]Track
	for _, v := range series {
		tracks = append(tracks, play(tb, Config{}, v).tracks)
	}
	return Pool(tracks...)
}

func TestTuning(t *testing.T) {
	for _, s := range append(bandwidths(t), loads(t)...) {
		a, b := []([]float64){}, []([]float64){}
		for i, v := range s.tuning {
			if i%2 == 0 {
				a = append(a, v)
			} else {
				b = append(b, v)
			}
		}
		for i, p := range []Prior{{}, learned(t, a)} {
			r := judge(t, Config{Prior: p}, b)
			n := float64(len(b))
			t.Logf("%s %d: %d series, ratio median %.3f p95 %.3f good %.1f%% below %.1f%% inside %.1f%% width %.2f pinball %.3f exact %v", s.name, i, len(b), quantile(r.ratios, .5), quantile(r.ratios, .95),
				100*float64(r.good)/n, 100*float64(r.below)/float64(r.total), 100*float64(r.inside)/float64(r.total), r.width/n, r.pinball/n, r.exact)
		}
	}
}

func BenchmarkAddAndNext(b *testing.B) {
	f := New(Config{})
	x, at := 50.0, core.Time(0)
	for b.Loop() {
		at += 1e9
		x = math.Abs(x + math.Sin(float64(at)))
		if err := f.Add(at, x); err != nil {
			b.Fatal(err)
		}
		f.Next()
	}
}
