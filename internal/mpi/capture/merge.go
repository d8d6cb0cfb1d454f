package capture

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/mpi/capture/sockets"
)

// mergeRecords puts the records of all ranks together.
func mergeRecords(records []*record) (*Pattern, error) {
	n := records[0].ranks
	byRank := make([]*record, n)
	for _, r := range records {
		if r.ranks != n || byRank[r.rank] != nil {
			return nil, fmt.Errorf("the records are not of one program: two have rank %d of %d and %d", r.rank, n, r.ranks)
		}
		byRank[r.rank] = r
	}
	if missing := slices.Index(byRank, nil); missing >= 0 {
		return nil, fmt.Errorf("rank %d of %d left no record: it was killed, or wrote to another file system", missing, n)
	}
	p := &Pattern{Format: Format, Program: byRank[0].program, Nodes: n,
		Bytes: squareMatrix(n), Messages: squareMatrix(n), Collective: squareMatrix(n)}
	p.Groups = [][]int{allRanks(n)}
	for i, r := range byRank {
		p.addRank(i, r)
	}
	p.addCollectives(byRank)
	p.addSizes(byRank)
	p.addEdges()
	p.addPhases()
	return p, nil
}

// ofSockets is the pattern of a program of which no more is known than how much its
// processes said to each other.
func ofSockets(program string, seconds float64, t *sockets.Traffic) (*Pattern, error) {
	n := len(t.Names)
	if n > maxRanks {
		return nil, fmt.Errorf("%d processes talk over TCP: a pattern has at most %d nodes", n, maxRanks)
	}
	p := &Pattern{Format: Format, Source: OfSockets, Program: program, Nodes: n, Seconds: seconds, Names: t.Names,
		Others: t.Others,
		Bytes:  t.Bytes, Messages: squareMatrix(n), Collective: squareMatrix(n),
		Sizes: []Size{}, Operations: []Collective{}, Phases: []Phase{}, Groups: [][]int{}, Ranks: []Rank{}}
	p.addEdges()
	return p, nil
}

func squareMatrix(n int) [][]int64 {
	m := make([][]int64, n)
	for i := range m {
		m[i] = make([]int64, n)
	}
	return m
}

func allRanks(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// groupOf finds or adds a group. Two groups that talk to each other, and ranks of other
// worlds, are the whole world to a skeleton.
func (p *Pattern) groupOf(g group) int {
	if g.between {
		return 0
	}
	at := slices.IndexFunc(p.Groups, func(have []int) bool { return slices.Equal(have, g.members) })
	if at < 0 {
		at = len(p.Groups)
		p.Groups = append(p.Groups, g.members)
	}
	return at
}

func (p *Pattern) addRank(i int, r *record) {
	number := make([]int, len(r.groups))
	for g := range r.groups {
		number[g] = p.groupOf(r.groups[g])
	}
	renumberNodes(r.calls, number)
	p.Ranks = append(p.Ranks, Rank{Host: r.host, Seconds: r.seconds, Compute: r.cpu, Inside: r.inside, Spin: r.spin,
		Coarse: r.coarse, Lost: r.lost, Calls: r.calls})
	p.Seconds = max(p.Seconds, r.seconds)
	if r.seconds > 0 {
		p.Share += min(r.inside/r.seconds, 1) / float64(p.Nodes)
	}
	p.Share = min(p.Share, 1)
	p.Unlike += r.odd
	for peer, to := range r.peers { // order-free: sums
		p.Bytes[i][peer] += to.bytes
		p.Messages[i][peer] += to.messages
		if peer != i {
			p.Collective[i][peer] = to.collective
		}
	}
	for peer, from := range r.fetched { // order-free: sums
		p.Bytes[peer][i] += from.bytes
		p.Messages[peer][i] += from.messages
	}
	for c := range r.collectives {
		r.collectives[c].group = number[r.collectives[c].group]
	}
}

func renumberNodes(nodes []Node, number []int) {
	for i := range nodes {
		if nodes[i].IsLoop() {
			renumberNodes(nodes[i].Body, number)
			continue
		}
		nodes[i].Group = number[nodes[i].Group]
	}
}

func (p *Pattern) addCollectives(records []*record) {
	for rank, r := range records {
		for _, c := range r.collectives {
			at := slices.IndexFunc(p.Operations,
				func(o Collective) bool { return o.Kind == c.kind && o.Group == c.group && o.Root == c.root })
			if at < 0 {
				at = len(p.Operations)
				p.Operations = append(p.Operations, Collective{Kind: c.kind, Group: c.group, Root: c.root})
			}
			o := &p.Operations[at]
			o.Calls = max(o.Calls, c.calls)
			o.Bytes += c.bytes
			o.Seconds += c.seconds / float64(len(p.Groups[c.group]))
			spreadCollective(p.Collective, rank, c.kind, p.Groups[c.group], c.root, c.bytes)
		}
	}
}

func (p *Pattern) addSizes(records []*record) {
	var counts [63]int64
	for _, r := range records {
		for size, n := range r.sizes { // order-free: sums
			counts[size] += n
		}
	}
	for size, n := range counts {
		if n > 0 {
			p.Sizes = append(p.Sizes, Size{1 << size, n})
		}
	}
}

// least is the part of the heaviest pair's traffic below which a pair is no edge.
const least = 0.01

func (p *Pattern) addEdges() {
	heaviest := int64(0)
	between := func(a, b int) int64 {
		return max(p.Bytes[a][b]+p.Collective[a][b], p.Bytes[b][a]+p.Collective[b][a])
	}
	for a := range p.Nodes {
		for b := range a {
			heaviest = max(heaviest, between(a, b))
		}
	}
	p.Edges = []Edge{}
	for a := range p.Nodes {
		for b := a + 1; b < p.Nodes; b++ {
			if w := float64(between(a, b)) / float64(max(heaviest, 1)); w >= least {
				p.Edges = append(p.Edges, Edge{a, b, w})
			}
		}
	}
}
