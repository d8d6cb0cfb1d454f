package nodesel

import (
	"math/rand/v2"
	"slices"
)

// leastSteps is the effort a node of the pattern that lets a search reach the
// bottom at all.
const leastSteps = 64

// match decides whether the pattern fits into a target, and how: the host of
// each node. It spends at most the given steps.
func match(s *shape, t *target, steps int, stop *meter) (answer, []int) {
	result := no
	for _, part := range t.parts(s) {
		mt := &meter{left: max(steps, leastSteps*s.m), stop: stop.over}
		a, at := s.matchPart(part, mt)
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
func (s *shape) matchPart(t *target, mt *meter) (answer, []int) {
	switch s.kind {
	case clique:
		return findClique(t.class[0], s.m, mt)
	case cycle:
		a, list := s.tryCycles(t.class[0], s.m, -1, mt)
		return a, s.along(list)
	case line:
		g := t.class[0].withApex()
		a, list := s.tryCycles(g, s.m+1, g.n-1, mt)
		if a == yes {
			list = list[1:] // the apex
		}
		return a, s.along(list)
	}
	return s.embed(t, mt)
}

// along gives the nodes of a ring or path the vertices of a list in order.
func (s *shape) along(list []int) []int {
	if list == nil {
		return nil
	}
	at := make([]int, s.m)
	node, before := s.end(), -1
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

// end is a node with the fewest neighbours: an end of a path.
func (s *shape) end() int {
	for v := range s.m {
		if s.g.deg(v) == s.least {
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
		h.join(v, g.n)
	}
	return h
}

// seed makes the choices by chance the same in every run.
const seed = 20020715

// tryCycles makes a few short tries by chance, which find a cycle where there
// are many, and then searches in order, which is the better proof.
func (s *shape) tryCycles(g *graph, m, through int, mt *meter) (answer, []int) {
	for try := range uint64(4) {
		short := &meter{left: min(mt.left/8, 4*m+40), stop: mt.over}
		a, list := findCycle(g, m, through, short, rand.New(rand.NewPCG(seed, try)))
		mt.left -= max(1, mt.left/8)
		if a != unknown || mt.stopped {
			return a, list
		}
	}
	return findCycle(g, m, through, mt, nil)
}

// embed does the same for patterns in general.
func (s *shape) embed(t *target, mt *meter) (answer, []int) {
	e := newEmbedder(s, t, mt)
	dom := e.domains()
	if dom == nil {
		return no, nil
	}
	for try := range uint64(6) {
		limit := min(mt.left/12, 30*s.m*int(1+try))
		a, at := e.run(dom, limit, rand.New(rand.NewPCG(seed, try)), try%2 == 1)
		if a != unknown || mt.stopped || mt.left < 0 {
			return a, slices.Clone(at)
		}
	}
	a, at := e.run(dom, mt.left, nil, false)
	return a, at
}
