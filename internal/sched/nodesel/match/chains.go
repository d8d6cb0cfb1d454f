package match

// pathBounds bounds paths: for each vertex among those of within, how many
// vertices a path through it can have at most. A path enters and leaves a
// block through single vertices, so the blocks it passes are a path in the
// tree that blocks and their common vertices form; a block with k vertices
// adds k-1. Trees that hang from a well connected part, of which a path can
// visit two, are most of a sparse graph.
func (g *graph) pathBounds(within set) []int {
	c := &chainBound{blocks: g.blocksWithin(within), of: make([][]int, g.n), memo: map[[2]int]int{}}
	for b, block := range c.blocks {
		for _, v := range block {
			c.of[v] = append(c.of[v], b)
		}
	}
	bound := make([]int, g.n)
	for b, block := range c.blocks {
		through := 1 + c.edgesThrough(b)
		for _, v := range block {
			bound[v] = max(bound[v], through)
		}
	}
	return bound
}

type chainBound struct {
	blocks [][]int
	of     [][]int // by vertex: its blocks
	memo   map[[2]int]int
}

// edgesThrough is the most edges of a path that passes block b: inside it, and
// beyond two of its vertices.
func (c *chainBound) edgesThrough(b int) int {
	first, second := 0, 0
	for _, v := range c.blocks[b] {
		if x := c.edgesBeyond(b, v); x > first {
			first, second = x, first
		} else {
			second = max(second, x)
		}
	}
	return len(c.blocks[b]) - 1 + first + second
}

// edgesBeyond is the most edges of a path that leaves block b at v.
func (c *chainBound) edgesBeyond(b, v int) int {
	most := 0
	for _, other := range c.of[v] {
		if other != b {
			most = max(most, c.edgesInto(v, other))
		}
	}
	return most
}

// edgesInto is the most edges of a path that begins at v and goes into block b.
func (c *chainBound) edgesInto(v, b int) int {
	key := [2]int{v, b}
	if x, ok := c.memo[key]; ok {
		return x
	}
	most := 0
	for _, u := range c.blocks[b] {
		if u != v {
			most = max(most, c.edgesBeyond(b, u))
		}
	}
	c.memo[key] = most + len(c.blocks[b]) - 1
	return c.memo[key]
}
