package match

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
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
				g.joinPair(u, v)
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
			tree.joinPair(v, rnd.IntN(v))
		}
		for _, g := range []*graph{tree, randomGraph(rnd, n, 0.3)} {
			bound := g.pathBounds(fullSet(n))
			for v, want := range longestThrough(g) {
				if g.vertexDegree(v) > 0 && (bound[v] < want || g == tree && bound[v] != want) {
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
		for _, block := range g.blocksWithin(fullSet(g.n)) {
			sub := g.inducedBy(block)
			if len(block) > 2 && len(sub.blocksWithin(fullSet(sub.n))) != 1 {
				t.Fatalf("%v: block %v falls apart", g.adj, block)
			}
			for _, u := range block {
				for _, v := range block {
					if u != v && g.adj[u].has(v) {
						inBlock.joinPair(u, v)
					}
				}
			}
		}
		if fmt.Sprint(inBlock.adj) != fmt.Sprint(g.adj) {
			t.Fatalf("%v: the blocks have the edges %v", g.adj, inBlock.adj)
		}
	}
}

func TestPruningLeavesWhatWasPlanted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(12, 12))
	cut := 0
	for _, p := range []*core.Pattern{named(t, "mesh:3x3", 9), named(t, "mesh:4x4", 16), named(t, "torus:3x5", 15),
		named(t, "torus:4x4", 16), named(t, "hypercube", 16),
		named(t, "butterfly", 12), named(t, "butterfly", 32), named(t, "mesh:2x3x4", 24)} {
		s := NewShape(p)
		if s.squares == nil {
			t.Fatalf("%s of %d has no squares around its nodes", p.Name, p.Nodes)
		}
		for i := range 20 {
			g := randomGraph(rnd, 100, 0.02+0.002*float64(i))
			at := rnd.Perm(g.n)[:p.Nodes]
			for _, e := range p.Edges {
				g.joinPair(at[e.A], at[e.B])
			}
			before := 0
			for v := range g.adj {
				before += g.vertexDegree(v)
			}
			g.pruneEdges(s.squares, s.least)
			for _, e := range p.Edges {
				if !g.adj[at[e.A]].has(at[e.B]) {
					t.Fatalf("%s of %d, graph %d: edge %d-%d went", p.Name, p.Nodes, i, e.A, e.B)
				}
			}
			for v := range g.adj {
				before -= g.vertexDegree(v)
			}
			cut += before / 2
		}
	}
	if cut == 0 {
		t.Error("nothing was cut")
	}
}

func TestReachIsWhatSoManyStepsReach(t *testing.T) {
	rnd := rand.New(rand.NewPCG(13, 13))
	for range 200 {
		g := randomGraph(rnd, 2+rnd.IntN(12), 0.25)
		apart := make([][]int, g.n) // the dumb way: shorten until nothing is shorter
		for u := range apart {
			apart[u] = make([]int, g.n)
			for v := range apart[u] {
				switch {
				case u == v:
				case g.adj[u].has(v):
					apart[u][v] = 1
				default:
					apart[u][v] = 1000
				}
			}
		}
		for k := range g.n {
			for u := range g.n {
				for v := range g.n {
					apart[u][v] = min(apart[u][v], apart[u][k]+apart[k][v])
				}
			}
		}
		balls := g.ballsByDistance(g.n, g.n*g.n)
		for k := 1; k <= min(g.n, maxReach); k++ {
			for u, ball := range ballAt(balls, k) {
				for v := range g.n {
					if u != v && ball.has(v) != (apart[u][v] <= k) {
						t.Fatalf("%v: %d and %d are %d apart, within %d steps: %v", g.adj, u, v, apart[u][v], k, ball.has(v))
					}
				}
			}
		}
	}
}
