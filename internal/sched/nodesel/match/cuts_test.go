package match

import (
	"math/bits"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func TestLeastCutsEqualThoseOfAllParts(t *testing.T) {
	for _, p := range []*core.Pattern{
		named(t, "mesh:3x4", 12), named(t, "mesh:2x6", 12), named(t, "mesh:2x2x3", 12),
		named(t, "torus:3x4", 12), named(t, "hypercube", 8), named(t, "butterfly", 12),
	} {
		s := NewShape(p)
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
