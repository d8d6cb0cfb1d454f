package match

// initialDomains works out where each node can go at all: the host has as many
// neighbours, its neighbours can take the node's neighbours, each another one
// (a matching), and so on until nothing changes. nil: some node has nowhere.
func (e *embedder) initialDomains() []set {
	dom := make([]set, e.s.m)
	for p := range dom {
		dom[p] = newSet(e.t.hostCount())
		for v := range e.t.hostCount() {
			if e.roomFor(p, v) && e.roomAround(p, v) {
				dom[p].add(v)
			}
		}
	}
	work := make([]bool, e.s.m)
	for p := range work {
		work[p] = true
	}
	for again := true; again; {
		again = false
		for p := range dom {
			if !work[p] {
				continue
			}
			work[p] = false
			if e.filterDomain(dom, p) {
				again = true
				for q := e.s.g.adj[p].first(); q >= 0; q = e.s.g.adj[p].next(q) {
					work[q] = true
				}
			}
			if dom[p].empty() {
				return nil
			}
		}
	}
	return dom
}

// roomFor compares degrees in every class of weights: a pair of class c can
// use the pairs of class c and harder ones.
func (e *embedder) roomFor(p, v int) bool {
	need := 0
	for c := len(e.s.weights) - 1; c >= 0; c-- {
		for q := e.s.g.adj[p].first(); q >= 0; q = e.s.g.adj[p].next(q) {
			if e.s.class[p][q] == c {
				need++
			}
		}
		if e.t.class[c].vertexDegree(v) < need {
			return false
		}
	}
	return true
}

// filterDomain takes the hosts out of a node's domain whose neighbours cannot take
// all neighbours of the node at once. It reports whether any went.
func (e *embedder) filterDomain(dom []set, p int) bool {
	changed := false
	for v := dom[p].first(); v >= 0; v = dom[p].next(v) {
		if !e.takesAll(dom, p, v) || !e.takesAround(dom, p, v) {
			dom[p].del(v)
			changed = true
		}
	}
	return changed
}

func (e *embedder) takesAll(dom []set, p, v int) bool {
	m := &e.match
	n := 0
	for q := e.s.g.adj[p].first(); q >= 0; q = e.s.g.adj[p].next(q) {
		options := m.optionSet(n, e.t.hostCount())
		copy(options, dom[q])
		options.keepCommon(e.rel[e.relOf[p][q]].rows[v])
		if options.empty() {
			return false
		}
		n++
	}
	return m.isComplete(n, e.t.hostCount())
}

// takesAround looks further than takesAll: the neighbours of the node also
// have to do with each other, and their hosts must. A look that takes too long
// is taken for a yes.
func (e *embedder) takesAround(dom []set, p, v int) bool {
	if e.s.squares == nil {
		return true
	}
	e.look = append(e.look[:0], v)
	e.looks = maxLook
	return e.placeAround(dom, p, e.s.circle[p])
}

// placeAround finds hosts for the neighbours of p that are left; look holds
// the host of p and those of the neighbours before.
func (e *embedder) placeAround(dom []set, p int, left []int) bool {
	if len(left) == 0 {
		return true
	}
	if e.looks--; e.looks < 0 {
		return true
	}
	k := len(e.look)
	for len(e.lookAt) <= k {
		e.lookAt = append(e.lookAt, newSet(e.t.hostCount()))
	}
	q, place := left[0], e.lookAt[k]
	copy(place, dom[q])
	place.keepCommon(e.rel[e.relOf[p][q]].rows[e.look[0]])
	for i, h := range e.look[1:] {
		place.del(h)
		if r := e.relOf[e.s.circle[p][i]][q]; r >= 0 {
			place.keepCommon(e.rel[r].rows[h])
		}
	}
	for h := place.first(); h >= 0; h = place.next(h) {
		e.look = append(e.look, h)
		if e.placeAround(dom, p, left[1:]) {
			return true
		}
		e.look = e.look[:k]
	}
	return false
}

// matching gives each of some nodes a host of its own. It is used many times
// over, so it keeps its memory.
type matching struct {
	options []set
	by      []int // of a host: who has it, -1 for nobody
	taken   []int // hosts with somebody
	seen    set
}

// optionSet is where the options of the i-th node are written.
func (m *matching) optionSet(i, n int) set {
	if len(m.options) <= i {
		m.options = append(m.options, newSet(n))
	}
	return m.options[i]
}

// isComplete reports whether the first count nodes can all have a host.
func (m *matching) isComplete(count, n int) bool {
	if m.by == nil {
		m.by, m.seen = make([]int, n), newSet(n)
		for v := range m.by {
			m.by[v] = -1
		}
	}
	for _, v := range m.taken {
		m.by[v] = -1
	}
	m.taken = m.taken[:0]
	for i := range count {
		if m.takeFreeHost(i) {
			continue
		}
		clear(m.seen)
		if !m.placeNode(i) {
			return false
		}
	}
	return true
}

// takeFreeHost gives a node a host that nobody has, without looking further.
func (m *matching) takeFreeHost(i int) bool {
	for v := m.options[i].first(); v >= 0; v = m.options[i].next(v) {
		if m.by[v] < 0 {
			m.by[v] = i
			m.taken = append(m.taken, v)
			return true
		}
	}
	return false
}

func (m *matching) placeNode(i int) bool {
	for v := m.options[i].first(); v >= 0; v = m.options[i].next(v) {
		if m.seen.has(v) {
			continue
		}
		m.seen.add(v)
		if m.by[v] < 0 || m.placeNode(m.by[v]) {
			m.by[v] = i
			m.taken = append(m.taken, v)
			return true
		}
	}
	return false
}
