package history

import (
	"math"
	"testing"
)

func TestDistributionsAgreeWithTables(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"t, 1 degree, 0.75", studentQuantile(1, 0.75), 1},
		{"t, 3 degrees, 0.95", studentQuantile(3, 0.95), 2.353363},
		{"t, 10 degrees, 0.975", studentQuantile(10, 0.975), 2.228139},
		{"t, 10 degrees, 0.01", studentQuantile(10, 0.01), -2.763769},
		{"t, half a degree, 0.99", betaInc(0.25, 0.5, 0.5/(0.5+math.Pow(studentQuantile(0.5, 0.99), 2))) / 2, 0.01},
		{"t, 3 degrees, 0.51", studentQuantile(3, 0.51), 0.027207},
		{"t, many degrees, 0.99", studentQuantile(1e7, 0.99), 2.326348},
		{"t, median", studentQuantile(2, 0.5), 0},
		{"beta(2,3) at 0.4", betaInc(2, 3, 0.4), 0.5248},
		{"beta(0.5,0.5) at 0.25", betaInc(0.5, 0.5, 0.25), 1. / 3},
		{"beta(1,1) quantile", betaQuantile(1, 1, 0.3), 0.3},
		{"binomial at most 2 of 4 at 0.5", binomialCDF(2, 4, 0.5), 0.6875},
		{"binomial at most 90 of 100 at 0.9", binomialCDF(90, 100, 0.9), 0.548710},
		{"binomial none", binomialCDF(-1, 4, 0.5), 0},
		{"binomial all", binomialCDF(4, 4, 0.5), 1},
	} {
		if math.Abs(c.got-c.want) > 1e-5 {
			t.Errorf("%s is %.7g, want %.7g", c.name, c.got, c.want)
		}
	}
}

func TestTheRanksOfBoundsAreThoseOfTheBinomialDistribution(t *testing.T) {
	for _, c := range []struct {
		quantile float64
		least    int
	}{{0.5, 5}, {0.9, 29}, {0.95, 59}} {
		if got := leastSample(c.quantile, 0.95); got != c.least {
			t.Errorf("the %g quantile needs %d observations, want %d", c.quantile, got, c.least)
		}
		if got := boundRank(c.least, c.quantile, 0.95); got != c.least {
			t.Errorf("of the fewest, the largest is the bound; not the %d of %d", got, c.least)
		}
	}
	for _, n := range []int{5, 60, 1000, 7680} {
		k := boundRank(n, 0.5, 0.95)
		if binomialCDF(k-1, n, 0.5) < 0.95 || k > 1 && binomialCDF(k-2, n, 0.5) >= 0.95 {
			t.Errorf("of %d the %d-th is not the least that bounds the median", n, k)
		}
	}
}
