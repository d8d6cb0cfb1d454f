package nodesel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// told checks what is said of a choice that was made with rounding: worth is what
// it has, want the most that can be had.
func told(t *testing.T, what string, got *Selection, step, worth, want float64) {
	t.Helper()
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*y }
	switch {
	case !near(got.Mbps, worth) || !near(got.Groups[0].Mbps, worth):
		t.Fatalf("%s: %+v, its hosts have %g", what, got, worth)
	case got.Bound < want*(1-1e-9) || got.Bound < got.Mbps:
		t.Fatalf("%s: %+v, %g can be had", what, got, want)
	case got.Optimal && !near(got.Mbps, want):
		t.Fatalf("%s: %+v is said to be the best, %g can be had", what, got, want)
	case got.Mbps*(1+step) < want*(1-1e-6):
		t.Fatalf("%s: %+v is more than a step of %g below %g", what, got, step, want)
	}
}

func TestWhatIsSaidOfAChoiceByRoundedBandwidthsIsTrueWithoutRounding(t *testing.T) {
	rnd := rand.New(rand.NewPCG(21, 21))
	proven, worse := 0, 0
	for i := range 200 {
		b := pairwise(4+rnd.IntN(4), func(_, _ int) float64 { return 900 + 200*rnd.Float64() })
		if i%3 == 0 {
			b.CapHost(rnd.IntN(b.n), 1000*rnd.Float64())
		}
		if i%5 == 0 {
			b = pairwise(b.n, func(_, _ int) float64 { return float64(10 * (1 + rnd.IntN(3))) })
		}
		p := randomPattern(rnd, min(5, b.n))
		step := []float64{0.02, 0.05, 0.3}[i%3]
		got, err := Select(b, p, Options{Groups: 2, Alike: step})
		if err != nil {
			t.Fatal(err)
		}
		want := exhaustive(b, p)
		told(t, p.Name, got, step, choiceValue(b, p, got.Hosts), want)
		if got.Optimal {
			proven++
		}
		if got.Mbps < want {
			worse++
		}
	}
	if proven < 20 || worse < 20 {
		t.Errorf("%d proven, %d not the best: it tells nothing", proven, worse)
	}
}

func TestWhatIsSaidIsTrueWithSharedLinksToo(t *testing.T) {
	// The faster pair is within a step of the slower one.
	n := &Network{Hosts: []string{"a", "b", "c", "d"}, Links: []Link{{A: 0, B: 1, Mbps: 1000}, {A: 2, B: 3, Mbps: 1010}}}
	b, err := n.WidestBandwidths()
	if err != nil {
		t.Fatal(err)
	}
	got, err := SelectShared(n, b, named(t, "path", 2), Options{Groups: 2, Alike: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	if got.Bound < 1010 || got.Optimal != (got.Mbps == 1010) || got.Mbps < 1000 {
		t.Errorf("%+v", got)
	}
	rnd := rand.New(rand.NewPCG(22, 22))
	for i := range 60 {
		n := randomSites(rnd, 3+rnd.IntN(4), 1+rnd.IntN(4))
		for l := range n.Links {
			n.Links[l].Mbps *= 0.9 + 0.2*rnd.Float64()
		}
		b, err := n.WidestBandwidths()
		if err != nil {
			t.Fatal(err)
		}
		step := []float64{0.02, 0.1, 0.5}[i%3]
		for _, p := range []*Pattern{named(t, "ring", 3), named(t, "all", 3), randomPattern(rnd, min(5, len(n.Hosts)))} {
			got, err := SelectShared(n, b, p, Options{Groups: 2, Alike: step})
			if err != nil {
				t.Fatal(err)
			}
			told(t, p.Name, got, step, newSharing(n, b, p, Options{}).worthOf(got.Hosts), mostShared(n, b, p))
		}
	}
}

func TestOtherMethodsTellTheTruthWithRoundingToo(t *testing.T) {
	rnd := rand.New(rand.NewPCG(23, 23))
	b := pairwise(7, func(_, _ int) float64 { return 900 + 200*rnd.Float64() })
	p := named(t, "ring", 4)
	for _, method := range SelectionMethods() {
		got, err := SelectBy(method, b, p, Options{Groups: 2, Alike: 0.1}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got.Mbps != choiceValue(b, p, got.Hosts) || got.Bound < exhaustive(b, p) {
			t.Errorf("%s: %+v, %g can be had", method, got, exhaustive(b, p))
		}
	}
}

func TestGoingBackSomeDeletionsGivesTheNextBestGroups(t *testing.T) {
	rnd := rand.New(rand.NewPCG(24, 24))
	for i := range 50 {
		b := randomBandwidths(rnd, 4+rnd.IntN(4), 0.9, 8)
		p := randomPattern(rnd, min(5, b.n))
		want, err := Select(b, p, Options{Groups: 4})
		if err != nil {
			continue
		}
		got, err := SelectBy("edge-deletion", b, p, Options{Groups: 4}, 0)
		if err != nil || len(got.Groups) != len(want.Groups) {
			t.Fatalf("graph %d: %+v, %v; want %+v", i, got, err, want)
		}
		for k := range got.Groups {
			if got.Groups[k].Mbps != want.Groups[k].Mbps {
				t.Errorf("graph %d: group %d is %+v, want %+v", i, k+1, got.Groups[k], want.Groups[k])
			}
		}
	}
}
