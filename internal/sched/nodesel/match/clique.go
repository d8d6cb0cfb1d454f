package match

import "slices"

// findClique looks for m vertices that are all joined: branch and bound with a
// greedy colouring as bound (Tomita), on bits. A colour class holds at most one
// member of a clique, so k classes hold at most k.
func findClique(g *graph, m int, mt *Meter) (Answer, []int) {
	order := g.degeneracyOrder()
	c := &cliqueFinder{g: g.inducedBy(order), m: m, mt: mt}
	found := c.extendClique(fullSet(g.n))
	clique := make([]int, len(c.chosen))
	for i, v := range c.chosen {
		clique[i] = order[v]
	}
	return found, clique
}

type cliqueFinder struct {
	g      *graph
	m      int
	mt     *Meter
	chosen []int
}

// extendClique adds members out of from until there are m.
func (c *cliqueFinder) extendClique(from set) Answer {
	need := c.m - len(c.chosen)
	if need == 0 {
		return Yes
	}
	if !c.mt.SpendSteps(1) {
		return Unknown
	}
	order, colours := c.colourVertices(from, need)
	below := newSet(c.g.n)
	for i := len(order) - 1; i >= 0 && colours[i] >= need; i-- {
		v := order[i]
		copy(below, from)
		below.keepCommon(c.g.adj[v])
		c.chosen = append(c.chosen, v)
		if a := c.extendClique(below); a != No {
			return a
		}
		c.chosen = c.chosen[:len(c.chosen)-1]
		from.del(v)
	}
	return No
}

// colourVertices splits vertices into classes without an edge inside, greedily. It
// lists those that can be the last of need members, with the number of classes
// up to theirs.
func (c *cliqueFinder) colourVertices(from set, need int) (order, colours []int) {
	left, class := slices.Clone(from), newSet(c.g.n)
	for colour := 1; !left.empty(); colour++ {
		copy(class, left)
		for v := class.first(); v >= 0; v = class.next(v) {
			left.del(v)
			for i, x := range c.g.adj[v] {
				class[i] &^= x
			}
			if colour >= need {
				order, colours = append(order, v), append(colours, colour)
			}
		}
	}
	return order, colours
}

// degeneracyOrder takes away the vertex with the fewest neighbours again and
// again and lists them last to first: the colouring then meets the well
// connected ones first.
func (g *graph) degeneracyOrder() []int {
	left := fullSet(g.n)
	degree := make([]int, g.n)
	for v := range degree {
		degree[v] = g.vertexDegree(v)
	}
	var order []int
	for range g.n {
		best := -1
		for v := left.first(); v >= 0; v = left.next(v) {
			if best < 0 || degree[v] < degree[best] {
				best = v
			}
		}
		left.del(best)
		order = append(order, best)
		for u := g.adj[best].first(); u >= 0; u = g.adj[best].next(u) {
			degree[u]--
		}
	}
	slices.Reverse(order)
	return order
}
