// Package pattern makes the communication patterns that people name, such as rings and meshes, and says what
// is wrong with others.
package pattern

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// MaxNodes is the largest pattern that can be asked for.
const MaxNodes = 4096

// KnownNames are the patterns that MakeNamed knows, as a user writes them.
func KnownNames() []string {
	return []string{"ring", "path", "all", "star", "tree:K", "mesh:RxC", "mesh:RxCxD", "torus:RxC", "torus:RxCxD",
		"hypercube", "butterfly"}
}

// MakeNamed makes one of the known patterns on m nodes. With m = 0 the name must
// say how many there are. The error is a phrase that says what would be right.
func MakeNamed(name string, m int) (*core.Pattern, error) {
	kind, arg, hasArg := strings.Cut(name, ":")
	p := &core.Pattern{Name: name, Nodes: m}
	switch kind {
	case "mesh", "torus":
		sides, nodes, err := parseSides(kind, arg)
		if err != nil {
			return nil, err
		}
		if m != 0 && m != nodes {
			return nil, fmt.Errorf("%d nodes, as %s has", nodes, name)
		}
		p.Nodes = nodes
		addGrid(p, sides, kind == "torus")
		return p, nil
	case "tree":
		k, err := strconv.Atoi(arg)
		if err != nil || k < 1 || k > MaxNodes {
			return nil, fmt.Errorf("tree:K with K from 1 to %d, like tree:2", MaxNodes)
		}
		return fillEdges(p, func(i int) { addEdge(p, (i-1)/k, i) })
	}
	if hasArg {
		return nil, fmt.Errorf("%s without anything after it", kind)
	}
	return makeSimple(p, kind)
}

// makeSimple is a pattern that its name and its size describe.
func makeSimple(p *core.Pattern, kind string) (*core.Pattern, error) {
	m := p.Nodes
	switch kind {
	case "ring":
		q, err := fillEdges(p, func(i int) { addEdge(p, i-1, i) })
		if err == nil && m > 2 {
			addEdge(p, m-1, 0)
		}
		return q, err
	case "path":
		return fillEdges(p, func(i int) { addEdge(p, i-1, i) })
	case "star":
		return fillEdges(p, func(i int) { addEdge(p, 0, i) })
	case "all":
		return fillEdges(p, func(i int) {
			for j := range i {
				addEdge(p, j, i)
			}
		})
	case "hypercube":
		if bits.OnesCount(uint(m)) != 1 {
			return nil, fmt.Errorf("a power of two for a hypercube, like %d", 1<<max(1, bits.Len(uint(m))-1))
		}
		return fillEdges(p, func(i int) {
			for bit := 1; bit <= i; bit <<= 1 {
				if i&bit != 0 {
					addEdge(p, i^bit, i)
				}
			}
		})
	}
	if kind == "butterfly" {
		rows := butterflyRows(m)
		if rows == 0 {
			return nil, fmt.Errorf("(k+1)·2^k nodes for a butterfly, like 4, 12 or 32")
		}
		addButterfly(p, m/rows, rows)
		return p, nil
	}
	return nil, fmt.Errorf("one of %s, or a file", strings.Join(KnownNames(), ", "))
}

// fillEdges adds the edges of each node to those before it.
func fillEdges(p *core.Pattern, edges func(i int)) (*core.Pattern, error) {
	if p.Nodes < 2 || p.Nodes > MaxNodes {
		return nil, fmt.Errorf("a number of nodes from 2 to %d", MaxNodes)
	}
	for i := 1; i < p.Nodes; i++ {
		edges(i)
	}
	return p, nil
}

func addEdge(p *core.Pattern, a, b int) { p.Edges = append(p.Edges, core.Edge{A: a, B: b, Weight: 1}) }

// parseSides reads RxC or RxCxD.
func parseSides(kind, arg string) (sides []int, nodes int, err error) {
	nodes = 1
	for _, text := range strings.Split(arg, "x") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > MaxNodes || nodes*n > MaxNodes {
			nodes = 0
			break
		}
		sides, nodes = append(sides, n), nodes*n
	}
	if len(sides) < 2 || len(sides) > 3 || nodes < 2 {
		return nil, 0, fmt.Errorf("%s:RxC or %s:RxCxD with 2 to %d nodes, like %s:3x4", kind, kind, MaxNodes, kind)
	}
	return sides, nodes, nil
}

// addGrid adds the edges of a mesh, or of a torus, numbered with the last side
// fastest. Going round a row of one or two nodes adds nothing that the mesh does
// not have.
func addGrid(p *core.Pattern, sides []int, wrap bool) {
	for at := range p.Nodes {
		step := 1
		for d := len(sides) - 1; d >= 0; d-- {
			side := sides[d]
			switch place := at / step % side; {
			case place+1 < side:
				addEdge(p, at, at+step)
			case wrap && side > 2:
				addEdge(p, at, at-place*step)
			}
			step *= side
		}
	}
}

// addButterfly adds the edges of one: levels of rows nodes each, where row r of
// level l talks to the rows r and r xor 2^l of the next.
func addButterfly(p *core.Pattern, levels, rows int) {
	for l := range levels - 1 {
		for r := range rows {
			addEdge(p, l*rows+r, (l+1)*rows+r)
			addEdge(p, l*rows+r, (l+1)*rows+(r^1<<l))
		}
	}
}

// butterflyRows is how many rows a butterfly of m nodes has: 2^k for m nodes in
// k+1 levels; 0: there is none with m nodes.
func butterflyRows(m int) int {
	for k := 1; (k+1)<<k <= m; k++ {
		if (k+1)<<k == m {
			return 1 << k
		}
	}
	return 0
}

// CheckPattern says what is wrong with a pattern that MakeNamed did not make.
func CheckPattern(p *core.Pattern) error {
	if p.Nodes < 2 || p.Nodes > MaxNodes {
		return fmt.Errorf("%d nodes: from 2 to %d", p.Nodes, MaxNodes)
	}
	if len(p.Edges) == 0 {
		return fmt.Errorf("no edges: at least one pair that communicates")
	}
	seen := make([]bool, p.Nodes*p.Nodes)
	for i, e := range p.Edges {
		switch {
		case e.A < 0 || e.A >= p.Nodes || e.B < 0 || e.B >= p.Nodes:
			return fmt.Errorf("edges[%d] %d-%d: nodes from 0 to %d", i, e.A, e.B, p.Nodes-1)
		case e.A == e.B:
			return fmt.Errorf("edges[%d] %d-%d: two different nodes", i, e.A, e.B)
		case seen[e.A*p.Nodes+e.B]:
			return fmt.Errorf("edges[%d] %d-%d: each pair once", i, e.A, e.B)
		case !(e.Weight > 0) || math.IsInf(e.Weight, 1):
			return fmt.Errorf("edges[%d].weight %g: a number above 0", i, e.Weight)
		}
		seen[e.A*p.Nodes+e.B], seen[e.B*p.Nodes+e.A] = true, true
	}
	return nil
}
