package match

// findGroups looks for disjoint groups of hosts that are joined to nearly all of
// their group, the largest first: a clique, widened.
func (f *forward) findGroups() {
	g := f.e.t.class[len(f.e.t.class)-1]
	left := fullSet(f.n)
	for {
		var best set
		for s := left.first(); s >= 0; s = left.next(s) {
			if c := g.cliqueFrom(s, left); best == nil || c.count() > best.count() {
				best = c
			}
		}
		if best == nil || best.count() < minGroup {
			return
		}
		g.widenClique(best, left)
		h := hostBitsOf(best)
		f.groups = append(f.groups, h)
		f.grouped = f.grouped.unionWith(h)
		for v := best.first(); v >= 0; v = best.next(v) {
			left.del(v)
		}
	}
}

// groupOf is the group that holds a domain, -1 for none.
func (f *forward) groupOf(d hostBits) int {
	for i, g := range f.groups {
		if d.isWithin(g) {
			return i
		}
	}
	return -1
}

// cliqueFrom grows a clique from a vertex: the next is the one that leaves the most
// to choose from.
func (g *graph) cliqueFrom(s int, within set) set {
	clique, can := newSet(g.n), append(set(nil), g.adj[s]...)
	clique.add(s)
	can.keepCommon(within)
	for !can.empty() {
		pick, most := -1, -1
		for v := can.first(); v >= 0; v = can.next(v) {
			if d := can.countCommon(g.adj[v]); d > most {
				pick, most = v, d
			}
		}
		clique.add(pick)
		can.keepCommon(g.adj[pick])
	}
	return clique
}

// widenClique adds vertices that are joined to nearly all of a clique.
func (g *graph) widenClique(clique, within set) {
	for {
		size := clique.count()
		pick, most := -1, 0
		for v := within.first(); v >= 0; v = within.next(v) {
			if d := g.adj[v].countCommon(clique); !clique.has(v) && 100*d >= nearlyAll*size && d > most {
				pick, most = v, d
			}
		}
		if pick < 0 {
			return
		}
		clique.add(pick)
	}
}
