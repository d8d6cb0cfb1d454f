package nodesel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// setValues is the dumb twin of the k best groups: the value of every set of
// hosts, best first.
func setValues(b *Bandwidths, p *Pattern) []float64 {
	var values []float64
	for mask := range 1 << b.HostCount() {
		var hosts []int
		for h := range b.HostCount() {
			if mask>>h&1 != 0 {
				hosts = append(hosts, h)
			}
		}
		if len(hosts) != p.Nodes {
			continue
		}
		part := NewBandwidths(len(hosts))
		for i, u := range hosts {
			for j, v := range hosts[:i] {
				part.RaisePair(i, j, b.PairBandwidth(u, v))
			}
		}
		if x := exhaustive(part, p); x > 0 {
			values = append(values, x)
		}
	}
	slices.SortFunc(values, func(x, y float64) int { return int(math.Copysign(1, y-x)) })
	return values
}

func TestTheGroupsAreTheBestSetsOfHosts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 8))
	const k = 4
	for i := range 60 {
		b := randomBandwidths(rnd, 7, 0.7, 0)
		p := randomPattern(rnd, 5)
		want := setValues(b, p)
		if len(want) == 0 {
			continue
		}
		sel, err := Select(b, p, Options{Groups: k})
		if err != nil {
			t.Fatal(err)
		}
		var got []float64
		seen := map[string]bool{}
		for _, g := range sel.Groups {
			check(t, b, p, g)
			hosts := slices.Sorted(slices.Values(g.Hosts))
			if seen[fmt.Sprint(hosts)] {
				t.Fatalf("case %d: hosts %v twice", i, hosts)
			}
			seen[fmt.Sprint(hosts)] = true
			if !g.Optimal {
				t.Errorf("case %d: %v is not proven", i, g)
			}
			got = append(got, g.Mbps)
		}
		if !slices.Equal(got, want[:min(k, len(want))]) {
			t.Fatalf("case %d: groups %v, want %v", i, got, want[:min(k, len(want))])
		}
	}
}

func TestABudgetThatEndsLeavesAChoiceAndABound(t *testing.T) {
	b := randomBandwidths(rand.New(rand.NewPCG(4, 4)), 60, 1, 0)
	for _, p := range []*Pattern{named(t, "hypercube", 16), named(t, "ring", 20), named(t, "tree:2", 31),
		named(t, "all", 8)} {
		best, err := Select(b, p, Options{Groups: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, questions := range []int{1, 3, 10, 30, 100} {
			left := questions
			got, err := Select(b, p, Options{Groups: 3, Stop: func() bool { left--; return left < 0 }})
			if errors.Is(err, ErrStopped) && questions < 3 {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, b, p, got.Group)
			if got.Mbps > best.Mbps || got.Bound < best.Mbps || got.Optimal != (got.Mbps == got.Bound) {
				t.Errorf("%s after %d questions: %g, bound %g, optimal %v; the best is %g", p.Name, questions, got.Mbps, got.Bound,
					got.Optimal, best.Mbps)
			}
		}
	}
}

func TestWhatCannotFitIsSaidWithItsReason(t *testing.T) {
	two := NewBandwidths(6) // two triangles
	for _, e := range [][2]int{{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}} {
		two.RaisePair(e[0], e[1], 10)
	}
	path := NewBandwidths(5)
	for h := range 4 {
		path.RaisePair(h, h+1, 10)
	}
	for _, c := range []struct {
		b    *Bandwidths
		p    *Pattern
		want string
	}{
		{two, named(t, "path", 4), "4 connected hosts, the largest connected part has 3"},
		{path, named(t, "ring", 3), "stay connected when any one of them is lost, the largest such part has 2"},
		{path, named(t, "star", 4), "1 of its nodes have at least 3 partners, only 0 hosts"},
		{NewBandwidths(3), named(t, "ring", 3), "no two hosts are connected"},
		{path, named(t, "ring", 6), "6 nodes and there are 5 hosts"},
	} {
		_, err := Select(c.b, c.p, Options{Groups: 1})
		var infeasible *InfeasibleError
		if !errors.As(err, &infeasible) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %d: %v, want %q", c.p.Name, c.p.Nodes, err, c.want)
		}
	}
}

func TestBaselinesChooseRightlyAndNeverBetterThanTheOptimum(t *testing.T) {
	rnd := rand.New(rand.NewPCG(6, 6))
	for range 40 {
		b := randomBandwidths(rnd, 9, 1, 8)
		p := randomPattern(rnd, 7)
		best, err := Select(b, p, Options{Groups: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range SelectionMethods() {
			got, err := SelectBy(method, b, p, Options{Groups: 1}, 1)
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			check(t, b, p, got.Group)
			if got.Mbps > best.Mbps || got.Bound < best.Mbps {
				t.Errorf("%s: %g with bound %g, the best is %g", method, got.Mbps, got.Bound, best.Mbps)
			}
			if method == "edge-deletion" && (got.Mbps != best.Mbps || !got.Optimal) {
				t.Errorf("edge deletion ends at %g, the best is %g", got.Mbps, best.Mbps)
			}
		}
	}
}

func TestEqualInputGivesEqualResults(t *testing.T) {
	b := regions(t)
	for _, p := range []*Pattern{named(t, "ring", 16), named(t, "mesh:4x4", 16), named(t, "tree:2", 31)} {
		first, err := Select(b, p, Options{Groups: 2})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Select(b, p, Options{Groups: 2}); err != nil || !reflect.DeepEqual(first, again) {
			t.Errorf("%s: %v, then %v (%v)", p.Name, first, again, err)
		}
	}
}

// Neither a faster pair nor other numbers for the hosts make the best choice
// worse.
func TestTheOptimumFollowsTheNetwork(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 0))
		n := rapid.IntRange(3, 14).Draw(r, "hosts")
		b := randomBandwidths(rnd, n, 1, rapid.IntRange(0, 5).Draw(r, "levels"))
		p := randomPattern(rnd, n)
		best, err := Select(b, p, Options{Groups: 1})
		if err != nil {
			r.Fatal(err)
		}
		perm, other := rnd.Perm(n), NewBandwidths(n)
		for u := range n {
			for v := range u {
				other.RaisePair(perm[u], perm[v], b.PairBandwidth(u, v))
			}
		}
		if same, err := Select(other, p, Options{Groups: 1}); err != nil || same.Mbps != best.Mbps {
			r.Fatalf("renumbered: %v (%v), before %g", same, err, best.Mbps)
		}
		other.RaisePair(0, 1, 2*other.PairBandwidth(0, 1))
		if more, err := Select(other, p, Options{Groups: 1}); err != nil || more.Mbps < best.Mbps {
			r.Fatalf("with a faster pair: %v (%v), before %g", more, err, best.Mbps)
		}
	})
}
