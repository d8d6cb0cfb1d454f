package nodesel

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
)

// explainMismatch says which part of a pattern cannot be met even if every connection
// counts, however slow.
func explainMismatch(b *Bandwidths, s *match.Shape) string {
	return match.ExplainMismatch(s, b.thresholdTarget(s, b.allHosts(), math.SmallestNonzeroFloat64), b.n)
}

// LargestPart is how many nodes of a pattern are connected at most.
func LargestPart(p *Pattern) int {
	return match.LargestPart(p.Nodes, func(yield func(u, v int) bool) {
		for _, e := range p.Edges {
			if !yield(e.A, e.B) {
				return
			}
		}
	})
}
