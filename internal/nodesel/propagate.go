package nodesel

import "slices"

// assign sends a node to a host and narrows the domains of the others. It
// reports false if one runs empty.
func (e *embedder) assign(f *frame, p, v int) bool {
	f.at[p] = v
	clear(f.dom[p])
	f.dom[p].add(v)
	for q := range f.dom {
		if f.at[q] >= 0 {
			continue
		}
		changed := f.dom[q].has(v)
		f.dom[q].del(v)
		if r := e.relOf[p][q]; r >= 0 && f.dom[q].keep(e.rel[r].rows[v]) {
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

// propagate draws the conclusions of the domains: nodes with one host go
// there, hosts without support leave, and there must be hosts for all.
func (e *embedder) propagate(f *frame, depth int) bool {
	for {
		if !e.settle(f) || !e.enough(f) {
			return false
		}
		if depth > supportDepth || !e.support(f) {
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

// settle sends nodes with a single host there.
func (e *embedder) settle(f *frame) bool {
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
				if !e.assign(f, p, f.dom[p].first()) {
					return false
				}
				again = true
			}
		}
	}
	return true
}

// enough applies Hall's condition to the domains in the order of their size:
// k nodes need k hosts between them.
func (e *embedder) enough(f *frame) bool {
	var open []int
	for p := range f.dom {
		if f.at[p] < 0 {
			open = append(open, p)
		}
	}
	slices.SortStableFunc(open, func(a, b int) int { return f.dom[a].count() - f.dom[b].count() })
	hosts := newSet(e.t.n())
	for i, p := range open {
		hosts.merge(f.dom[p])
		if hosts.count() < i+1 {
			return false
		}
	}
	return true
}

// support takes hosts out of domains where a related node has nowhere to go.
// It reports whether any went.
func (e *embedder) support(f *frame) bool {
	dirty := slices.Contains(f.revise, true)
	changed := false
	for dirty {
		dirty = false
		for q := range f.dom {
			if !f.revise[q] {
				continue
			}
			f.revise[q] = false
			for p := range f.dom {
				if r := e.relOf[p][q]; r >= 0 && f.at[p] < 0 && e.narrow(f, p, q, e.rel[r].rows) {
					f.revise[p] = true
					dirty, changed = true, true
				}
			}
		}
	}
	return changed
}

// narrow takes out of the domain of p what no host of q supports.
func (e *embedder) narrow(f *frame, p, q int, rows []set) bool {
	changed := false
	for v := f.dom[p].first(); v >= 0; v = f.dom[p].next(v) {
		if !rows[v].meets(f.dom[q]) {
			f.dom[p].del(v)
			changed = true
		}
	}
	return changed
}
