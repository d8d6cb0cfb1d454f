package nodesel

// spread decides a relaxation of every pattern: can edges be chosen, halves
// allowed, so that no vertex has more than limit of them and they add up to
// want/2? A pattern with largest degree limit and want/2 edges is such a
// choice, so a "no" rules it out. It sees what degrees alone do not: that many
// poor vertices share few rich ones.
//
// Chosen edges are a flow of 2·edges in the bipartite double of the graph,
// with limit at every vertex on either side and 1 on every edge; the search
// below is the usual one along augmenting paths.
func (g *graph) spread(limit, want int) bool {
	f := &flow{g: g, limit: limit, to: newGraph(g.n), from: newGraph(g.n),
		out: make([]int, g.n), in: make([]int, g.n)}
	total := f.greedy(want)
	for v := 0; v < g.n && total < want; v++ {
		for f.out[v] < limit && total < want {
			f.seen = newSet(g.n)
			if !f.augment(v) {
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

// greedy takes arcs while both ends have room.
func (f *flow) greedy(want int) int {
	total := 0
	for v := range f.g.adj {
		row := f.g.adj[v]
		for u := row.first(); u >= 0 && f.out[v] < f.limit && total < want; u = row.next(u) {
			if f.in[u] < f.limit {
				f.use(v, u)
				f.out[v]++
				f.in[u]++
				total++
			}
		}
	}
	return total
}

func (f *flow) use(v, u int) {
	f.to.adj[v].add(u)
	f.from.adj[u].add(v)
}

func (f *flow) drop(v, u int) {
	f.to.adj[v].del(u)
	f.from.adj[u].del(v)
}

// augment finds room for one more arc that leaves v, moving others if need be.
func (f *flow) augment(v int) bool {
	row := f.g.adj[v]
	for u := row.first(); u >= 0; u = row.next(u) {
		if f.seen.has(u) || f.to.adj[v].has(u) {
			continue
		}
		f.seen.add(u)
		if f.in[u] < f.limit {
			f.in[u]++
			f.use(v, u)
			return true
		}
		if f.reroute(u) {
			f.use(v, u)
			return true
		}
	}
	return false
}

// reroute makes one of the arcs that arrive at u go elsewhere.
func (f *flow) reroute(u int) bool {
	row := f.from.adj[u]
	for x := row.first(); x >= 0; x = row.next(x) {
		if f.augment(x) {
			f.drop(x, u)
			return true
		}
	}
	return false
}
