package plot

import (
	"math"
	"strings"
	"testing"
)

// labels are the labels of ticks, small ticks left out.
func labels(list []tick) string {
	var out []string
	for _, t := range list {
		if t.label != "" {
			out = append(out, t.label)
		}
	}
	return strings.Join(out, " | ")
}

func TestTicksReadWell(t *testing.T) {
	for _, c := range []struct {
		what   string
		unit   Unit
		lo, hi float64
		log    bool
		want   string
	}{
		{"whole numbers", Plain, 0, 10, false, "0 | 2 | 4 | 6 | 8 | 10"},
		{"thousands", Plain, 0, 5000, false, "0 | 1,000 | 2,000 | 3,000 | 4,000 | 5,000"},
		{"fractions", Plain, 0, 0.5, false, "0.0 | 0.1 | 0.2 | 0.3 | 0.4 | 0.5"},
		{"around zero", Plain, -1, 1, false, "−1.0 | −0.5 | 0.0 | 0.5 | 1.0"},
		{"off the grid", Plain, 3, 17, false, "4 | 6 | 8 | 10 | 12 | 14 | 16"},
		{"very large", Plain, 0, 4e8, false, "0 | 10⁸ | 2×10⁸ | 3×10⁸ | 4×10⁸"},
		{"very small", Plain, 0, 4e-9, false, "0 | 10⁻⁹ | 2×10⁻⁹ | 3×10⁻⁹ | 4×10⁻⁹"},
		{"shares", Percent, 0, 1, false, "0 % | 20 % | 40 % | 60 % | 80 % | 100 %"},
		{"small shares", Percent, 0, 0.01, false, "0.0 % | 0.2 % | 0.4 % | 0.6 % | 0.8 % | 1.0 %"},
		{"parts of a second", Seconds, 0, 1, false, "0 | 0.2 s | 0.4 s | 0.6 s | 0.8 s | 1.0 s"},
		{"seconds", Seconds, 0, 50, false, "0 | 10 s | 20 s | 30 s | 40 s | 50 s"},
		{"minutes", Seconds, 0, 3600, false, "0 | 10 min | 20 min | 30 min | 40 min | 50 min | 60 min"},
		{"hours", Seconds, 0, 86400, false, "0 | 6 h | 12 h | 18 h | 24 h"},
		{"days", Seconds, 0, 10 * day, false, "0 | 2 d | 4 d | 6 d | 8 d | 10 d"},
		{"a year", Seconds, 0, 365 * day, false, "0 | 100 d | 200 d | 300 d"},
		{"decades", Plain, 1, 1e4, true, "1 | 10 | 100 | 1,000 | 10,000"},
		{"fractional decades", Plain, 0.02, 5, true, "0.1 | 1"},
		{"many decades", Plain, 1, 1e9, true, "1 | 100 | 10,000 | 1,000,000 | 10⁸"},
		{"one decade", Plain, 30, 200, true, "50 | 100 | 200"},
		{"within a decade", Plain, 31, 49, true, "35 | 40 | 45"},
		{"spans of time", Seconds, 0.5, 2 * day, true, "1 s | 10 s | 1 min | 10 min | 1 h | 10 h | 1 d"},
		{"short spans", Seconds, 0.001, 1, true, "0.001 s | 0.01 s | 0.1 s | 1 s"},
	} {
		got := labels(c.unit.makeTicks(c.lo, c.hi, c.log, 5))
		if got != c.want {
			t.Errorf("%s from %v to %v: %s, want %s", c.what, c.lo, c.hi, got, c.want)
		}
	}
}

func TestTicksLieInsideTheAxisAndRise(t *testing.T) {
	for _, span := range [][2]float64{
		{0, 1}, {-5, 5}, {1e-9, 2e-9}, {1e15, 1e15 + 1e7}, {-1e150, 1e150}, {1e-150, 1e150}, {0.1, 0.3}, {5, 1e7},
	} {
		for _, unit := range []Unit{Plain, Seconds, Percent} {
			for _, log := range []bool{false, true} {
				if log && span[0] <= 0 {
					continue
				}
				last := math.Inf(-1)
				list := unit.makeTicks(span[0], span[1], log, 5)
				for _, tick := range list {
					if tick.value <= last {
						t.Fatalf("ticks of %v do not rise: %v", span, list)
					}
					if slip := 1e-6 * (span[1] - span[0]); tick.value < span[0]-slip || tick.value > span[1]+slip {
						t.Errorf("tick %v lies outside %v", tick.value, span)
					}
					last = tick.value
				}
				if n := countLabelled(list); n < 1 || n > 20 {
					t.Errorf("%d labels on the axis %v", n, span)
				}
			}
		}
	}
}

func TestLabelsDoNotRunIntoEachOther(t *testing.T) {
	a := axis{min: 0, max: 10, ticks: []tick{{0, "0"}, {1, "one thousand"}, {1.5, "two"}, {9, "nine"}}}
	a.dropCrowdedLabels(200)
	if got, want := labels(a.ticks), "0 | two | nine"; got != want {
		t.Errorf("labels %s, want %s", got, want)
	}
}

func TestAnAxisOfHeightsBeginsAtZeroUnlessTheDataLieFarAway(t *testing.T) {
	for _, c := range []struct{ lo, hi, min, max float64 }{
		{2, 9, 0, 10},
		{95, 98, 95, 98 + 3*headroom},
		{-3, 7, -4, 8},
		{0, 1, 0, 1 + headroom},
		{5, 5, 0, 8},
		{0, 0, 0, 1},
	} {
		a := Chart{}.yAxis(extent{c.lo, c.hi}, 5)
		if a.min != c.min || a.max != c.max {
			t.Errorf("values from %v to %v: axis from %v to %v, want %v to %v", c.lo, c.hi, a.min, a.max, c.min, c.max)
		}
	}
}
