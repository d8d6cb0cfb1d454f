package nodesel

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
)

// The greedy choice is tried from up to greedyStarts hosts, as many as fit into
// greedySteps looks at a host for a node.
const (
	greedyStarts = 16
	greedySteps  = 300_000
)

// chooseGreedily finds a first choice: node by node, each goes to the host that is
// best connected to the hosts of its neighbours.
func (q *search) chooseGreedily() {
	starts := q.startHosts()
	order := q.s.ConnectedOrder()
	tries := min(greedyStarts, len(starts), 1+greedySteps/(q.p.Nodes*len(q.allowed)))
	for _, h := range starts[:tries] {
		if q.mt.IsOver() && q.best != nil {
			return
		}
		if hosts := growChoice(q.b, q.s, order, q.allowed, h); hosts != nil {
			q.keepBest(hosts)
		}
	}
}

// startHosts sorts hosts by the best pair they are part of.
func (q *search) startHosts() []int {
	best := make([]float64, q.b.n)
	for _, u := range q.allowed {
		best[u] = slices.Max(q.b.mbps[u*q.b.n : (u+1)*q.b.n])
	}
	hosts := slices.Clone(q.allowed)
	slices.SortStableFunc(hosts, func(u, v int) int {
		switch {
		case best[u] > best[v]:
			return -1
		case best[u] < best[v]:
			return 1
		}
		return 0
	})
	return hosts
}

// growChoice places the nodes in order, the first on a given host. nil: it came to
// an end before all had one.
func growChoice(b *Bandwidths, s *match.Shape, order, allowed []int, first int) []int {
	hosts := slices.Repeat([]int{-1}, len(order))
	used := make([]bool, b.n)
	hosts[order[0]], used[first] = first, true
	for _, p := range order[1:] {
		best, bestValue := -1, 0.0
		for _, h := range allowed {
			if used[h] {
				continue
			}
			if v := nodeValue(b, s, hosts, p, h); best < 0 || v > bestValue {
				best, bestValue = h, v
			}
		}
		if best < 0 || bestValue == 0 {
			return nil
		}
		hosts[p], used[best] = best, true
	}
	return hosts
}

// nodeValue is what a node would get on a host from the neighbours that are
// placed already; without any, the host's first connection counts.
func nodeValue(b *Bandwidths, s *match.Shape, hosts []int, p, h int) float64 {
	least, placed := b.mostOf(h), false
	for q := s.NextPeer(p, -1); q >= 0; q = s.NextPeer(p, q) {
		if hosts[q] < 0 {
			continue
		}
		placed = true
		least = math.Min(least, b.PairBandwidth(h, hosts[q])/s.PairWeight(p, q))
	}
	if !placed {
		return math.Min(least, 1e-300)
	}
	return least
}
