package pattern

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// edgeText lists the edges of a pattern as a-b with a < b, sorted.
func edgeText(p *core.Pattern) string {
	var list []string
	for _, e := range p.Edges {
		list = append(list, fmt.Sprintf("%d-%d", min(e.A, e.B), max(e.A, e.B)))
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestPatternsAreNumberedAsTheSurfaceSays(t *testing.T) {
	for _, c := range []struct {
		name string
		m    int
		want string
	}{
		{"ring", 2, "0-1"},
		{"ring", 4, "0-1 0-3 1-2 2-3"},
		{"path", 4, "0-1 1-2 2-3"},
		{"star", 4, "0-1 0-2 0-3"},
		{"all", 4, "0-1 0-2 0-3 1-2 1-3 2-3"},
		{"tree:2", 6, "0-1 0-2 1-3 1-4 2-5"},
		{"tree:3", 5, "0-1 0-2 0-3 1-4"},
		{"mesh:2x3", 6, "0-1 0-3 1-2 1-4 2-5 3-4 4-5"},
		{"mesh:1x3", 0, "0-1 1-2"},
		{"torus:2x3", 6, "0-1 0-2 0-3 1-2 1-4 2-5 3-4 3-5 4-5"},
		{"torus:1x4", 4, "0-1 0-3 1-2 2-3"},
		{"mesh:2x2x2", 8, "0-1 0-2 0-4 1-3 1-5 2-3 2-6 3-7 4-5 4-6 5-7 6-7"},
		{"mesh:1x2x3", 0, "0-1 0-3 1-2 1-4 2-5 3-4 4-5"},
		{"torus:3x1x2", 6, "0-1 0-2 0-4 1-3 1-5 2-3 2-4 3-5 4-5"},
		{"butterfly", 4, "0-2 0-3 1-2 1-3"},
		{"butterfly", 12, "0-4 0-5 1-4 1-5 2-6 2-7 3-6 3-7 4-10 4-8 5-11 5-9 6-10 6-8 7-11 7-9"},
		{"hypercube", 8, "0-1 0-2 0-4 1-3 1-5 2-3 2-6 3-7 4-5 4-6 5-7 6-7"},
	} {
		p, err := MakeNamed(c.name, c.m)
		if err != nil {
			t.Fatalf("%s of %d: %v", c.name, c.m, err)
		}
		if got := edgeText(p); got != c.want {
			t.Errorf("%s of %d: edges %s, want %s", c.name, c.m, got, c.want)
		}
		if err := CheckPattern(p); err != nil {
			t.Errorf("%s of %d: %v", c.name, c.m, err)
		}
	}
}

func TestNamesThatDoNotFitTheirSizeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		m    int
		want string
	}{
		{"mesh:3x3", 8, "9 nodes"}, {"torus:2x2", 5, "4 nodes"}, {"hypercube", 6, "a power of two"}, {"ring", 1, "from 2"},
		{"ring", 0, "from 2"}, {"tree:0", 4, "tree:K"}, {"tree", 4, "tree:K"}, {"mesh:3", 9, "mesh:RxC"},
		{"mesh:1x1", 1, "mesh:RxC"},
		{"mesh:99999x99999", 0, "mesh:RxC"}, {"ring:4", 4, "without anything"}, {"knot", 4, "one of ring"},
		{"all", 5000, "from 2"},
		{"mesh:2x2x2x2", 0, "mesh:RxC"}, {"torus:0x2x2", 0, "torus:RxC"}, {"mesh:2x3x4", 12, "24 nodes"},
		{"butterfly", 5, "4, 12 or 32"}, {"butterfly", 0, "4, 12"},
	} {
		if _, err := MakeNamed(c.name, c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %d: %v, want %q", c.name, c.m, err, c.want)
		}
	}
}

func TestPatternsThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct {
		p    core.Pattern
		want string
	}{
		{core.Pattern{Nodes: 1}, "from 2"},
		{core.Pattern{Nodes: 3}, "no edges"},
		{core.Pattern{Nodes: 3, Edges: []core.Edge{{A: 0, B: 3, Weight: 1}}}, "edges[0] 0-3"},
		{core.Pattern{Nodes: 3, Edges: []core.Edge{{A: 0, B: 1, Weight: 1}, {A: 1, B: 1, Weight: 1}}}, "two different"},
		{core.Pattern{Nodes: 3, Edges: []core.Edge{{A: 0, B: 1, Weight: 1}, {A: 1, B: 0, Weight: 1}}}, "each pair once"},
		{core.Pattern{Nodes: 3, Edges: []core.Edge{{A: 0, B: 1, Weight: 0}}}, "above 0"},
		{core.Pattern{Nodes: 3, Edges: []core.Edge{{A: 0, B: 1, Weight: -2}}}, "above 0"},
	} {
		if err := CheckPattern(&c.p); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.p, err, c.want)
		}
	}
}

func FuzzNamed(f *testing.F) {
	for _, name := range []string{"ring", "mesh:3x3", "torus:2x5", "tree:2", "hypercube", "mesh:-1x-4", "tree:99999999999",
		":", "mesh:1x"} {
		f.Add(name, 9)
	}
	f.Fuzz(func(t *testing.T, name string, m int) {
		if m > 300 {
			return // large cliques only take long
		}
		p, err := MakeNamed(name, m)
		if err != nil {
			return
		}
		if err := CheckPattern(p); err != nil {
			t.Errorf("%s of %d: %v", name, m, err)
		}
		if m != 0 && p.Nodes != m {
			t.Errorf("%s of %d has %d nodes", name, m, p.Nodes)
		}
	})
}
