package match

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// clusteredGraph has dense groups, with a pair missing here and there, and hosts
// between them.
func clusteredGraph(rnd *rand.Rand, n int) *graph {
	g := newGraph(n)
	for u := range n {
		for v := range u {
			density := 0.08 + 0.02*float64(n%7)
			if u/7 == v/7 && u/7 < 2 {
				density = 0.9
			}
			if rnd.Float64() < density {
				g.joinPair(u, v)
			}
		}
	}
	return g
}

func TestForwardSearchAgreesWithTheSearchHostByHost(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 14))
	patterns := []*core.Pattern{named(t, "mesh:3x3", 9), named(t, "mesh:3x4", 12), named(t, "mesh:4x4", 16),
		named(t, "mesh:2x5", 10), named(t, "mesh:2x2x3", 12)}
	found := map[Answer]int{}
	for i := range 60 {
		g := clusteredGraph(rnd, 16+i%7)
		for _, p := range patterns {
			s := NewShape(p)
			e := newEmbedder(s, &Target{hosts: identityImage(g.n), class: []*graph{g}}, &Meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil {
				continue
			}
			f.patience *= i % 2 // every second search shaves wherever it can
			a, at := f.decideWithRestarts(cloneSets(dom))
			if want, _ := e.runOnce(dom, 1<<30, nil, false); a != want {
				t.Fatalf("graph %d, %s of %d: %d, the other search says %d", i, p.Name, p.Nodes, a, want)
			}
			found[a]++
			if a != Yes {
				continue
			}
			used := newSet(g.n)
			for _, v := range at {
				if used.has(v) {
					t.Fatalf("graph %d, %s: host %d twice", i, p.Name, v)
				}
				used.add(v)
			}
			for _, edge := range p.Edges {
				if !g.adj[at[edge.A]].has(at[edge.B]) {
					t.Fatalf("graph %d, %s: %d-%d is no pair", i, p.Name, at[edge.A], at[edge.B])
				}
			}
		}
	}
	if found[Yes] < 20 || found[No] < 20 {
		t.Errorf("too few of a kind: %v", found)
	}
}

func cloneSets(sets []set) []set {
	var clones []set
	for _, s := range sets {
		clones = append(clones, slices.Clone(s))
	}
	return clones
}
