package match

import "testing"

// The symmetries that the search uses must be symmetries.
func TestEverySymmetryFoundKeepsThePattern(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     int
		count int // without the identity; 0 where only some are listed
	}{{"hypercube", 16, 383}, {"mesh:3x3", 9, 7}, {"mesh:2x3", 6, 3}, {"torus:3x3", 9, 71}, {"tree:2", 31, 0},
		{"tree:3", 40, 0}, {"star", 30, 0}} {
		s := NewShape(named(t, c.name, c.m))
		if len(s.syms) == 0 || c.count > 0 && len(s.syms) != c.count {
			t.Errorf("%s of %d: %d symmetries, want %d", c.name, c.m, len(s.syms), c.count)
		}
		for _, sym := range s.syms {
			for _, e := range s.edges {
				if s.class[sym[e.A]][sym[e.B]] != s.class[e.A][e.B] {
					t.Fatalf("%s of %d: %v does not keep %d-%d", c.name, c.m, sym, e.A, e.B)
				}
			}
		}
	}
}
