package match

import "math/rand/v2"

// leastSteps is the effort a node of the pattern that lets a search reach the
// bottom at all. Searches for patterns with squares get there with squareSteps
// in all, however large the pattern.
const (
	leastSteps  = 64
	squareSteps = 1024
)

// SearchGoal says what a search expects.
type SearchGoal int

const (
	Either SearchGoal = iota
	Refute            // that the pattern does not fit: no tries by chance
)

// FindPlacement decides whether the pattern fits into a target, and how: the host of
// each node. It spends at most the given steps. known, if not nil, holds what is refuted already and
// takes what is refuted here.
func FindPlacement(s *Shape, t *Target, w SearchGoal, steps int, stop *Meter, known *RefutedPairs) (Answer, []int) {
	least := leastSteps * s.m
	if s.squares != nil {
		least = min(least, squareSteps)
	}
	result := No
	parts := t.candidateParts(s)
	if len(parts) > 1 {
		known = nil // a host may be part of several
	}
	for _, part := range parts {
		mt := &Meter{left: max(steps, least), stop: stop.IsOver}
		a, at := s.matchPart(part, w, mt, known)
		if a == Yes {
			return Yes, part.hostsAt(at)
		}
		if a == Unknown {
			result = Unknown
		}
		if stop.stopped {
			break
		}
	}
	return result, nil
}

// matchPart hands a part to the matcher for the pattern's kind. It returns the
// vertex of each node.
func (s *Shape) matchPart(t *Target, w SearchGoal, mt *Meter, known *RefutedPairs) (Answer, []int) {
	switch s.kind {
	case clique:
		return findClique(t.class[0], s.m, mt)
	case cycle:
		a, list := s.tryCycles(t.class[0], s.m, -1, w, mt)
		return a, s.placeAlong(list)
	case line:
		g := t.class[0].withApex()
		a, list := s.tryCycles(g, s.m+1, g.n-1, w, mt)
		if a == Yes {
			list = list[1:] // the apex
		}
		return a, s.placeAlong(list)
	}
	return s.embedInto(t, w, mt, known)
}

// placeAlong gives the nodes of a ring or path the vertices of a list in order.
func (s *Shape) placeAlong(list []int) []int {
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
func (s *Shape) endNode() int {
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
func (s *Shape) tryCycles(g *graph, m, through int, w SearchGoal, mt *Meter) (Answer, []int) {
	limit, half := 4*m+40, mt.left/2
	for try := uint64(0); w == Either && mt.left-limit > half; try++ {
		short := &Meter{left: limit, stop: mt.IsOver}
		a, list := findCycle(g, m, through, short, rand.New(rand.NewPCG(seed, try)), false)
		mt.left -= limit - max(0, short.left)
		if a != Unknown || mt.stopped {
			return a, list
		}
		limit += limit / 4
	}
	first := &Meter{left: mt.left / 2, stop: mt.IsOver}
	if a, list := findCycle(g, m, through, first, nil, false); a != Unknown || mt.stopped {
		return a, list
	}
	mt.left -= mt.left / 2
	return findCycle(g, m, through, mt, nil, true)
}

// embedInto does the same for patterns in general, with a few short tries only: a
// search in order finds most of what there is, and the proof is by far the
// longest part. Before, there is a walk if the pattern is for it. Whether the graph
// is shows: after a walk that did not decide the next gets a smaller part of the effort.
func (s *Shape) embedInto(t *Target, w SearchGoal, mt *Meter, known *RefutedPairs) (Answer, []int) {
	e := newEmbedder(s, t, mt)
	dom := e.initialDomains()
	if dom == nil || !known.leaveOut(t, dom) {
		return No, nil
	}
	if s.route != nil {
		a, at := e.walkDomains(dom, &Meter{left: mt.left >> s.shy, stop: mt.IsOver})
		if a != Unknown || mt.stopped {
			s.shy = max(0, s.shy-1)
			return a, at
		}
		s.shy++
	}
	if f := newForward(e); f != nil {
		a, at := f.decideWithRestarts(dom)
		if a == Unknown {
			known.keepFrom(t, dom)
		}
		return a, at
	}
	return e.decideDomains(dom, w)
}

// decideDomains is the search over domains: some tries by chance, then in order.
func (e *embedder) decideDomains(dom []set, w SearchGoal) (Answer, []int) {
	s, mt := e.s, e.mt
	for try := uint64(0); try < 6 && w == Either; try++ {
		limit := min(mt.left/12, 30*s.m*int(1+try))
		a, at := e.runOnce(dom, limit, rand.New(rand.NewPCG(seed, try)), try%2 == 1)
		if a != Unknown || mt.stopped {
			return a, at
		}
	}
	return e.runOnce(dom, mt.left, nil, false)
}
