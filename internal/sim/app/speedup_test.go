package app_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sim/app"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

func TestAmdahlGivesTheValuesComputedByHand(t *testing.T) {
	for _, c := range []struct {
		serial float64
		n      int
		want   float64
	}{
		{0, 7, 7},
		{1, 7, 1},
		{0.05, 2, 1 / 0.525},
		{0.05, 20, 1 / 0.0975},
		{0.5, 1 << 30, 2 / (1 + 1.0/(1<<30))},
	} {
		near(t, app.Amdahl{Serial: c.serial}.String(), app.Amdahl{Serial: c.serial}.SpeedupAt(c.n), c.want)
	}
}

// The expected values follow from the formulas of section 2 of the report by
// hand: n ≤ A, A < n ≤ 2A-1 and beyond for low variance; up to A+Aσ-σ and
// beyond for high variance.
func TestDowneyGivesTheValuesComputedByHand(t *testing.T) {
	for _, c := range []struct {
		a, sigma float64
		n        int
		want     float64
	}{
		{64, 0, 32, 32},
		{64, 0, 64, 64},
		{64, 0, 100, 64},
		{64, 1, 2, 128 / 64.5},
		{64, 1, 64, 4096 / 95.5},
		{64, 1, 100, 6400 / 113.5},
		{64, 1, 127, 64},
		{64, 1, 1000, 64},
		{64, 0.5, 64, 4096 / 79.75},
		{64, 0.5, 96, 6144 / 103.75},
		{64, 2, 2, 384 / 194.0},
		{64, 2, 64, 12288 / 318.0},
		{64, 2, 189, 36288 / 568.0},
		{64, 2, 190, 64},
		{64, 2, 500, 64},
		{1, 0.5, 9, 1},
		{1, 2, 9, 1},
		{1.5, 0, 2, 1.5},
	} {
		d := app.Downey{A: c.a, Sigma: c.sigma}
		near(t, d.String(), d.SpeedupAt(c.n), c.want)
	}
}

func TestDowneysTwoModelsAgreeWhereTheyMeet(t *testing.T) {
	above := math.Nextafter(1, 2)
	for n := 1; n < 300; n++ {
		near(t, "downey", app.Downey{A: 64, Sigma: 1}.SpeedupAt(n), app.Downey{A: 64, Sigma: above}.SpeedupAt(n))
	}
}

func TestATableGivesItsPointsAndStraightLinesBetweenThemOnLogScales(t *testing.T) {
	table, err := app.NewTable([]app.Point{{8, 200}, {2, 600}, {32, 200}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "work", table.SequentialTime(), 1200)
	for n, want := range map[int]float64{
		0: 0, 1: 1, 2: 2, // perfect below the first point
		4: 1200 / math.Sqrt(600*200), // half way between 2 and 8 on a log scale
		8: 6, 20: 6, 32: 6, 1000: 6,  // flat beyond the last
	} {
		near(t, "table", table.SpeedupAt(n), want)
	}
	if s := table.String(); s != "table:2=600,8=200,32=200" {
		t.Errorf("String() = %s", s)
	}
}

func model(t *rapid.T) app.Speedup {
	return rapid.OneOf(
		rapid.Just[app.Speedup](app.Linear{}),
		rapid.Custom(func(t *rapid.T) app.Speedup {
			return app.Amdahl{Serial: rapid.Float64Range(0, 1).Draw(t, "serial")}
		}),
		rapid.Custom(func(t *rapid.T) app.Speedup {
			return app.Downey{
				A:     rapid.Float64Range(1, 5000).Draw(t, "A"),
				Sigma: rapid.Float64Range(0, 5).Draw(t, "sigma"),
			}
		}),
	).Draw(t, "model")
}

func TestAModelStartsAtOneNeverFallsAndNeverBeatsLinear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := model(t)
		if s.SpeedupAt(1) != 1 || s.SpeedupAt(0) != 0 || s.SpeedupAt(-3) != 0 {
			t.Fatalf("%v: At(1) = %g, At(0) = %g, At(-3) = %g", s, s.SpeedupAt(1), s.SpeedupAt(0), s.SpeedupAt(-3))
		}
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		here, next := s.SpeedupAt(n), s.SpeedupAt(n+1)
		const ulps = 1e-14
		if here > float64(n)*(1+ulps) || next < here*(1-ulps) || here < 1-ulps {
			t.Fatalf("%v: At(%d) = %g, At(%d) = %g", s, n, here, n+1, next)
		}
	})
}

func TestATableStaysBetweenItsNeighbouringPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.IntRange(1, 200), 1, 8, rapid.ID[int]).Draw(t, "sizes")
		var points []app.Point
		for _, n := range sizes {
			points = append(points, app.Point{Size: n, Seconds: rapid.Float64Range(1, 1e6).Draw(t, "seconds")})
		}
		table, err := app.NewTable(points)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(1, 300).Draw(t, "n")
		lo, hi := math.Inf(1), 0.0
		for _, p := range points {
			lo, hi = min(lo, table.SpeedupAt(p.Size)), max(hi, table.SpeedupAt(p.Size))
		}
		if got := table.SpeedupAt(n); got < min(1, lo)*(1-1e-9) || got > hi*(1+1e-9) || table.SpeedupAt(1) != 1 {
			t.Fatalf("%v: At(%d) = %g outside [%g, %g]", table, n, got, lo, hi)
		}
	})
}
