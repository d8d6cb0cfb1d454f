package capture

// addPhases finds the loops that all their ranks go round together, of those that are
// not in another.
func (p *Pattern) addPhases() {
	sequences := make([][]Node, p.Nodes)
	for r := range p.Ranks {
		sequences[r] = p.Ranks[r].Calls
	}
	p.Phases = []Phase{}
	for _, t := range FindTogether(p.Groups, sequences) {
		ph := Phase{Bytes: squareMatrix(p.Nodes)}
		members := 0
		for r, loop := range t.Loops {
			if loop == nil {
				continue
			}
			members++
			ph.Rounds = max(ph.Rounds, loop.Rounds)
			ph.Seconds += float64(loop.Rounds) * CapturedTime(loop.Body)
			p.addBytes(ph.Bytes, r, loop.Body, loop.Rounds)
		}
		ph.Seconds /= float64(members)
		p.Phases = append(p.Phases, ph)
	}
}

// addBytes adds what a rank sends in nodes to a matrix.
func (p *Pattern) addBytes(m [][]int64, rank int, nodes []Node, times int64) {
	for i := range nodes {
		n := &nodes[i]
		switch {
		case n.IsLoop():
			p.addBytes(m, rank, n.Body, times*n.Rounds)
		case SendsMessage(n.Call) && n.Peer >= 0:
			m[rank][n.Peer] += times * n.Bytes
		case n.Call == "alltoallv" || n.Call == "scatterv":
			group := p.Groups[n.Group]
			for j, much := range n.List {
				if j < len(group) && group[j] != rank {
					m[rank][group[j]] += times * much
				}
			}
		case IsCollective(n.Call):
			spreadCollective(m, rank, n.Call, p.Groups[n.Group], n.Peer, times*n.Bytes)
		}
	}
}

// TrafficMatrix is what ranks would send in sequences of calls, one for each: messages and
// collective operations.
func (p *Pattern) TrafficMatrix(sequences [][]Node) [][]int64 {
	m := squareMatrix(p.Nodes)
	for r, nodes := range sequences {
		p.addBytes(m, r, nodes, 1)
	}
	return m
}
