package match

import "iter"

// blocksWithin lists the biconnected parts (with at least two vertices) among the
// vertices of within: the largest subgraphs that no single vertex cuts apart.
// A cycle, a mesh, a torus or a hypercube lies inside one of them.
func (g *graph) blocksWithin(within set) [][]int {
	b := &blockFinder{g: g, within: within, order: make([]int, g.n), low: make([]int, g.n)}
	for v := within.first(); v >= 0; v = within.next(v) {
		if b.order[v] == 0 {
			b.walkFrom(v, -1)
		}
	}
	return b.found
}

// blockFinder is the depth-first search of Hopcroft and Tarjan, with a stack
// of vertices.
type blockFinder struct {
	g          *graph
	within     set
	order, low []int // order counts from 1; 0 is not visited
	clock      int
	stack      []int
	found      [][]int
}

func (b *blockFinder) walkFrom(v, parent int) {
	b.clock++
	b.order[v], b.low[v] = b.clock, b.clock
	b.stack = append(b.stack, v)
	row := b.g.adj[v]
	for u := row.first(); u >= 0; u = row.next(u) {
		switch {
		case u == parent || !b.within.has(u):
		case b.order[u] != 0:
			b.low[v] = min(b.low[v], b.order[u])
		default:
			b.walkFrom(u, v)
			b.low[v] = min(b.low[v], b.low[u])
			if b.low[u] >= b.order[v] {
				b.closeBlock(v, u)
			}
		}
	}
}

// closeBlock takes the block that hangs below v, down to u, from the stack.
func (b *blockFinder) closeBlock(v, u int) {
	block := []int{v}
	for {
		top := b.stack[len(b.stack)-1]
		b.stack = b.stack[:len(b.stack)-1]
		block = append(block, top)
		if top == u {
			break
		}
	}
	b.found = append(b.found, block)
}

// isBiconnected reports whether the graph is connected and no single vertex
// cuts it apart.
func (g *graph) isBiconnected() bool {
	if g.n < 3 {
		return false
	}
	parts := g.blocksWithin(fullSet(g.n))
	return len(parts) == 1 && len(parts[0]) == g.n
}

func (g *graph) isConnected() bool {
	parts := g.componentsWithin(fullSet(g.n))
	return len(parts) == 1
}

// largestPart is how many vertices are connected at most.
func (g *graph) largestPart() int {
	largest := 0
	for _, part := range g.componentsWithin(fullSet(g.n)) {
		largest = max(largest, len(part))
	}
	return largest
}

// LargestPart is how many of n vertices are connected at most over some pairs.
func LargestPart(n int, pairs iter.Seq2[int, int]) int {
	g := newGraph(n)
	for u, v := range pairs {
		g.joinPair(u, v)
	}
	return g.largestPart()
}
