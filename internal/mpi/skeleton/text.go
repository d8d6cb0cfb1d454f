package skeleton

import (
	"fmt"
	"math"
	"strings"

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
)

// EncodeText is the skeleton as the runner (mpi/skeleton.c) reads it.
func (s *Skeleton) EncodeText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "godwit-skeleton 1\nranks %d\nlongest %d\ngroups %d\n", s.Pattern.Nodes, s.longestMessage(),
		len(s.Pattern.Groups))
	for _, g := range s.Pattern.Groups {
		fmt.Fprintf(&b, "group %d", len(g))
		for _, r := range g {
			fmt.Fprintf(&b, " %d", r)
		}
		b.WriteByte('\n')
	}
	for r, nodes := range s.Programs {
		fmt.Fprintf(&b, "rank %d %d\n", r, countLines(nodes))
		writeNodes(&b, nodes, s.Pattern.Ranks[r].Spin)
	}
	b.WriteString("end\n")
	return b.String()
}

// countLines is how many the nodes and all in them take.
func countLines(nodes []capture.Node) int {
	n := len(nodes)
	for i := range nodes {
		n += countLines(nodes[i].Body)
	}
	return n
}

func writeNodes(b *strings.Builder, nodes []capture.Node, spin float64) {
	for i := range nodes {
		n := &nodes[i]
		if n.IsLoop() {
			fmt.Fprintf(b, "loop %d %d\n", n.Rounds, countLines(n.Body))
			writeNodes(b, n.Body, spin)
			continue
		}
		turns := math.Min(n.Compute*spin, 1e18)
		fmt.Fprintf(b, "call %s %d %d %d %d %d %d %d %.0f %d", n.Call, n.Group, n.Peer, n.Tag, n.From, n.FromTag, n.Slot,
			n.Bytes, turns, len(n.List))
		for _, x := range n.List {
			fmt.Fprintf(b, " %d", x)
		}
		b.WriteByte('\n')
	}
}

// longestMessage is the longest message that anybody sends.
func (s *Skeleton) longestMessage() int64 {
	most := int64(0)
	for _, nodes := range s.Programs {
		most = max(most, longestOf(nodes))
	}
	return most
}

func longestOf(nodes []capture.Node) int64 {
	most := int64(0)
	for i := range nodes {
		n := &nodes[i]
		most = max(most, n.Bytes, longestOf(n.Body))
		for _, x := range n.List {
			if n.Call != "wait" {
				most = max(most, x)
			}
		}
	}
	return most
}
