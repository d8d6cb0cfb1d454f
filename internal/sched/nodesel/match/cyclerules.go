package match

// drawConclusions draws the conclusions of what was decided until nothing follows any
// more. yes: the cycle is closed; no: there is none; unknown: it is open.
func (f *cycleFinder) drawConclusions(s *cycleState) Answer {
	for {
		if !f.applyVertexRules(s) {
			return No
		}
		if f.found != nil {
			return Yes
		}
		changed, ok := f.applyGraphRules(s)
		if !ok {
			return No
		}
		if !changed {
			return Unknown
		}
	}
}

// applyVertexRules looks at single vertices: one with fewer than two ways is out, one
// that is in and has two takes both, one that took two has no other.
func (f *cycleFinder) applyVertexRules(s *cycleState) bool {
	for len(s.queue) > 0 && f.found == nil {
		v := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		if !s.alive.has(v) {
			continue
		}
		ways, took := s.open.vertexDegree(v), s.taken.vertexDegree(v)
		switch {
		case ways < 2 && s.in.has(v):
			return false
		case ways < 2:
			s.removeVertex(v)
		case took == 2 && ways > 2:
			f.keepTakenEdges(s, v)
		case s.in.has(v) && ways == 2 && took < 2:
			for u := s.open.adj[v].first(); u >= 0; u = s.open.adj[v].next(u) {
				if !f.takeEdge(s, v, u) {
					return false
				}
				if f.found != nil {
					return true
				}
			}
		}
		if !f.keepOpen(s, v) {
			return false
		}
	}
	return f.found != nil || f.checkCounts(s)
}

// keepTakenEdges strikes out all edges of v but the taken ones.
func (f *cycleFinder) keepTakenEdges(s *cycleState, v int) {
	row := s.open.adj[v]
	for u := row.first(); u >= 0; u = row.next(u) {
		if !s.taken.adj[v].has(u) {
			s.strikeEdge(v, u)
		}
	}
}

// keepOpen strikes out the edge that would close a chain too early. A chain
// that has all m must close.
func (f *cycleFinder) keepOpen(s *cycleState, v int) bool {
	if s.taken.vertexDegree(v) != 1 || s.size[v] < 3 {
		return true
	}
	w := s.mate[v]
	if s.size[v] < f.m {
		s.strikeEdge(v, w)
		return true
	}
	return f.takeEdge(s, v, w)
}

// checkCounts compares how many vertices are in and can be in with m.
func (f *cycleFinder) checkCounts(s *cycleState) bool {
	in, alive := s.in.count(), s.alive.count()
	if in > f.m || alive < f.m {
		return false
	}
	switch {
	case alive == f.m && in < f.m:
		copy(s.in, s.alive)
		s.queueAll()
		return f.applyVertexRules(s)
	case in == f.m && alive > f.m:
		for v := s.alive.first(); v >= 0; v = s.alive.next(v) {
			if !s.in.has(v) {
				s.removeVertex(v)
			}
		}
		return f.applyVertexRules(s)
	}
	return true
}

func (s *cycleState) queueAll() {
	for v := s.alive.first(); v >= 0; v = s.alive.next(v) {
		s.queue = append(s.queue, v)
	}
}

// maxFlowVertices bounds for which graphs the flow is worth its price at every
// step.
const maxFlowVertices = 256

// applyGraphRules looks at the whole graph: the cycle lies inside one block, with all
// vertices that must be on it; and it is a choice of m edges, two a vertex.
func (f *cycleFinder) applyGraphRules(s *cycleState) (changed, ok bool) {
	keep := newSet(s.open.n)
	must := s.in.count()
	fitting := 0
	inside := newSet(s.open.n)
	for _, block := range s.open.blocksWithin(s.alive) {
		if len(block) < f.m {
			continue
		}
		clear(inside)
		for _, v := range block {
			inside.add(v)
		}
		if inside.countCommon(s.in) == must {
			keep.mergeSet(inside)
			fitting++
		}
	}
	if fitting == 0 {
		return false, false
	}
	for v := s.alive.first(); v >= 0; v = s.alive.next(v) {
		if !keep.has(v) {
			s.removeVertex(v)
			changed = true
		}
	}
	if changed {
		return true, true
	}
	if changed, ok = f.applyPathBound(s); changed || !ok {
		return changed, ok
	}
	if !f.checkChainEnds(s) {
		return false, false
	}
	return false, s.open.n > maxFlowVertices || s.open.allowsDegrees(2, 2*f.m)
}

// applyPathBound applies the bound for paths to the graph without the apex.
func (f *cycleFinder) applyPathBound(s *cycleState) (changed, ok bool) {
	if f.apex < 0 {
		return false, true
	}
	s.alive.del(f.apex)
	bound := s.open.pathBounds(s.alive)
	s.alive.add(f.apex)
	for v := s.alive.first(); v >= 0; v = s.alive.next(v) {
		if v == f.apex || bound[v] >= f.m-1 {
			continue
		}
		if s.in.has(v) {
			return false, false
		}
		s.removeVertex(v)
		changed = true
	}
	return changed, true
}

// checkChainEnds wants the ends of each chain close enough for what is left to go: the
// way round the other side has m-size+1 edges.
func (f *cycleFinder) checkChainEnds(s *cycleState) bool {
	for v := s.in.first(); v >= 0; v = s.in.next(v) {
		if s.taken.vertexDegree(v) != 1 || s.mate[v] < v {
			continue
		}
		if !f.isWithinEdges(s, v, s.mate[v], f.m-s.size[v]+1) {
			return false
		}
	}
	return true
}

// isWithinEdges reports whether w can be reached from v in so many edges that are not
// taken.
func (f *cycleFinder) isWithinEdges(s *cycleState, v, w, edges int) bool {
	seen, edge := newSet(s.open.n), newSet(s.open.n)
	seen.add(v)
	edge.add(v)
	for range edges {
		next := newSet(s.open.n)
		for u := edge.first(); u >= 0; u = edge.next(u) {
			for i, x := range s.open.adj[u] {
				if u == v {
					x &^= s.taken.adj[u][i]
				}
				next[i] |= x &^ seen[i]
			}
		}
		if next.has(w) {
			return true
		}
		if next.empty() {
			return false
		}
		seen.mergeSet(next)
		edge = next
	}
	return false
}
