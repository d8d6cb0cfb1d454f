package nodesel

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// longestThrough is the dumb twin of chains: the most vertices of any path
// through each vertex.
func longestThrough(g *graph) []int {
	best := make([]int, g.n)
	on := make([]bool, g.n)
	var path []int
	var walk func(v int)
	walk = func(v int) {
		path, on[v] = append(path, v), true
		for _, u := range path {
			best[u] = max(best[u], len(path))
		}
		for u := range g.n {
			if g.adj[v].has(u) && !on[u] {
				walk(u)
			}
		}
		path, on[v] = path[:len(path)-1], false
	}
	for v := range g.n {
		walk(v)
	}
	return best
}

func randomGraph(rnd *rand.Rand, n int, density float64) *graph {
	g := newGraph(n)
	for u := range n {
		for v := range u {
			if rnd.Float64() < density {
				g.join(u, v)
			}
		}
	}
	return g
}

func TestNoPathIsLongerThanItsBoundAndOnTreesTheBoundIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	for i := range 300 {
		n := 2 + rnd.IntN(7)
		tree := newGraph(n)
		for v := 1; v < n; v++ {
			tree.join(v, rnd.IntN(v))
		}
		for _, g := range []*graph{tree, randomGraph(rnd, n, 0.3)} {
			bound := g.chains(fullSet(n))
			for v, want := range longestThrough(g) {
				if g.deg(v) > 0 && (bound[v] < want || g == tree && bound[v] != want) {
					t.Fatalf("case %d: %v: bound %d at %d, the longest path has %d", i, g.adj, bound[v], v, want)
				}
			}
		}
	}
}

func TestBlocksAreThePartsThatNoVertexCuts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(10, 10))
	for range 300 {
		g := randomGraph(rnd, 2+rnd.IntN(8), 0.4)
		inBlock := newGraph(g.n)
		for _, block := range g.blocks(fullSet(g.n)) {
			sub := g.induced(block)
			if len(block) > 2 && len(sub.blocks(fullSet(sub.n))) != 1 {
				t.Fatalf("%v: block %v falls apart", g.adj, block)
			}
			for _, u := range block {
				for _, v := range block {
					if u != v && g.adj[u].has(v) {
						inBlock.join(u, v)
					}
				}
			}
		}
		if fmt.Sprint(inBlock.adj) != fmt.Sprint(g.adj) {
			t.Fatalf("%v: the blocks have the edges %v", g.adj, inBlock.adj)
		}
	}
}

func TestMoreHostsThanNodesAreSearchedAsExactly(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 11))
	for i := range 80 {
		n := 10 + i%4
		b := randomBandwidths(rnd, n, []float64{0.25, 0.4, 0.7}[i%3], []int{0, 4}[i%2])
		for _, p := range smallPatterns(t, 7) {
			if p.Nodes >= 4 {
				compare(t, b, p, fmt.Sprintf("graph %d with %d hosts, %s of %d", i, n, p.Name, p.Nodes))
			}
		}
	}
}
