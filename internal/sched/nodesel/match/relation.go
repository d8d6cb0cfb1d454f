package match

// relation is a condition on the hosts of two nodes: they must be joined in a
// class of the graph, or have as many common neighbours as the nodes have, or
// both; or be within some steps of each other.
type relation struct {
	class  int // -1: they need not be joined
	common int
	steps  int // above 0: they must be within so many steps, which is all
	rows   []set
	least  int // hosts in the shortest row
}

// maxCommon is up to how many common neighbours are told apart.
const maxCommon = 3

// buildRelations works out which pairs of nodes have which relation, and for each
// relation which hosts have it.
func (e *embedder) buildRelations() {
	e.relOf = make([][]int, e.s.m)
	for p := range e.relOf {
		e.relOf[p] = make([]int, e.s.m)
		for q := range e.relOf[p] {
			e.relOf[p][q] = -1
			if p == q {
				continue
			}
			common := min(e.s.g.adj[p].countCommon(e.s.g.adj[q]), maxCommon)
			if c := e.s.class[p][q]; c >= 0 || common > 0 {
				e.relOf[p][q] = e.relationFor(c, common)
			} else if steps := e.s.nodeDistance(p, q); steps > 2 && len(e.balls) > 1 {
				e.relOf[p][q] = e.farRelation(steps)
			}
		}
	}
	e.relates = make([]set, e.s.m)
	for p := range e.relates {
		e.relates[p] = newSet(len(e.rel))
		for _, r := range e.relOf[p] {
			if r >= 0 && e.rel[r].steps == 0 { // far ones say too little for their price
				e.relates[p].add(r)
			}
		}
	}
}

func (e *embedder) relationFor(class, common int) int {
	for i, r := range e.rel {
		if r.class == class && r.common == common && r.steps == 0 {
			return i
		}
	}
	r := relation{class: class, common: common}
	if common == 0 {
		r.rows = e.t.class[class].adj
	} else {
		r.rows = e.t.hostsSharing(class, common)
	}
	r.least = e.t.hostCount()
	for _, row := range r.rows {
		r.least = min(r.least, row.count())
	}
	e.rel = append(e.rel, r)
	return len(e.rel) - 1
}

// hostsSharing lists for each host those that have common neighbours with it, and
// are joined to it in a class if that is not negative.
func (t *Target) hostsSharing(class, common int) []set {
	g := newGraph(t.hostCount())
	wide := t.class[0]
	for u := range g.n {
		for v := range u {
			if class >= 0 && !t.class[class].adj[u].has(v) {
				continue
			}
			if wide.adj[u].countCommon(wide.adj[v]) >= common {
				g.joinPair(u, v)
			}
		}
	}
	return g.adj
}

// numberTwins numbers the hosts so that those with equal numbers can be exchanged:
// in every class they have the same neighbours besides each other.
func (t *Target) numberTwins(classes int) []int {
	number := make([]int, t.hostCount())
	for v := range number {
		number[v] = v
		for u := range v {
			if number[u] == u && t.areTwins(u, v, classes) {
				number[v] = u
				break
			}
		}
	}
	return number
}

func (t *Target) areTwins(u, v, classes int) bool {
	for c := range classes {
		a, b := t.class[c].adj[u], t.class[c].adj[v]
		for i := range a {
			diff := a[i] ^ b[i]
			if u>>6 == i {
				diff &^= 1 << (u & 63)
			}
			if v>>6 == i {
				diff &^= 1 << (v & 63)
			}
			if diff != 0 {
				return false
			}
		}
	}
	return true
}
