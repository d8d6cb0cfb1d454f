package match

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/nodeseltest"
)

func TestWalksAndTheSearchOverDomainsAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(14, 14))
	fits := map[Answer]int{}
	for _, c := range []struct {
		name string
		m    int
	}{{"mesh:3x3", 9}, {"mesh:2x3", 6}, {"mesh:2x2x3", 12}, {"torus:3x3", 9}, {"torus:3x4", 12}, {"hypercube", 8},
		{"hypercube", 16}, {"butterfly", 12}} {
		for i := range 60 {
			p := named(t, c.name, c.m)
			if i%3 == 0 {
				p = nodeseltest.WeightEdges(rnd, p)
			}
			s := NewShape(p)
			if s.route == nil {
				t.Fatalf("no walk for %s of %d", c.name, c.m)
			}
			what := fmt.Sprintf("%s of %d, graph %d", c.name, c.m, i)
			b := randomTable(rnd, c.m+rnd.IntN(12), 0.2+0.5*rnd.Float64())
			e := newEmbedder(s, b.targetAt(s, 10), &Meter{left: 1 << 40})
			dom := e.initialDomains()
			if dom == nil {
				continue
			}
			a, at := e.walkDomains(dom, &Meter{left: 1 << 40})
			if other, _ := e.runOnce(dom, 1<<40, nil, false); a != other {
				t.Fatalf("%s: the walk says %v, the search over domains %v", what, a, other)
			}
			fits[a]++
			if a != Yes {
				continue
			}
			for _, pair := range p.Edges {
				if !b.reaches(at[pair.A], at[pair.B], pair.Weight, 10) {
					t.Errorf("%s: %v has less between %d and %d", what, at, pair.A, pair.B)
				}
			}
		}
	}
	if fits[Yes] < 50 || fits[No] < 50 {
		t.Errorf("too few of a kind: %v", fits)
	}
}

// One placement of each class of equal ones is left: symmetry divides their number
// by that of the symmetries.
func TestAWalkLooksAtOneOfEqualPlacements(t *testing.T) {
	for _, c := range []struct {
		name string
		m    int
	}{{"mesh:2x3", 6}, {"torus:3x3", 9}, {"hypercube", 8}} {
		s := NewShape(named(t, c.name, c.m))
		at, count := make([]int, s.m), 0
		used := newSet(s.m)
		var place func(i int)
		place = func(i int) { // the pattern on itself: as many ways as symmetries
			if i == s.m {
				count++
				return
			}
			for v := range s.m {
				good := !used.has(v)
				for j, q := range s.route.nodes[:i] {
					good = good && (s.class[s.route.nodes[i]][q] < 0 || s.g.adj[v].has(at[j]))
				}
				for _, j := range s.route.after[i] {
					good = good && v > at[j]
				}
				if good {
					at[i] = v
					used.add(v)
					place(i + 1)
					used.del(v)
				}
			}
		}
		place(0)
		if count != 1 {
			t.Errorf("%s of %d: %d of its %d placements on itself are left", c.name, c.m, count, 1+len(s.syms))
		}
	}
}
