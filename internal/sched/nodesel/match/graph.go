package match

// graph is an undirected graph without loops on 0 … n-1, a row of bits a
// vertex.
type graph struct {
	n   int
	adj []set
}

func newGraph(n int) *graph {
	g := &graph{n: n, adj: make([]set, n)}
	w := (n + 63) / 64
	rows := make(set, n*w)
	for v := range g.adj {
		g.adj[v] = rows[v*w : (v+1)*w : (v+1)*w]
	}
	return g
}

func (g *graph) joinPair(u, v int) {
	g.adj[u].add(v)
	g.adj[v].add(u)
}

func (g *graph) cutPair(u, v int) {
	g.adj[u].del(v)
	g.adj[v].del(u)
}

func (g *graph) vertexDegree(v int) int { return g.adj[v].count() }

// copyFrom makes g equal to o, which has as many vertices.
func (g *graph) copyFrom(o *graph) {
	for v := range g.adj {
		copy(g.adj[v], o.adj[v])
	}
}

// inducedBy is the graph on some of the vertices, renumbered in their order.
func (g *graph) inducedBy(vertices []int) *graph {
	h := newGraph(len(vertices))
	for i, u := range vertices {
		for j := range i {
			if g.adj[u].has(vertices[j]) {
				h.joinPair(i, j)
			}
		}
	}
	return h
}

// coreOf returns which vertices are left when those with fewer than k
// neighbours are taken away again and again.
func (g *graph) coreOf(k int) set {
	left := fullSet(g.n)
	degree := make([]int, g.n)
	var gone []int
	for v := range degree {
		if degree[v] = g.vertexDegree(v); degree[v] < k {
			gone = append(gone, v)
			left.del(v)
		}
	}
	for len(gone) > 0 {
		v := gone[len(gone)-1]
		gone = gone[:len(gone)-1]
		for u := g.adj[v].first(); u >= 0; u = g.adj[v].next(u) {
			if degree[u]--; degree[u] < k && left.has(u) {
				gone = append(gone, u)
				left.del(u)
			}
		}
	}
	return left
}

// componentsWithin lists the connected parts among the vertices of within.
func (g *graph) componentsWithin(within set) [][]int {
	var parts [][]int
	left := append(set(nil), within...)
	for s := left.first(); s >= 0; s = left.first() {
		part := []int{s}
		left.del(s)
		for i := 0; i < len(part); i++ {
			row := g.adj[part[i]]
			for w := range row {
				for row[w]&left[w] != 0 {
					x := set{row[w] & left[w]}
					u := w<<6 + x.first()
					left.del(u)
					part = append(part, u)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}
