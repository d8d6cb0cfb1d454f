package match

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Shape is what the matchers know of a pattern; it is worked out once.
type Shape struct {
	m       int
	edges   []core.Edge
	weights []float64 // the different ones, ascending: class 0 is the easiest
	class   [][]int   // by pair of nodes; -1 where they do not communicate
	g       *graph

	degrees     []int // descending
	least, most int   // degrees
	connected   bool
	biconnected bool
	kind        kind
	syms        [][]int    // automorphisms, the identity left out
	balls       [][]set    // nodes within 1, 2, … steps of each
	squares     []surround // around pairs
	circle      [][]int    // by node: its neighbours, those that have to do with each other together
	route       *route     // of walks; nil: they do not pay
	shy         int        // how many walks more decided nothing than something
	cuts        []int      // by number of nodes: the fewest edges between so many and the others
	decided     [2]int     // by way to choose sides: how often it decided in forward searches
	failures    []int      // by node: how often its domain ran empty in forward searches
}

// kind is a pattern that has a matcher of its own. What counts is the shape,
// not the name that a user gave it.
type kind int

const (
	general kind = iota
	clique
	cycle
	line // a path
)

// DistinctWeights lists the different weights of a pattern, ascending.
func DistinctWeights(p *core.Pattern) []float64 {
	var weights []float64
	for _, e := range p.Edges {
		weights = append(weights, e.Weight)
	}
	slices.Sort(weights)
	return slices.Compact(weights)
}

// NewShape works out what the matchers need to know of a pattern.
func NewShape(p *core.Pattern) *Shape {
	s := &Shape{m: p.Nodes, edges: p.Edges, weights: DistinctWeights(p)}
	s.g, s.class = newGraph(s.m), make([][]int, s.m)
	for i := range s.class {
		s.class[i] = slices.Repeat([]int{-1}, s.m)
	}
	for _, e := range p.Edges {
		c, _ := slices.BinarySearch(s.weights, e.Weight)
		s.class[e.A][e.B], s.class[e.B][e.A] = c, c
		s.g.joinPair(e.A, e.B)
	}
	for v := range s.m {
		s.degrees = append(s.degrees, s.g.vertexDegree(v))
	}
	slices.SortFunc(s.degrees, func(a, b int) int { return b - a })
	s.most, s.least = s.degrees[0], s.degrees[s.m-1]
	s.connected = s.g.isConnected()
	s.biconnected = s.g.isBiconnected()
	s.kind = s.recogniseKind()
	s.syms = findAutomorphisms(s)
	if s.kind == general {
		s.balls = s.g.ballsByDistance(s.m, s.m*s.m)
		s.squares = s.listSurroundings()
		if s.squares != nil {
			s.cuts = s.leastCuts()
			s.route = s.planRoute()
		}
	}
	return s
}

// recogniseKind wants equal weights: the special matchers know one graph only.
func (s *Shape) recogniseKind() kind {
	switch {
	case len(s.weights) != 1 || !s.connected:
		return general
	case len(s.edges) == s.m*(s.m-1)/2:
		return clique
	case s.most == 2 && s.least == 2:
		return cycle
	case s.most == 2:
		return line
	}
	return general
}

// IsGeneral reports whether no matcher is made for the kind of pattern.
func (s *Shape) IsGeneral() bool { return s.kind == general }

// NextPeer is the next node after a given one that a node communicates with, the first one after -1. -1: there
// is none.
func (s *Shape) NextPeer(node, after int) int { return s.g.adj[node].next(after) }

// PairWeight is the weight of two nodes that communicate.
func (s *Shape) PairWeight(a, b int) float64 { return s.weights[s.class[a][b]] }
