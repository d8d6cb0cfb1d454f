package match

import "fmt"

// ExplainMismatch says which part of a pattern cannot be met even if every connection
// counts, however slow: t has them all, and there are so many hosts in all.
func ExplainMismatch(s *Shape, t *Target, hosts int) string {
	g := t.class[0]
	if largest := g.largestPart(); s.connected && largest < s.m {
		return fmt.Sprintf("it needs %d connected hosts, the largest connected part has %d", s.m, largest)
	}
	block := 0
	for _, part := range g.blocksWithin(fullSet(g.n)) {
		block = max(block, len(part))
	}
	if s.biconnected && block < s.m {
		return fmt.Sprintf("it needs %d hosts that stay connected when any one of them is lost, the largest such part has %d",
			s.m, block)
	}
	if why := explainDegrees(g, s); why != "" {
		return why
	}
	return fmt.Sprintf("no %d of the %d hosts are connected in the way of its %d edges", s.m, hosts, len(s.edges))
}

// explainDegrees names the first number of partners that too few hosts have.
func explainDegrees(g *graph, s *Shape) string {
	for i, d := range s.degrees {
		if i+1 < s.m && s.degrees[i+1] == d {
			continue
		}
		have := 0
		for v := range g.n {
			if g.vertexDegree(v) >= d {
				have++
			}
		}
		if have < i+1 {
			partners := "partners"
			if d == 1 {
				partners = "partner"
			}
			return fmt.Sprintf("%d of its nodes have at least %d %s, only %d hosts are connected to so many", i+1, d, partners,
				have)
		}
	}
	return ""
}
