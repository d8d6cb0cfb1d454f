package nodes

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock"
)

func TestEveryPairIsProbedOnceAndNobodyTwiceAtATime(t *testing.T) {
	for n := 2; n < 12; n++ {
		seen := map[[2]int]int{}
		for _, round := range rounds(n) {
			busy := map[int]bool{}
			for _, p := range round {
				if busy[p[0]] || busy[p[1]] || p[0] == p[1] {
					t.Errorf("%d hosts: %v", n, round)
				}
				busy[p[0]], busy[p[1]] = true, true
				seen[[2]int{min(p[0], p[1]), max(p[0], p[1])}]++
			}
		}
		if len(seen) != n*(n-1)/2 {
			t.Errorf("%d hosts: %d pairs are probed", n, len(seen))
		}
	}
}

func TestStreamsComeAndGoWithinTheirLimits(t *testing.T) {
	s := newStreams(10, 1)
	if len(s.on) != 45 {
		t.Fatalf("%d ways", len(s.on))
	}
	for range 10_000 {
		if pair, mbps := s.change(); mbps < 10 || mbps > 100 || pair[0] >= pair[1] {
			t.Fatalf("%v has %g Mbit/s", pair, mbps)
		}
	}
}

func TestChoicesAreTimed(t *testing.T) {
	costs, err := Costs(t.Context(), []int{10, 20}, 2, clock.Real())
	if err != nil || len(costs) != 2+2*4 { // of ten hosts all of 8 alone fits, of twenty all but the tree
		t.Fatalf("%d choices, %v", len(costs), err)
	}
	for _, c := range costs {
		if !c.Proven || c.Gap != 0 || c.Seconds <= 0 {
			t.Errorf("%+v", c)
		}
	}
}
