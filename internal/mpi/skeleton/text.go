package skeleton

import (
	"fmt"
	"math"
	"strings"

	"github.com/godwit-hpc/godwit/internal/mpi/capture"
)

// Text is the skeleton as the runner (mpi/skeleton.c) reads it.
func (s *Skeleton) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "godwit-skeleton 1\nranks %d\nlongest %d\ngroups %d\n", s.Pattern.Nodes, s.longest(), len(s.Pattern.Groups))
	for _, g := range s.Pattern.Groups {
		fmt.Fprintf(&b, "group %d", len(g))
		for _, r := range g {
			fmt.Fprintf(&b, " %d", r)
		}
		b.WriteByte('\n')
	}
	for r, nodes := range s.Programs {
		fmt.Fprintf(&b, "rank %d %d\n", r, lines(nodes))
		write(&b, nodes, s.Pattern.Ranks[r].Spin)
	}
	b.WriteString("end\n")
	return b.String()
}

// lines is how many the nodes and all in them take.
func lines(nodes []capture.Node) int {
	n := len(nodes)
	for i := range nodes {
		n += lines(nodes[i].Body)
	}
	return n
}

func write(b *strings.Builder, nodes []capture.Node, spin float64) {
	for i := range nodes {
		n := &nodes[i]
		if n.IsLoop() {
			fmt.Fprintf(b, "loop %d %d\n", n.Rounds, lines(n.Body))
			write(b, n.Body, spin)
			continue
		}
		turns := math.Min(n.Compute*spin, 1e18)
		fmt.Fprintf(b, "call %s %d %d %d %d %d %d %d %.0f %d", n.Call, n.Group, n.Peer, n.Tag, n.From, n.FromTag, n.Slot, n.Bytes, turns, len(n.List))
		for _, x := range n.List {
			fmt.Fprintf(b, " %d", x)
		}
		b.WriteByte('\n')
	}
}

// longest is the longest message that anybody sends.
func (s *Skeleton) longest() int64 {
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
