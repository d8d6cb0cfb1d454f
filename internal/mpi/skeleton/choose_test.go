package skeleton

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// took is a run of groups, one after the other, that take so long each time; what
// is negative fails.
func took(t *testing.T, seconds ...[]float64) (*Choice, []int) {
	t.Helper()
	groups := make([][]string, len(seconds))
	for i := range groups {
		groups[i] = []string{string(rune('a' + i))}
	}
	var order []int
	c, err := chooseGroup(groups, func(i int) (float64, error) {
		order = append(order, i)
		s := seconds[i][0]
		seconds[i] = seconds[i][1:]
		if s < 0 {
			return 0, &failedError{errors.New("no way there")}
		}
		return s, nil
	}, func(s float64) float64 { return 10 * s })
	if err != nil {
		t.Fatal(err)
	}
	return c, order
}

func TestAGroupTakesTheFirstOnesPlaceIfItIsClearlyFasterAgainAndAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		times  [][]float64
		best   int
		order  []int
		ranked string
		why    string
	}{
		{"the first is fastest", [][]float64{{1}, {2}, {3}}, 0, []int{0, 1, 2}, "abc",
			"1.00 s on a, 2.00 s on the next best group (100 % more)"},
		{"another is faster again", [][]float64{{1, 1, 1, 1}, {2}, {0.8, 0.8, 0.8, 0.8}}, 2, []int{0, 1, 2, 0, 2, 0, 2, 0, 2},
			"cab", "0.80 s on c, 1.00 s on the next"},
		{"another was lucky once", [][]float64{{1, 1}, {2}, {0.8, 1.2}}, 0, []int{0, 1, 2, 0, 2}, "acb",
			"1.00 s on the next best group (0 % more)"},
		{"another was lucky twice", [][]float64{{1, 1, 1}, {2}, {0.8, 0.8, 1.4}}, 0, []int{0, 1, 2, 0, 2, 0, 2}, "acb",
			"1.00 s on the next best group (0 % more)"},
		{"the first is faster once", [][]float64{{1, 1, 0.8}, {2}, {0.8, 0.85, 0.7}}, 0, []int{0, 1, 2, 0, 2, 0, 2}, "acb",
			"most was expected; c was not clearly faster: 0.78 s"},
		{"another is hardly faster", [][]float64{{1, 1, 1, 1}, {2}, {0.5, 0.98, 0.98, 0.98}}, 0,
			[]int{0, 1, 2, 0, 2, 0, 2, 0, 2}, "acb", "most was expected; c was not clearly faster: 0.86 s"},
		{"a third is between", [][]float64{{1, 1, 1, 1}, {0.82}, {0.8, 0.9, 0.9, 0.9}}, 2, []int{0, 1, 2, 0, 2, 0, 2, 0, 2},
			"cba", "the mean of 4 runs; on b 0.82 s in one"},
		{"the first fails", [][]float64{{-1}, {2}, {3}}, 1, []int{0, 1, 2}, "bc", "2.00 s on b, 3.00 s on the next"},
		{"the first fails later", [][]float64{{1, -1}, {0.9}, {0.8, 0.85}}, 2, []int{0, 1, 2, 0, 2}, "cb", "0.82 s on c"},
		{"the fastest fails later", [][]float64{{1, 1, 1}, {0.9, 1.1}, {0.8, -1}}, 0, []int{0, 1, 2, 0, 2, 0, 1}, "ab",
			"1.00 s on a, 1.00 s on the next"},
		{"the fastest fails later, and the next is faster", [][]float64{{1, 1, 1, 1, 1}, {0.9, 0.9, 0.9, 0.9}, {0.8, -1}}, 1,
			[]int{0, 1, 2, 0, 2, 0, 1, 0, 1, 0, 1}, "ba", "0.90 s on b"},
		{"all fail", [][]float64{{-1}, {-1}}, -1, []int{0, 1}, "", "on none of the groups"},
		{"one alone", [][]float64{{1}}, 0, []int{0}, "a", "1.00 s on a"},
	} {
		got, order := took(t, c.times...)
		ranked := ""
		for _, g := range got.RankedTrials() {
			ranked += g.Hosts[0]
		}
		if got.Best != c.best || !slices.Equal(order, c.order) || ranked != c.ranked || !strings.Contains(got.Why, c.why) {
			t.Errorf("%s: best %d after runs on %v, ranked %s: %s", c.name, got.Best, order, ranked, got.Why)
		}
	}
}

func TestTimesAreTheMeansOfRuns(t *testing.T) {
	c, _ := took(t, []float64{1, 2}, []float64{0.5, 2.1})
	if first, other := c.Trials[0], c.Trials[1]; first.Seconds != 1.5 || first.Runs != 2 || first.Predicted != 15 ||
		other.Seconds != 1.3 {
		t.Errorf("%+v", c.Trials)
	}
}

func TestAnErrorThatIsNotOneOfAGroupEndsTheChoice(t *testing.T) {
	interrupted := errors.New("interrupted")
	if _, err := chooseGroup([][]string{{"a"}, {"b"}}, func(int) (float64, error) { return 0, interrupted },
		nil); !errors.Is(err, interrupted) {
		t.Error(err)
	}
}
