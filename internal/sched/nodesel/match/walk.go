package match

import (
	"math/bits"
	"slices"
)

// A walk looks for a pattern in one order of its nodes, which is worked out once:
// the next node is the one with the most neighbours before it, so that squares
// close as soon as they can. It draws no conclusions but those of the earlier
// nodes, so that a step takes nanoseconds where the search over domains takes
// microseconds. Where a pattern closes squares everywhere (hypercubes, meshes,
// tori, butterflies) and the graph has few, so little is left after two or three
// of them that drawing more conclusions does not pay.
//
// Of the placements that symmetry makes equal it looks at one: a node's host
// comes before those of all nodes that a symmetry which leaves the nodes before
// it alone exchanges it with. Any placement can be renumbered so that this holds,
// node by node: later symmetries do not touch what earlier ones fixed.

// route is the order of a walk.
type route struct {
	nodes []int
	after [][]int // by place: earlier places whose hosts must come before
}

// planRoute orders the nodes.
func (s *Shape) planRoute() *route {
	r := &route{}
	placed := newSet(s.m)
	for len(r.nodes) < s.m {
		best, bestRank := -1, [3]int{}
		for p := range s.m {
			if placed.has(p) {
				continue
			}
			rank := [3]int{s.g.adj[p].countCommon(placed), s.countSharing(p, placed), s.g.vertexDegree(p)}
			if best < 0 || slices.Compare(rank[:], bestRank[:]) > 0 {
				best, bestRank = p, rank
			}
		}
		r.nodes = append(r.nodes, best)
		placed.add(best)
	}
	r.orderEqual(s)
	return r
}

// countSharing is how many of some nodes have neighbours in common with p.
func (s *Shape) countSharing(p int, some set) int {
	n := 0
	for q := some.first(); q >= 0; q = some.next(q) {
		if s.g.adj[p].countCommon(s.g.adj[q]) > 0 {
			n++
		}
	}
	return n
}

// orderEqual works out which hosts must come before others.
func (r *route) orderEqual(s *Shape) {
	place := make([]int, s.m)
	for i, p := range r.nodes {
		place[p] = i
	}
	r.after = make([][]int, s.m)
	syms := identityImage(len(s.syms))
	for i, p := range r.nodes {
		for _, q := range s.orbitOf(syms, p)[1:] {
			r.after[place[q]] = append(r.after[place[q]], i)
		}
		syms = slices.DeleteFunc(syms, func(k int) bool { return s.syms[k][p] != p })
	}
}

// walker is a walk through one target.
type walker struct {
	m       int
	links   [][]link // by place: what earlier places allow
	dom     []set    // by place
	options []set    // by place: what is left of them
	at      []int    // by place
	taken   set
	mt      *Meter
	since   int // looks since the meter was told
}

// link is what the host of an earlier place allows: the row of it.
type link struct {
	place int
	rows  []set
}

// looksPerStep is how many looks of a walk cost about as much as a step of the
// search over domains.
const looksPerStep = 256

// walkDomains searches once from the filtered domains. no is a proof.
func (e *embedder) walkDomains(dom []set, mt *Meter) (Answer, []int) {
	r := e.s.route
	w := &walker{m: e.s.m, links: make([][]link, e.s.m), dom: make([]set, e.s.m), at: make([]int, e.s.m),
		taken: newSet(e.t.hostCount()), mt: mt}
	later := e.t.class[0].laterVertices()
	for i, p := range r.nodes {
		w.dom[i] = dom[p]
		w.options = append(w.options, newSet(e.t.hostCount()))
		for j, q := range r.nodes[:i] {
			if k := e.relOf[p][q]; k >= 0 {
				w.links[i] = append(w.links[i], link{j, e.rel[k].rows})
			}
		}
		for _, j := range r.after[i] {
			w.links[i] = append(w.links[i], link{j, later})
		}
	}
	a := w.placeFrom(0)
	if a != Yes {
		return a, nil
	}
	at := make([]int, w.m)
	for i, p := range r.nodes {
		at[p] = w.at[i]
	}
	return Yes, at
}

// laterVertices has for each vertex those after it when vertices are taken away, the one
// with the fewest neighbours left first: what is after a vertex holds few of its
// neighbours.
func (g *graph) laterVertices() []set {
	degree := make([]int, g.n)
	for v := range degree {
		degree[v] = g.vertexDegree(v)
	}
	left, rows := fullSet(g.n), newGraph(g.n).adj
	for range g.n {
		least := -1
		for v := left.first(); v >= 0; v = left.next(v) {
			if least < 0 || degree[v] < degree[least] {
				least = v
			}
		}
		left.del(least)
		copy(rows[least], left)
		for u := g.adj[least].first(); u >= 0; u = g.adj[least].next(u) {
			degree[u]--
		}
	}
	return rows
}

// placeFrom places the nodes from the i-th place on.
func (w *walker) placeFrom(i int) Answer {
	if i == w.m {
		return Yes
	}
	if w.since++; w.since == looksPerStep {
		w.since = 0
		if !w.mt.SpendSteps(1) {
			return Unknown
		}
	}
	options := w.freeOptions(i)
	for k, word := range options {
		for ; word != 0; word &= word - 1 {
			v := k<<6 + bits.TrailingZeros64(word)
			w.at[i] = v
			w.taken.add(v)
			a := w.placeFrom(i + 1)
			w.taken.del(v)
			if a != No {
				return a
			}
		}
	}
	return No
}

// freeOptions finds the hosts that are left for the i-th place.
func (w *walker) freeOptions(i int) set {
	options := w.options[i]
	for k, word := range w.dom[i][:len(options)] {
		options[k] = word &^ w.taken[k]
	}
	for _, l := range w.links[i] {
		row := l.rows[w.at[l.place]]
		for k := range row[:len(options)] {
			options[k] &= row[k]
		}
	}
	return options
}
