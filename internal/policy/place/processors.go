package place

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/nodesel"
	"github.com/godwit-hpc/godwit/internal/world"
)

// Processors chooses those of a cluster that a component gets: the next free ones,
// or, where it is known who talks to whom in it and how well the hosts are
// connected, those of the hosts that suit it best (papers/002); before all, those
// where a trial run of it was fastest. The caller has made sure that there are enough.
func Processors(c *world.Cluster, comp *core.Component, n int) core.ProcSet {
	for _, t := range comp.Trials {
		if procs := ofTrial(c, &t, n); procs != nil {
			return procs
		}
	}
	if procs := byPattern(c, comp.Pattern, n); procs != nil {
		return procs
	}
	return c.Choose(n, nil)
}

// ofTrial is nil if not all hosts of a trial have room.
func ofTrial(c *world.Cluster, t *core.Trial, n int) core.ProcSet {
	if t.Cluster != c.ID() || n%len(t.Hosts) != 0 {
		return nil
	}
	var procs core.ProcSet
	for _, h := range t.Hosts {
		more, ok := core.ProcSet(nil), false
		if h < c.Hosts() {
			more, ok = c.ChooseOn(h, n/len(t.Hosts), nil)
		}
		if !ok {
			return nil
		}
		procs = procs.Union(more)
	}
	return procs
}

// byPattern is nil if there is no pattern, no network, or no way to choose by them.
func byPattern(c *world.Cluster, p *core.Pattern, n int) core.ProcSet {
	if p == nil || c.Network() == nil || n%p.Nodes != 0 {
		return nil
	}
	each := n / p.Nodes
	var able []int // hosts with room for a node
	for h := range c.Hosts() {
		if _, ok := c.ChooseOn(h, each, nil); ok {
			able = append(able, h)
		}
	}
	sel := selectAmong(c.Network(), p, able)
	if sel == nil {
		return nil
	}
	var procs core.ProcSet
	for _, i := range sel.Hosts {
		more, _ := c.ChooseOn(able[i], each, nil)
		procs = procs.Union(more)
	}
	return procs
}

// Hosts is the order in which a component's hosts suit its nodes: node i of the
// pattern goes on the i-th; and what its slowest pair has then, in Mbit/s for each
// unit of weight. nil: there is none, or the processors are not those of as many
// hosts as it has nodes.
func Hosts(c *world.Cluster, p *core.Pattern, procs core.ProcSet) ([]int, float64) {
	if p == nil || c.Network() == nil {
		return nil, 0
	}
	hosts := c.HostsOf(procs)
	if len(hosts) != p.Nodes {
		return nil, 0
	}
	sel := selectAmong(c.Network(), p, hosts)
	if sel == nil {
		return nil, 0
	}
	order := make([]int, p.Nodes)
	for node, i := range sel.Hosts {
		order[node] = hosts[i]
	}
	return order, sel.Mbps
}

// patience is how often the search asks whether to go on: some milliseconds for a
// pattern of ordinary size, and the same choice on every machine.
const patience = 4000

// selectAmong puts the pattern on some of the hosts. The choice is numbered by
// their place in the list.
func selectAmong(net *core.Network, p *core.Pattern, hosts []int) *nodesel.Selection {
	b := nodesel.NewBandwidths(len(hosts))
	for i, u := range hosts {
		for j, v := range hosts[:i] {
			b.Raise(i, j, net.Pair(u, v))
		}
	}
	pattern := &nodesel.Pattern{Name: p.Name, Nodes: p.Nodes}
	for _, t := range p.Pairs {
		pattern.Edges = append(pattern.Edges, nodesel.Edge(t))
	}
	asked := 0
	sel, err := nodesel.Select(b, pattern, nodesel.Options{Groups: 1, Stop: func() bool { asked++; return asked > patience }})
	if err != nil {
		return nil
	}
	return sel
}
