package workflow

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// The whole experiment has 30 seeds; what is asked for must come out of a few as well.
func TestOursWinsUnloadedLoadedAndWithAWrongModel(t *testing.T) {
	var cases []Case
	for _, c := range PaperCases() {
		if c.Table == "II" || c.Table == "III" || c.Table == "IV" {
			cases = append(cases, c)
		}
	}
	r, err := Simulate(context.Background(), cases, []uint64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.CheckCases() {
		if v.Wanted && !v.Holds {
			t.Errorf("%s: %s", v.Says, v.Saw)
		}
	}
	if holds, all := CountHolding(r.CheckCases()); all != 7 || holds != 7 {
		t.Errorf("%d of %d statements hold, want 7 of 7", holds, all)
	}
	for _, runs := range r.Runs {
		for _, x := range runs {
			if x.Sweep < x.Bound || x.Bound < x.ByWork {
				t.Errorf("placed by %s, seed %d: %v s, the bound is %v, by work alone %v", x.Way, x.Seed, x.Sweep, x.Bound,
					x.ByWork)
			}
		}
	}
	// Static plans lose what the paper's lost.
	for i := range cases[1:] {
		if gain, _ := r.gainOver(&cases[i+1], Static); gain < 0.05 {
			t.Errorf("%s: the static plan is only %s longer", cases[i+1].Name, formatPercent(gain))
		}
	}
	if text, err := r.reportMarkdown(); err != nil || strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
		t.Errorf("the report has holes (%v):\n%s", err, text)
	}
}

// Where instances are alike the bound is the best there is: the fewest rounds that
// are enough.
func TestTheBoundOfLikeInstancesIsAWholeNumberOfRounds(t *testing.T) {
	for _, c := range PaperCases() {
		g, err := c.makeGrid()
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.makeDAG()
		if err != nil {
			t.Fatal(err)
		}
		w := &world{truth: make([]float64, len(d.Tasks))}
		for i := range w.truth {
			w.truth[i] = 1
		}
		bound, byWork := lowerBounds(w, d, g, [2]line{})
		if best := rounds(c.Instances, c.seconds, g.Hosts); math.Abs(bound-best) > 1e-6*best || byWork > bound {
			t.Errorf("%s: bound %v, the best is %v", c.Name, bound, best)
		}
	}
}

// With three nodes far from the input and one instance for each, the last one cannot
// begin before three files have come over the line.
func TestTheBoundCountsFilesThatShareALine(t *testing.T) {
	sum := []float64{0, 10, 20, 30}
	if got := atLeast(sum, 3, 3, 1, line{latency: 0.5, each: 2}); math.Abs(got-14.5) > 1e-9 {
		t.Errorf("three instances of 10 s behind files of 2 s: %v s, want 10 + (2+4+6)/3 + 0.5", got)
	}
	if got := atLeast(sum, 3, 3, 1, line{each: 100}); math.Abs(got-130) > 1e-9 {
		t.Errorf("where files take 100 s one node does best with all three: %v s, want 30 + 100", got)
	}
	if got := atLeast(sum, 0, 3, 1, line{latency: 1, each: 100}); got != 0 {
		t.Errorf("no instance takes %v s", got)
	}
}

// rounds gives every instance to the node that would be through with it first.
func rounds(n int, seconds float64, hosts []flow.Host) float64 {
	done := make([]float64, len(hosts))
	last := 0.0
	for range n {
		best := 0
		for h := range hosts {
			if done[h]+seconds/hosts[h].Speed < done[best]+seconds/hosts[best].Speed {
				best = h
			}
		}
		done[best] += seconds / hosts[best].Speed
		last = max(last, done[best])
	}
	return last
}
