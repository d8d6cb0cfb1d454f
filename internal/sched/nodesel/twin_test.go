package nodesel

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/nodeseltest"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

// exhaustive is the deliberately dumb twin of Select: it tries every way to
// put the nodes on hosts and leaves off only where the value is already no
// better than the best. It returns 0 if no way exists.
func exhaustive(b *Bandwidths, p *Pattern) float64 {
	at := make([]int, 0, p.Nodes)
	used := make([]bool, b.HostCount())
	best := 0.0
	var try func(least float64)
	try = func(least float64) {
		if len(at) == p.Nodes {
			best = least
			return
		}
		for h := range b.HostCount() {
			if used[h] {
				continue
			}
			value := math.Min(least, b.mostOf(h))
			for _, e := range p.Edges {
				if max(e.A, e.B) == len(at) {
					value = math.Min(value, b.PairBandwidth(h, at[min(e.A, e.B)])/e.Weight)
				}
			}
			if value <= best {
				continue
			}
			at, used[h] = append(at, h), true
			try(value)
			at, used[h] = at[:len(at)-1], false
		}
	}
	try(math.Inf(1))
	return best
}

// check is the independent judge of an answer: every node has a host of its
// own and the value is what the slowest pair gives.
func check(t testing.TB, b *Bandwidths, p *Pattern, g Group) {
	t.Helper()
	if len(g.Hosts) != p.Nodes {
		t.Fatalf("%d hosts for %d nodes", len(g.Hosts), p.Nodes)
	}
	seen := map[int]bool{}
	for _, h := range g.Hosts {
		if h < 0 || h >= b.HostCount() || seen[h] {
			t.Fatalf("hosts %v: %d is no host, or twice", g.Hosts, h)
		}
		seen[h] = true
	}
	least := math.Inf(1)
	for _, e := range p.Edges {
		least = math.Min(least, b.PairBandwidth(g.Hosts[e.A], g.Hosts[e.B])/e.Weight)
	}
	for _, h := range g.Hosts {
		least = math.Min(least, b.mostOf(h))
	}
	if least != g.Mbps || !(least > 0) {
		t.Fatalf("the slowest pair has %g, the answer says %g", least, g.Mbps)
	}
}

// randomBandwidths is a graph in which a pair is connected with the given
// probability; with few levels many pairs are alike.
func randomBandwidths(rnd *rand.Rand, n int, density float64, levels int) *Bandwidths {
	b := NewBandwidths(n)
	for u := range n {
		for v := range u {
			if rnd.Float64() >= density {
				continue
			}
			x := 1 + 999*rnd.Float64()
			if levels > 0 {
				x = float64(1+rnd.IntN(levels)) * 10
			}
			b.RaisePair(u, v, x)
		}
	}
	return b
}

func named(t testing.TB, name string, m int) *Pattern {
	t.Helper()
	p, err := pattern.MakeNamed(name, m)
	if err != nil {
		t.Fatalf("%s of %d: %v", name, m, err)
	}
	return p
}

// smallPatterns are all patterns that fit on n hosts.
func smallPatterns(t testing.TB, n int) []*Pattern {
	var list []*Pattern
	for m := 2; m <= n; m++ {
		for _, name := range []string{"ring", "path", "all", "star", "tree:1", "tree:2", "tree:3"} {
			list = append(list, named(t, name, m))
		}
		for r := 1; r <= m; r++ {
			if m%r == 0 {
				list = append(list, named(t, fmt.Sprintf("mesh:%dx%d", r, m/r), m))
				list = append(list, named(t, fmt.Sprintf("torus:%dx%d", r, m/r), m))
			}
		}
	}
	for m := 2; m <= n; m *= 2 {
		list = append(list, named(t, "hypercube", m))
	}
	for _, name := range []string{"mesh:1x2x2", "torus:1x2x3", "mesh:2x2x2", "torus:2x2x2", "torus:1x3x3"} {
		if p := named(t, name, 0); p.Nodes <= n {
			list = append(list, p)
		}
	}
	if n >= 4 {
		list = append(list, named(t, "butterfly", 4))
	}
	return list
}

// smallNetwork has pairs by chance, or hosts behind routers; some have busy
// hosts.
func smallNetwork(t testing.TB, rnd *rand.Rand, i int) *Bandwidths {
	n := 2 + i%8
	b := randomBandwidths(rnd, n, []float64{1, 0.3, 0.5, 0.8}[i%4], []int{0, 3, 6}[i%3])
	if i%5 == 4 {
		var err error
		if b, err = randomSites(rnd, n, 1+rnd.IntN(4)).WidestBandwidths(); err != nil {
			t.Fatal(err)
		}
	}
	for i%7 == 6 && rnd.IntN(2) > 0 {
		b.CapHost(rnd.IntN(n), float64(rnd.IntN(60)))
	}
	return b
}

// randomPattern has any edges, weighted, and need not be connected.
func randomPattern(rnd *rand.Rand, n int) *Pattern {
	p := &Pattern{Name: "random", Nodes: 2 + rnd.IntN(n-1)}
	density := rnd.Float64()
	for a := range p.Nodes {
		for b := range a {
			if rnd.Float64() < density {
				p.Edges = append(p.Edges, Edge{A: b, B: a, Weight: float64(1 + rnd.IntN(3))})
			}
		}
	}
	if len(p.Edges) == 0 {
		p.Edges = []Edge{{A: 0, B: 1, Weight: 0.5}}
	}
	return p
}

func TestSelectionEqualsExhaustiveSearchOnSmallGraphs(t *testing.T) {
	const graphs = 200
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range graphs {
		b := smallNetwork(t, rnd, i)
		patterns := smallPatterns(t, b.HostCount())
		for j, p := range patterns {
			if (i+j)%4 == 0 {
				patterns = append(patterns, nodeseltest.WeightEdges(rnd, p))
			}
		}
		for range 10 {
			patterns = append(patterns, randomPattern(rnd, b.HostCount()))
		}
		for _, p := range patterns {
			compare(t, b, p, fmt.Sprintf("graph %d with %d hosts, %s of %d %v", i, b.HostCount(), p.Name, p.Nodes, p.Edges))
		}
	}
}

func compare(t *testing.T, b *Bandwidths, p *Pattern, what string) {
	t.Helper()
	want := exhaustive(b, p)
	got, err := Select(b, p, Options{Groups: 1})
	if want == 0 {
		var infeasible *InfeasibleError
		if !errors.As(err, &infeasible) {
			t.Fatalf("%s: %v, %v; no choice exists", what, got, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v; the best is %g", what, err, want)
	}
	check(t, b, p, got.Group)
	if got.Mbps != want || !got.Optimal || got.Bound != want {
		t.Fatalf("%s: %g (optimal %v, bound %g), the best is %g", what, got.Mbps, got.Optimal, got.Bound, want)
	}
}

func TestMoreHostsThanNodesAreSearchedAsExactly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 11))
	for i := range 80 {
		n := 10 + i%4
		b := randomBandwidths(rnd, n, []float64{0.25, 0.4, 0.7}[i%3], []int{0, 4}[i%2])
		for _, p := range smallPatterns(t, 7) {
			if p.Nodes >= 4 {
				compare(t, b, p, fmt.Sprintf("graph %d with %d hosts, %s of %d", i, n, p.Name, p.Nodes))
			}
		}
	}
}
