package match

import (
	"math/bits"
	"slices"
)

// A node of a mesh, torus, hypercube or butterfly has neighbours that have
// further neighbours in common: squares. What lies around a host must hold the
// squares that lie around some node, which sparse graphs by chance do not; it
// rules patterns out long before degrees do.

// surround is what the neighbours of a node have to do with each other, from
// the first of them on.
type surround struct {
	squares []uint64 // by place: earlier ones with which it has another neighbour in common
	joined  []uint64 // by place: earlier ones that it communicates with
}

// maxAround is up to how many neighbours are looked at together.
const maxAround = 16

// listSurroundings lists what is around the nodes, from each of their neighbours,
// without repetition. nil: some neighbour has nothing to do with the others,
// so that every host can be one.
func (s *Shape) listSurroundings() []surround {
	var list []surround
	s.circle = make([][]int, s.m)
	for p := range s.m {
		near := setMembers(s.g.adj[p])
		if len(near) > maxAround {
			return nil
		}
		for _, first := range near {
			a, order, tied := s.describeAround(near, first)
			if !tied {
				return nil
			}
			s.circle[p] = order
			if !slices.ContainsFunc(list, a.isEqual) {
				list = append(list, a)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b surround) int { return len(a.squares) - len(b.squares) })
	return list
}

func (a surround) isEqual(b surround) bool {
	return slices.Equal(a.squares, b.squares) && slices.Equal(a.joined, b.joined)
}

// describeAround describes the neighbours of a node from one of them on, those that
// have most to do with earlier ones first. tied: the first has something to do
// with another.
func (s *Shape) describeAround(near []int, first int) (a surround, order []int, tied bool) {
	order = []int{first}
	left := slices.DeleteFunc(slices.Clone(near), func(q int) bool { return q == first })
	a.squares, a.joined = []uint64{0}, []uint64{0}
	for len(left) > 0 {
		best, bestTies := 0, -1
		var squares, joined uint64
		for i, q := range left {
			sq, jo := s.tiesTo(order, q)
			if n := bits.OnesCount64(sq) + bits.OnesCount64(jo); n > bestTies {
				best, bestTies, squares, joined = i, n, sq, jo
			}
		}
		tied = tied || (squares|joined)&1 != 0
		order = append(order, left[best])
		a.squares, a.joined = append(a.squares, squares), append(a.joined, joined)
		left = slices.Delete(left, best, best+1)
	}
	return a, order, tied
}

// tiesTo says which of some neighbours of a node another has something to do with.
func (s *Shape) tiesTo(order []int, q int) (squares, joined uint64) {
	for i, o := range order {
		if s.g.adj[o].countCommon(s.g.adj[q]) > 1 {
			squares |= 1 << i
		}
		if s.g.adj[o].has(q) {
			joined |= 1 << i
		}
	}
	return squares, joined
}

// tooDense is the mean number of common neighbours of two hosts from which on
// squares are everywhere.
const tooDense = 2

// pruneSquares leaves out the pairs around which the squares of no pair of the
// pattern are.
func (t *Target) pruneSquares(s *Shape) *Target {
	if s.squares == nil {
		return t
	}
	g := newGraph(t.hostCount())
	g.copyFrom(t.class[0])
	if !g.pruneEdges(s.squares, s.least) {
		return t
	}
	p := &Target{hosts: t.hosts, class: []*graph{g}}
	for _, harder := range t.class[1:] {
		h := newGraph(g.n)
		h.copyFrom(harder)
		for v := range h.adj {
			h.adj[v].keepCommon(g.adj[v])
		}
		p.class = append(p.class, h)
	}
	return p
}

// pruneEdges takes edges out until each has one of the surroundings at both of its
// ends, and vertices with too few neighbours. It reports whether any went.
func (g *graph) pruneEdges(list []surround, least int) bool {
	f := &squareFinder{g: g}
	any := false
	for {
		left := g.coreOf(least)
		degrees := 0
		for v := range g.adj {
			if !left.has(v) {
				clear(g.adj[v])
				any = true
				continue
			}
			g.adj[v].keepCommon(left)
			degrees += g.vertexDegree(v)
		}
		if n := left.count(); n == 0 || degrees/n*(degrees/n) > tooDense*n {
			return any
		}
		cut := f.pruneOnce(list, left)
		any = any || cut > 0
		if cut <= degrees/littleMore {
			return any
		}
	}
}

// littleMore is the part of the edges from which on another round is worth its
// price.
const littleMore = 100

type squareFinder struct {
	g      *graph
	twice  *graph // pairs with two common neighbours
	places []set  // by depth
	chosen []int
	steps  int
}

// pruneOnce looks at every edge once, from both ends. It tells how many went.
func (f *squareFinder) pruneOnce(list []surround, left set) int {
	g := f.g
	f.twice = newGraph(g.n)
	inside := setMembers(left)
	for i, u := range inside {
		for _, v := range inside[:i] {
			if g.adj[u].countCommon(g.adj[v]) > 1 {
				f.twice.joinPair(u, v)
			}
		}
	}
	cut := 0
	for _, v := range inside {
		for u := g.adj[v].first(); u >= 0; u = g.adj[v].next(u) {
			if !f.isSurrounded(list, v, u) {
				g.cutPair(u, v)
				cut++
			}
		}
	}
	return cut
}

// maxLook is how many steps a look around a pair takes at most; what takes
// longer is taken to be there.
const maxLook = 500

// isSurrounded reports whether one of the surroundings is around v, with u first.
func (f *squareFinder) isSurrounded(list []surround, v, u int) bool {
	for _, a := range list {
		f.chosen, f.steps = append(f.chosen[:0], u), maxLook
		if f.extendSurrounding(a, v) {
			return true
		}
	}
	return false
}

func (f *squareFinder) extendSurrounding(a surround, v int) bool {
	k := len(f.chosen)
	if k == len(a.squares) {
		return true
	}
	if f.steps--; f.steps < 0 {
		return true
	}
	for len(f.places) <= k {
		f.places = append(f.places, newSet(f.g.n))
	}
	place := f.places[k]
	copy(place, f.g.adj[v])
	for i, w := range f.chosen {
		place.del(w)
		if a.squares[k]>>i&1 != 0 {
			place.keepCommon(f.twice.adj[w])
		}
		if a.joined[k]>>i&1 != 0 {
			place.keepCommon(f.g.adj[w])
		}
	}
	for w := place.first(); w >= 0; w = place.next(w) {
		f.chosen = append(f.chosen, w)
		if f.extendSurrounding(a, v) {
			return true
		}
		f.chosen = f.chosen[:k]
	}
	return false
}

func setMembers(s set) []int {
	var list []int
	for v := s.first(); v >= 0; v = s.next(v) {
		list = append(list, v)
	}
	return list
}
