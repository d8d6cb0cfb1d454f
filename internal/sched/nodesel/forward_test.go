package nodesel

import (
	"fmt"
	"math/rand/v2"
	"testing"
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
	patterns := []*Pattern{named(t, "mesh:3x3", 9), named(t, "mesh:3x4", 12), named(t, "mesh:4x4", 16),
		named(t, "mesh:2x5", 10), named(t, "mesh:2x2x3", 12)}
	found := map[answer]int{}
	for i := range 60 {
		g := clusteredGraph(rnd, 16+i%7)
		for _, p := range patterns {
			s := newShape(p)
			e := newEmbedder(s, &target{hosts: identityImage(g.n), class: []*graph{g}}, &meter{left: 1 << 40})
			dom := e.initialDomains()
			f := newForward(e)
			if dom == nil || f == nil {
				continue
			}
			a, at := f.decideWithRestarts(dom)
			if want, _ := e.runOnce(dom, 1<<30, nil, false); a != want {
				t.Fatalf("graph %d, %s of %d: %d, the other search says %d", i, p.Name, p.Nodes, a, want)
			}
			found[a]++
			if a != yes {
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
	if found[yes] < 20 || found[no] < 20 {
		t.Errorf("too few of a kind: %v", found)
	}
}

func TestNoChoiceThatOneMoveImprovesIsLeft(t *testing.T) {
	for seed := range uint64(10) {
		b := cloudRegions(rand.New(rand.NewPCG(seed, 3)))
		p := named(t, "mesh:4x5", 20)
		s := newShape(p)
		// Time is up at once: what is returned is a first choice, improved.
		sel, err := Select(b, p, Options{Groups: 1, Stop: func() bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		for node := range sel.Hosts {
			for h := range b.HostCount() {
				hosts := append([]int(nil), sel.Hosts...)
				for other, at := range hosts {
					if at == h {
						hosts[other] = hosts[node]
					}
				}
				hosts[node] = h
				if x := choiceValue(b, s, hosts); x > sel.Mbps {
					t.Fatalf("%s: %g, with node %d on host %d it is %g", fmt.Sprint("seed ", seed), sel.Mbps, node, h, x)
				}
			}
		}
	}
}
