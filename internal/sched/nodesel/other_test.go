package nodesel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/nodeseltest"
)

// fits reports whether the pattern fits at a value, and whether that is known.
func fits(b *Bandwidths, p *Pattern, value float64, steps int) (yes, known bool) {
	return nodeseltest.Question{Hosts: b.HostCount(), Pattern: p, Steps: steps,
		Allowed: func(_, host int) bool { return b.mostOf(host) >= value },
		Reaches: func(u, v int, weight float64) bool { return b.PairBandwidth(u, v)/weight >= value },
	}.IsFitting()
}

func TestAnotherExactMethodAgreesAtAndAboveTheAnswer(t *testing.T) {
	agreed, gaveUp := 0, 0
	for i := range 24 {
		rnd := rand.New(rand.NewPCG(uint64(i), 5))
		var b *Bandwidths
		switch i % 4 {
		case 0:
			b = randomBandwidths(rnd, 24, 1, 0)
		case 1:
			b = randomBandwidths(rnd, 30, 0.4, 5)
		case 2: // dense parts, few links between them
			b = pairwise(30, func(u, v int) float64 {
				if u/6 == v/6 {
					return 500 + 500*rnd.Float64()
				}
				return 100 * rnd.Float64()
			})
		case 3:
			var err error
			if b, err = randomSites(rnd, 24, 5).WidestBandwidths(); err != nil {
				t.Fatal(err)
			}
		}
		patterns := []*Pattern{named(t, "ring", 8), named(t, "path", 10), named(t, "all", 5), named(t, "star", 7),
			named(t, "tree:2", 9), named(t, "mesh:3x3", 9),
			named(t, "mesh:3x4", 12), named(t, "torus:3x3", 9), named(t, "hypercube", 8), named(t, "butterfly", 12),
			named(t, "mesh:2x2x3", 12)}
		for _, p := range patterns[:len(patterns):len(patterns)] {
			patterns = append(patterns, nodeseltest.WeightEdges(rnd, p))
		}
		for _, p := range patterns {
			sel, err := Select(b, p, Options{Groups: 1})
			at, above := 0.0, math.SmallestNonzeroFloat64
			if err == nil {
				check(t, b, p, sel.Group)
				at, above = sel.Mbps, math.Nextafter(sel.Mbps, math.Inf(1))
			}
			what := fmt.Sprintf("network %d, %s of %d", i, p.Name, p.Nodes)
			if at > 0 {
				if yes, known := fits(b, p, at, 10_000); known && !yes {
					t.Errorf("%s: %g is said to be had", what, at)
				}
			}
			switch yes, known := fits(b, p, above, 10_000); {
			case yes:
				t.Errorf("%s: more than %g can be had", what, at)
			case known:
				agreed++
			default:
				gaveUp++
			}
		}
	}
	t.Logf("the other method agrees on %d answers and gave up on %d", agreed, gaveUp)
	if agreed < gaveUp {
		t.Errorf("it gave up too often: %d times, and agreed %d times", gaveUp, agreed)
	}
}
