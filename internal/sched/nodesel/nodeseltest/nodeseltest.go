// Package nodeseltest is for the tests of nodesel and match: a judge of their answers that shares no code with them.
package nodeseltest

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// WeightEdges is the pattern with other weights.
func WeightEdges(rnd *rand.Rand, p *core.Pattern) *core.Pattern {
	w := &core.Pattern{Name: p.Name + ", weighted", Nodes: p.Nodes}
	for _, e := range p.Edges {
		w.Edges = append(w.Edges, core.Edge{A: e.A, B: e.B, Weight: float64(1 + rnd.IntN(3))})
	}
	return w
}

// Question is whether a pattern fits on hosts, of which there are at most 64.
type Question struct {
	Hosts   int
	Pattern *core.Pattern
	Allowed func(node, host int) bool           // may the node be there
	Reaches func(u, v int, weight float64) bool // is the pair of hosts fast enough
	Steps   int                                 // it is given up when there are none left
}

// IsFitting answers by another exact method, which shares no code with the matchers: it
// puts the nodes on hosts one after the other and looks one step ahead, at
// which hosts are left for each of the others. It knows neither cores nor
// blocks, squares, flows or symmetry. known: it was not given up.
func (q Question) IsFitting() (yes, known bool) {
	m := &plainMatcher{q: q, at: make([]int, q.Pattern.Nodes), steps: q.Steps}
	left := make([]uint64, q.Pattern.Nodes)
	for node := range left {
		m.at[node] = -1
		for h := range q.Hosts {
			if q.Allowed(node, h) {
				left[node] |= 1 << h
			}
		}
	}
	yes = m.placeRest(left)
	return yes, yes || m.steps >= 0
}

type plainMatcher struct {
	q     Question
	at    []int
	steps int
}

func (m *plainMatcher) placeRest(left []uint64) bool {
	next := -1
	for node, hosts := range left {
		if m.at[node] < 0 && (next < 0 || bits.OnesCount64(hosts) < bits.OnesCount64(left[next])) {
			next = node
		}
	}
	if next < 0 {
		return true
	}
	for hosts := left[next]; hosts != 0; hosts &= hosts - 1 {
		if m.steps--; m.steps < 0 {
			return false
		}
		h := bits.TrailingZeros64(hosts)
		m.at[next] = h
		if after := m.leftAfter(left, next, h); after != nil && m.placeRest(after) {
			return true
		}
		m.at[next] = -1
	}
	return false
}

// leftAfter is which hosts are left when a node is on one; nil: none for some node.
func (m *plainMatcher) leftAfter(left []uint64, node, host int) []uint64 {
	after := slices.Clone(left)
	for other := range after {
		after[other] &^= 1 << host
	}
	for _, e := range m.q.Pattern.Edges {
		other := e.B
		switch node {
		case e.A:
		case e.B:
			other = e.A
		default:
			continue
		}
		for hosts := after[other]; hosts != 0; hosts &= hosts - 1 {
			if h := bits.TrailingZeros64(hosts); !m.q.Reaches(h, host, e.Weight) {
				after[other] &^= 1 << h
			}
		}
	}
	for other, hosts := range after {
		if other != node && m.at[other] < 0 && hosts == 0 {
			return nil
		}
	}
	return after
}
