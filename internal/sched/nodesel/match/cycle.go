package match

import (
	"math/rand/v2"
	"slices"
)

// cycleFinder looks for a cycle through exactly m vertices. It decides edges:
// each is taken, struck out or open, and so is each vertex. After every
// decision it draws the conclusions (drawConclusions), which rule out most graphs
// that are too poor long before all cycles were tried.
type cycleFinder struct {
	m     int
	apex  int // joined to all, so of no guidance; -1: none
	mt    *Meter
	rnd   *rand.Rand // nil: in order
	weak  bool       // decide links between dense parts first
	found []int
}

// cycleState is one set of decisions.
type cycleState struct {
	open  *graph // edges not struck out, taken ones included
	taken *graph
	in    set   // vertices that must be on the cycle
	alive set   // vertices that may be
	mate  []int // of the end of a chain of taken edges: the other end
	size  []int // of the end of a chain: its vertices
	queue []int // vertices to look at again
}

func newCycleState(g *graph) *cycleState {
	s := &cycleState{open: newGraph(g.n), taken: newGraph(g.n), in: newSet(g.n), alive: fullSet(g.n),
		mate: identityImage(g.n), size: slices.Repeat([]int{1}, g.n)}
	s.open.copyFrom(g)
	s.queue = identityImage(g.n)
	return s
}

func (s *cycleState) cloneState() *cycleState {
	c := newCycleState(s.open)
	c.queue = c.queue[:0]
	c.taken.copyFrom(s.taken)
	copy(c.in, s.in)
	copy(c.alive, s.alive)
	copy(c.mate, s.mate)
	copy(c.size, s.size)
	return c
}

// findCycle looks for a cycle through m vertices, one of them through if that
// is not negative. It lists them in order, beginning there.
func findCycle(g *graph, m, through int, mt *Meter, rnd *rand.Rand, weak bool) (Answer, []int) {
	f := &cycleFinder{m: m, apex: through, mt: mt, rnd: rnd, weak: weak}
	s := newCycleState(g)
	if through >= 0 {
		s.in.add(through)
	}
	a := f.searchCycle(s)
	if a == Yes && through >= 0 {
		i := slices.Index(f.found, through)
		f.found = slices.Concat(f.found[i:], f.found[:i])
	}
	return a, f.found
}

// searchCycle tries an edge both ways, again and again: taken in a copy of the
// state, then struck out in this one.
func (f *cycleFinder) searchCycle(s *cycleState) Answer {
	for {
		if !f.mt.SpendSteps(1) {
			return Unknown
		}
		switch f.drawConclusions(s) {
		case Yes:
			return Yes
		case No:
			return No
		}
		u, v := f.chooseEdge(s)
		if u < 0 {
			return No
		}
		with := s.cloneState()
		if v < 0 {
			with.in.add(u)
			with.queue = append(with.queue, u)
		} else if !f.takeEdge(with, u, v) {
			s.strikeEdge(u, v)
			continue
		}
		switch f.searchCycle(with) {
		case Yes:
			return Yes
		case Unknown:
			return Unknown
		}
		if v < 0 {
			s.removeVertex(u)
		} else {
			s.strikeEdge(u, v)
		}
	}
}

// chooseEdge picks what to decide next: an edge at the end of a chain with the
// fewest ways on or, before there is any, whether the best connected vertex is
// on the cycle (then v is -1).
func (f *cycleFinder) chooseEdge(s *cycleState) (u, v int) {
	if f.weak {
		if u, v := f.weakestEdge(s); u >= 0 {
			return u, v
		}
	}
	best, bestDegree := -1, 1<<30
	for x := s.in.first(); x >= 0; x = s.in.next(x) {
		if d := s.open.vertexDegree(x); x != f.apex && s.taken.vertexDegree(x) < 2 && d < bestDegree {
			best, bestDegree = x, d
		}
	}
	if best < 0 {
		return f.startVertex(s)
	}
	return best, f.pickNeighbour(s, best)
}

// weakestEdge is the open edge whose ends have the smallest part of their
// neighbours in common: where a graph is dense parts with few links between
// them, which of the links are taken is what decides. -1: all is dense.
func (f *cycleFinder) weakestEdge(s *cycleState) (u, v int) {
	const dense = 4 // a part in so many
	u, v = -1, -1
	common, degree := 1, dense
	for a := s.alive.first(); a >= 0; a = s.alive.next(a) {
		if a == f.apex || s.taken.vertexDegree(a) > 1 {
			continue
		}
		row, of := s.open.adj[a], s.open.vertexDegree(a)
		for b := row.next(a); b >= 0; b = row.next(b) {
			if b == f.apex || s.taken.adj[a].has(b) {
				continue
			}
			c, d := row.countCommon(s.open.adj[b]), min(of, s.open.vertexDegree(b))
			if f.apex >= 0 {
				c = max(c-1, 0)
			}
			if c*degree < common*d {
				u, v, common, degree = a, b, c, d
			}
		}
	}
	return u, v
}

// startVertex picks the vertex to decide on where no chain says more.
func (f *cycleFinder) startVertex(s *cycleState) (u, v int) {
	best := -1
	for x := s.alive.first(); x >= 0; x = s.alive.next(x) {
		if !s.in.has(x) && (best < 0 || s.open.vertexDegree(x) > s.open.vertexDegree(best)) {
			best = x
		}
	}
	if best < 0 && f.apex >= 0 && s.taken.vertexDegree(f.apex) < 2 {
		return f.apex, f.pickNeighbour(s, f.apex)
	}
	return best, -1
}

// pickNeighbour chooses where a chain goes on: by chance if so asked, otherwise to the
// vertex with the fewest ways on, which is the hardest to reach later.
func (f *cycleFinder) pickNeighbour(s *cycleState, u int) int {
	best, least := -1, 1<<30
	row := s.open.adj[u]
	for v := row.first(); v >= 0; v = row.next(v) {
		if s.taken.adj[u].has(v) {
			continue
		}
		rank := s.open.vertexDegree(v) << 8
		if f.rnd != nil {
			rank = rank*f.rnd.IntN(3) + f.rnd.IntN(256)
		}
		if rank < least {
			best, least = v, rank
		}
	}
	return best
}

// takeEdge puts an edge on the cycle. It reports false if that cannot be.
func (f *cycleFinder) takeEdge(s *cycleState, u, v int) bool {
	if s.taken.adj[u].has(v) {
		return true
	}
	if !s.open.adj[u].has(v) || s.taken.vertexDegree(u) > 1 || s.taken.vertexDegree(v) > 1 {
		return false
	}
	if s.mate[u] == v && s.size[u] > 1 { // it closes a chain
		if s.size[u] != f.m {
			return false
		}
		s.taken.joinPair(u, v)
		f.found = s.cycleThrough(u)
		return true
	}
	s.taken.joinPair(u, v)
	a, b := s.mate[u], s.mate[v]
	size := s.size[u] + s.size[v]
	s.mate[a], s.mate[b], s.size[a], s.size[b] = b, a, size, size
	s.in.add(u)
	s.in.add(v)
	s.queue = append(s.queue, u, v, a, b)
	return size <= f.m
}

// strikeEdge takes an edge out.
func (s *cycleState) strikeEdge(u, v int) {
	if s.open.adj[u].has(v) {
		s.open.cutPair(u, v)
		s.queue = append(s.queue, u, v)
	}
}

// removeVertex takes a vertex out.
func (s *cycleState) removeVertex(v int) {
	s.alive.del(v)
	row := s.open.adj[v]
	for u := row.first(); u >= 0; u = row.next(u) {
		s.strikeEdge(u, v)
	}
}

// cycleThrough lists the closed chain of taken edges that u is on.
func (s *cycleState) cycleThrough(u int) []int {
	list := []int{u}
	before, at := u, s.taken.adj[u].first()
	for at != u {
		list = append(list, at)
		next := s.taken.adj[at].first()
		if next == before {
			next = s.taken.adj[at].next(next)
		}
		before, at = at, next
	}
	return list
}
