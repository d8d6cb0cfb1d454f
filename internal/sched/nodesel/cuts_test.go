package nodesel

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

func TestLeastCutsEqualThoseOfAllParts(t *testing.T) {
	for _, p := range []*Pattern{
		named(t, "mesh:3x4", 12), named(t, "mesh:2x6", 12), named(t, "mesh:2x2x3", 12),
		named(t, "torus:3x4", 12), named(t, "hypercube", 8), named(t, "butterfly", 12),
	} {
		s := newShape(p)
		want := make([]int, s.m+1)
		for k := range want {
			want[k] = len(p.Edges)
		}
		for part := range uint64(1) << s.m {
			cut := 0
			for _, e := range p.Edges {
				cut += int((part>>e.A ^ part>>e.B) & 1)
			}
			k := bits.OnesCount64(part)
			want[k] = min(want[k], cut)
		}
		got := s.leastCuts()
		if got == nil {
			t.Fatalf("%s of %d: not known", p.Name, p.Nodes)
		}
		for k := range want {
			if got[k] != want[k] {
				t.Errorf("%s of %d: %d nodes are cut off by %d edges, at least %d", p.Name, p.Nodes, k, got[k], want[k])
			}
		}
	}
}

// Two dense halves with few pairs between them: whether a mesh fits is a question of
// which pairs those are.
func TestMeshesAcrossAThinCutAreProven(t *testing.T) {
	fitted := 0
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 8))
		between := 2 + rnd.IntN(5)
		b := pairwise(16, func(u, v int) float64 {
			if (u < 8) == (v < 8) && rnd.Float64() < 0.85 {
				return 500 + 500*rnd.Float64()
			}
			return rnd.Float64()
		})
		for range between {
			b.RaisePair(rnd.IntN(8), 8+rnd.IntN(8), 400+100*rnd.Float64())
		}
		p := named(t, "mesh:3x4", 12)
		sel, err := Select(b, p, Options{Groups: 1})
		if err != nil || !sel.Optimal {
			t.Fatalf("seed %d: %+v, %v", seed, sel, err)
		}
		check(t, b, p, sel.Group)
		if sel.Mbps >= 400 {
			fitted++
		}
		if yes, known := fits(b, p, sel.Mbps*(1+1e-12), 5_000); known && yes {
			t.Errorf("seed %d: more than %g can be had", seed, sel.Mbps)
		}
	}
	if fitted == 0 || fitted == 40 {
		t.Errorf("%d of 40 fit across the cut: all networks are alike", fitted)
	}
}
