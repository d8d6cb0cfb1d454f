package match

import (
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/nodeseltest"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

func named(t testing.TB, name string, m int) *core.Pattern {
	t.Helper()
	p, err := pattern.MakeNamed(name, m)
	if err != nil {
		t.Fatalf("%s of %d: %v", name, m, err)
	}
	return p
}

// table has the bandwidth of each pair of n hosts.
type table struct {
	n    int
	mbps []float64
}

func makeTable(n int, mbps func(u, v int) float64) *table {
	b := &table{n: n, mbps: make([]float64, n*n)}
	for u := range n {
		for v := range u {
			x := mbps(u, v)
			b.mbps[u*n+v], b.mbps[v*n+u] = x, x
		}
	}
	return b
}

// randomTable connects a pair with the given probability, on one of five levels.
func randomTable(rnd *rand.Rand, n int, density float64) *table {
	return makeTable(n, func(int, int) float64 {
		if rnd.Float64() >= density {
			return 0
		}
		return float64(1+rnd.IntN(5)) * 10
	})
}

// clusteredTable is clusteredGraph with bandwidths: its pairs have some, the others less.
func clusteredTable(rnd *rand.Rand, n int) *table {
	g := clusteredGraph(rnd, n)
	return makeTable(n, func(u, v int) float64 {
		if g.adj[u].has(v) {
			return 500 + float64(rnd.IntN(500))
		}
		return 1 + float64(rnd.IntN(400))
	})
}

func (b *table) targetAt(s *Shape, value float64) *Target {
	return ThresholdTarget(s, identityImage(b.n), b.mbps, b.n, value)
}

// reaches reports whether a pair of hosts reaches a value.
func (b *table) reaches(u, v int, weight, value float64) bool { return b.mbps[u*b.n+v]/weight >= value }

// fitsWith is the judge of what is refuted: can the pattern be had at a value with a node, if it is not -1, on a
// given host.
func (b *table) fitsWith(p *core.Pattern, value float64, node, host, steps int) (yes, known bool) {
	return nodeseltest.Question{Hosts: b.n, Pattern: p, Steps: steps,
		Allowed: func(n, h int) bool { return n != node || h == host },
		Reaches: func(u, v int, weight float64) bool { return b.reaches(u, v, weight, value) },
	}.IsFitting()
}
