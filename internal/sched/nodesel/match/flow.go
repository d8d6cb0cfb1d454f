package match

// allowsDegrees decides a relaxation of every pattern: can edges be chosen, halves
// allowed, so that no vertex has more than limit of them and they add up to
// want/2? A pattern with largest degree limit and want/2 edges is such a
// choice, so a "no" rules it out. It sees what degrees alone do not: that many
// poor vertices share few rich ones.
//
// Chosen edges are a flow of 2·edges in the bipartite double of the graph,
// with limit at every vertex on either side and 1 on every edge; the search
// below is the usual one along augmenting paths.
func (g *graph) allowsDegrees(limit, want int) bool {
	f := &flow{g: g, limit: limit, to: newGraph(g.n), from: newGraph(g.n),
		out: make([]int, g.n), in: make([]int, g.n)}
	total := f.takeGreedily(want)
	for v := 0; v < g.n && total < want; v++ {
		for f.out[v] < limit && total < want {
			f.seen = newSet(g.n)
			if !f.augmentFrom(v) {
				break
			}
			f.out[v]++
			total++
		}
	}
	return total >= want
}

type flow struct {
	g        *graph
	limit    int
	to, from *graph // arcs in use, by their tail and by their head; not symmetric
	out, in  []int
	seen     set // heads visited by the present augmentation
}

// takeGreedily takes arcs while both ends have room.
func (f *flow) takeGreedily(want int) int {
	total := 0
	for v := range f.g.adj {
		row := f.g.adj[v]
		for u := row.first(); u >= 0 && f.out[v] < f.limit && total < want; u = row.next(u) {
			if f.in[u] < f.limit {
				f.useArc(v, u)
				f.out[v]++
				f.in[u]++
				total++
			}
		}
	}
	return total
}

func (f *flow) useArc(v, u int) {
	f.to.adj[v].add(u)
	f.from.adj[u].add(v)
}

func (f *flow) dropArc(v, u int) {
	f.to.adj[v].del(u)
	f.from.adj[u].del(v)
}

// augmentFrom finds room for one more arc that leaves v, moving others if need be.
func (f *flow) augmentFrom(v int) bool {
	row := f.g.adj[v]
	for u := row.first(); u >= 0; u = row.next(u) {
		if f.seen.has(u) || f.to.adj[v].has(u) {
			continue
		}
		f.seen.add(u)
		if f.in[u] < f.limit {
			f.in[u]++
			f.useArc(v, u)
			return true
		}
		if f.rerouteInto(u) {
			f.useArc(v, u)
			return true
		}
	}
	return false
}

// rerouteInto makes one of the arcs that arrive at u go elsewhere.
func (f *flow) rerouteInto(u int) bool {
	row := f.from.adj[u]
	for x := row.first(); x >= 0; x = row.next(x) {
		if f.augmentFrom(x) {
			f.dropArc(x, u)
			return true
		}
	}
	return false
}
