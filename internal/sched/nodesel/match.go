package nodesel

import "math/rand/v2"

// leastSteps is the effort a node of the pattern that lets a search reach the
// bottom at all. Searches for patterns with squares get there with squareSteps
// in all, however large the pattern.
const (
	leastSteps  = 64
	squareSteps = 1024
)

// searchGoal says what a search expects.
type searchGoal int

const (
	either searchGoal = iota
	refute            // that the pattern does not fit: no tries by chance
)

// matchPattern decides whether the pattern fits into a target, and how: the host of
// each node. It spends at most the given steps. known, if not nil, holds what is refuted already and
// takes what is refuted here.
func matchPattern(s *shape, t *target, w searchGoal, steps int, stop *meter, known *refutedPairs) (answer, []int) {
	least := leastSteps * s.m
	if s.squares != nil {
		least = min(least, squareSteps)
	}
	result := no
	parts := t.candidateParts(s)
	if len(parts) > 1 {
		known = nil // a host may be part of several
	}
	for _, part := range parts {
		mt := &meter{left: max(steps, least), stop: stop.isOver}
		a, at := s.matchPart(part, w, mt, known)
		if a == yes {
			hosts := make([]int, s.m)
			for p, v := range at {
				hosts[p] = part.hosts[v]
			}
			return yes, hosts
		}
		if a == unknown {
			result = unknown
		}
		if stop.stopped {
			break
		}
	}
	return result, nil
}

// matchPart hands a part to the matcher for the pattern's kind. It returns the
// vertex of each node.
func (s *shape) matchPart(t *target, w searchGoal, mt *meter, known *refutedPairs) (answer, []int) {
	switch s.kind {
	case clique:
		return findClique(t.class[0], s.m, mt)
	case cycle:
		a, list := s.tryCycles(t.class[0], s.m, -1, w, mt)
		return a, s.placeAlong(list)
	case line:
		g := t.class[0].withApex()
		a, list := s.tryCycles(g, s.m+1, g.n-1, w, mt)
		if a == yes {
			list = list[1:] // the apex
		}
		return a, s.placeAlong(list)
	}
	return s.embedInto(t, w, mt, known)
}

// placeAlong gives the nodes of a ring or path the vertices of a list in order.
func (s *shape) placeAlong(list []int) []int {
	if list == nil {
		return nil
	}
	at := make([]int, s.m)
	node, before := s.endNode(), -1
	for _, v := range list {
		at[node] = v
		row := s.g.adj[node]
		next := row.first()
		if next == before || next < 0 {
			next = row.next(max(next, 0))
		}
		before, node = node, next
	}
	return at
}

// endNode is a node with the fewest neighbours: an end of a path.
func (s *shape) endNode() int {
	for v := range s.m {
		if s.g.vertexDegree(v) == s.least {
			return v
		}
	}
	return 0
}

// withApex adds a vertex that is joined to all: a path through m vertices is a
// cycle through m+1, one of them the apex.
func (g *graph) withApex() *graph {
	h := newGraph(g.n + 1)
	for v := range g.adj {
		copy(h.adj[v], g.adj[v])
		h.joinPair(v, g.n)
	}
	return h
}

// seed makes the choices by chance the same in every run.
const seed = 20020715

// tryCycles spends half of the effort on tries by chance, each longer than the
// one before, which find a cycle where there are many, and the rest on two
// searches in order, which are the better proofs: along chains, and over the
// links between dense parts.
func (s *shape) tryCycles(g *graph, m, through int, w searchGoal, mt *meter) (answer, []int) {
	limit, half := 4*m+40, mt.left/2
	for try := uint64(0); w == either && mt.left-limit > half; try++ {
		short := &meter{left: limit, stop: mt.isOver}
		a, list := findCycle(g, m, through, short, rand.New(rand.NewPCG(seed, try)), false)
		mt.left -= limit - max(0, short.left)
		if a != unknown || mt.stopped {
			return a, list
		}
		limit += limit / 4
	}
	first := &meter{left: mt.left / 2, stop: mt.isOver}
	if a, list := findCycle(g, m, through, first, nil, false); a != unknown || mt.stopped {
		return a, list
	}
	mt.left -= mt.left / 2
	return findCycle(g, m, through, mt, nil, true)
}

// embedInto does the same for patterns in general, with a few short tries only: a
// search in order finds most of what there is, and the proof is by far the
// longest part. Before, there is a walk if the pattern is for it. Whether the graph
// is shows: after a walk that did not decide the next gets a smaller part of the effort.
func (s *shape) embedInto(t *target, w searchGoal, mt *meter, known *refutedPairs) (answer, []int) {
	e := newEmbedder(s, t, mt)
	dom := e.initialDomains()
	if dom == nil || !known.leaveOut(t, dom) {
		return no, nil
	}
	if s.route != nil {
		a, at := e.walkDomains(dom, &meter{left: mt.left >> s.shy, stop: mt.isOver})
		if a != unknown || mt.stopped {
			s.shy = max(0, s.shy-1)
			return a, at
		}
		s.shy++
	}
	if f := newForward(e); f != nil {
		a, at := f.decideWithRestarts(dom)
		if a == unknown {
			known.keepFrom(t, dom)
		}
		return a, at
	}
	return e.decideDomains(dom, w)
}

// decideDomains is the search over domains: some tries by chance, then in order.
func (e *embedder) decideDomains(dom []set, w searchGoal) (answer, []int) {
	s, mt := e.s, e.mt
	for try := uint64(0); try < 6 && w == either; try++ {
		limit := min(mt.left/12, 30*s.m*int(1+try))
		a, at := e.runOnce(dom, limit, rand.New(rand.NewPCG(seed, try)), try%2 == 1)
		if a != unknown || mt.stopped {
			return a, at
		}
	}
	return e.runOnce(dom, mt.left, nil, false)
}
