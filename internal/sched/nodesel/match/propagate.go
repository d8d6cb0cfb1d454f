package match

import "slices"

// assignHost sends a node to a host and narrows the domains of the others. It
// reports false if one runs empty.
func (e *embedder) assignHost(f *frame, p, v int) bool {
	f.at[p] = v
	clear(f.dom[p])
	f.dom[p].add(v)
	for q := range f.dom {
		if f.at[q] >= 0 {
			continue
		}
		changed := f.dom[q].has(v)
		f.dom[q].del(v)
		if r := e.relOf[p][q]; r >= 0 && f.dom[q].keepCommon(e.rel[r].rows[v]) {
			changed = true
		}
		if changed {
			f.revise[q] = true
			if f.dom[q].empty() {
				return false
			}
		}
	}
	return true
}

// supportDepth is down to which depth of the search the domains are kept
// consistent with each other; below, only with the decisions.
const supportDepth = 4

// propagateDomains draws the conclusions of the domains: nodes with one host go
// there, hosts without support leave, and there must be hosts for all.
func (e *embedder) propagateDomains(f *frame, depth int) bool {
	for {
		if !e.settleSingles(f) || !e.satisfiesHall(f) {
			return false
		}
		if depth > supportDepth || !e.removeUnsupported(f) {
			break
		}
	}
	for q := range f.dom {
		if f.dom[q].empty() {
			return false
		}
	}
	return true
}

// settleSingles sends nodes with a single host there.
func (e *embedder) settleSingles(f *frame) bool {
	for again := true; again; {
		again = false
		for p := range f.dom {
			if f.at[p] >= 0 {
				continue
			}
			switch f.dom[p].count() {
			case 0:
				return false
			case 1:
				if !e.assignHost(f, p, f.dom[p].first()) {
					return false
				}
				again = true
			}
		}
	}
	return true
}

// satisfiesHall applies Hall's condition to the domains in the order of their size:
// k nodes need k hosts between them.
func (e *embedder) satisfiesHall(f *frame) bool {
	open := e.open[:0]
	for p := range f.dom {
		if f.at[p] < 0 {
			open = append(open, f.dom[p].count()<<16|p)
		}
	}
	slices.Sort(open)
	e.open = open
	hosts := e.scratch
	clear(hosts)
	for i, x := range open {
		hosts.mergeSet(f.dom[x&(1<<16-1)])
		if hosts.count() < i+1 {
			return false
		}
	}
	return true
}

// removeUnsupported takes hosts out of domains where a related node has nowhere to go.
// It reports whether any went.
func (e *embedder) removeUnsupported(f *frame) bool {
	changed := false
	for q := e.nextRevision(f); q >= 0; q = e.nextRevision(f) {
		f.revise[q] = false
		for r := range e.rel {
			if e.relates[q].has(r) && !e.isCrowded(f, q, r) && e.narrowRelated(f, q, r) {
				changed = true
			}
		}
	}
	return changed
}

// nextRevision is the node with the smallest domain among those whose domain
// has changed, or -1: small ones say the most.
func (e *embedder) nextRevision(f *frame) int {
	best, size := -1, 0
	for q := range f.dom {
		if !f.revise[q] {
			continue
		}
		if n := f.dom[q].count(); best < 0 || n < size {
			best, size = q, n
		}
	}
	return best
}

// isCrowded reports whether a domain is so large that hardly any host can lack
// support from it: even the one with the fewest partners would have some
// there, if they were spread evenly.
func (e *embedder) isCrowded(f *frame, q, r int) bool {
	const some = 2
	return f.dom[q].count()*e.rel[r].least > some*e.t.hostCount()
}

// narrowRelated leaves in the domains of the nodes that have relation r with q only
// what some host of q supports.
func (e *embedder) narrowRelated(f *frame, q, r int) bool {
	supported := e.scratch
	clear(supported)
	for u := f.dom[q].first(); u >= 0; u = f.dom[q].next(u) {
		supported.mergeSet(e.rel[r].rows[u])
	}
	changed := false
	for p, other := range e.relOf[q] {
		if other == r && f.at[p] < 0 && f.dom[p].keepCommon(supported) {
			f.revise[p] = true
			changed = true
		}
	}
	return changed
}
