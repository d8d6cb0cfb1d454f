package place

import (
	"errors"
	"fmt"
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// ChooseProcessors chooses those of a cluster that a component gets: the next free ones,
// or, where it is known who talks to whom in it and how well the hosts are
// connected, those of the hosts that suit it best (papers/002); before all, those
// where a trial run of it, not too long ago, was best. The caller has made sure that
// there are enough.
func ChooseProcessors(now core.Time, c *world.Cluster, comp *core.Component, n int) core.ProcSet {
	for _, t := range comp.Trials {
		if t.Until > 0 && t.Until <= now {
			continue
		}
		if procs := ofTrial(c, &t, n); procs != nil {
			return procs
		}
	}
	if procs := byPattern(c, comp.Pattern, n); procs != nil {
		return procs
	}
	return c.ChooseProcs(n, nil)
}

// ofTrial is nil if not all hosts of a trial have room.
func ofTrial(c *world.Cluster, t *core.Trial, n int) core.ProcSet {
	if t.Cluster != c.ID() || n%len(t.Hosts) != 0 {
		return nil
	}
	var procs core.ProcSet
	for _, h := range t.Hosts {
		more, ok := core.ProcSet(nil), false
		if h < c.HostCount() {
			more, ok = c.ChooseOn(h, n/len(t.Hosts), nil)
		}
		if !ok {
			return nil
		}
		procs = procs.Union(more)
	}
	return procs
}

// byPattern is nil if there is no pattern, or if fewer hosts than it has nodes have
// room for one. Where the hosts cannot be chosen by it they are the first.
func byPattern(c *world.Cluster, p *core.Pattern, n int) core.ProcSet {
	if p == nil || n%p.Nodes != 0 {
		return nil
	}
	each := n / p.Nodes
	hosts := hostsWithRoom(c, each)
	if len(hosts) < p.Nodes {
		return nil
	}
	if sel, err := selectAmong(c.Network(), p, hosts); err == nil {
		hosts = selectHosts(hosts, sel.Hosts)
	}
	var procs core.ProcSet
	for _, h := range hosts[:p.Nodes] {
		more, _ := c.ChooseOn(h, each, nil)
		procs = procs.Union(more)
	}
	return procs
}

// hostsWithRoom lists the hosts with room for a node of a pattern.
func hostsWithRoom(c *world.Cluster, each int) []int {
	var list []int
	for h := range c.HostCount() {
		if _, ok := c.ChooseOn(h, each, nil); ok {
			list = append(list, h)
		}
	}
	return list
}

func selectHosts(hosts, which []int) []int {
	list := make([]int, len(which))
	for node, i := range which {
		list[node] = hosts[i]
	}
	return list
}

// CountSeats is how many hosts of a cluster have room for a node of the component's
// pattern, and whether it has to wait for more of them: a node on processors that
// it does not hold would take them from others. It need not if there is no pattern,
// if a manager chooses the hosts, or if the cluster never has as many.
func CountSeats(v world.View, c *world.Cluster, comp *core.Component) (now int, wait bool) {
	p := comp.Pattern
	if p == nil || c.IsManaged() || v.Empty || v.Reclaim {
		return 0, false
	}
	each, ever := comp.Min/p.Nodes, 0
	for h := range c.HostCount() {
		if c.HostProcs(h) >= each {
			ever++
		}
	}
	now = len(hostsWithRoom(c, each))
	return now, now < p.Nodes && ever >= p.Nodes
}

// Order is the hosts of a component: node i of its pattern goes on the i-th.
type Order struct {
	Hosts []int
	Mbps  float64 // of its slowest pair, for each unit of weight
	Free  float64 // part of a processor that the busiest host has free
	Best  bool    // no other order of them is better
}

// Why the hosts of a component are in no order.
var (
	ErrNothingKnown = errors.New("nothing is known of the network between them")
	ErrGaveUp       = errors.New("no order that suits the pattern was found in the time that there is for one")
)

// OrderHosts is the order in which a component's hosts suit its nodes, or why there is
// none: nothing is known, the search was given up, what is known of the network does
// not suffice, or the processors are not those of as many hosts as it has nodes.
func OrderHosts(c *world.Cluster, p *core.Pattern, procs core.ProcSet) (Order, error) {
	hosts := c.HostsOf(procs)
	if len(hosts) != p.Nodes {
		return Order{}, fmt.Errorf("the pattern needs %d hosts, and the cores of the job are on %d", p.Nodes, len(hosts))
	}
	net := c.Network()
	sel, err := selectAmong(net, p, hosts)
	if err != nil {
		return Order{}, err
	}
	o := Order{Hosts: selectHosts(hosts, sel.Hosts), Mbps: math.Inf(1), Free: 1, Best: sel.Optimal}
	for _, t := range p.Pairs {
		o.Mbps = min(o.Mbps, net.PairBandwidth(o.Hosts[t.A], o.Hosts[t.B])/t.Weight)
	}
	for _, h := range hosts {
		o.Free = min(o.Free, net.FreeOn(h))
	}
	return o, nil
}

// patience is how often the search asks whether to go on: some milliseconds for a
// pattern of ordinary size, and the same choice on every machine.
const patience = 4000

// selectAmong puts the pattern on some of the hosts. The choice is numbered by
// their place in the list. A host with a part of a processor keeps pace with that
// part of what its network could carry.
func selectAmong(net *core.Network, p *core.Pattern, hosts []int) (*nodesel.Selection, error) {
	if !net.HasMeasurements() {
		return nil, ErrNothingKnown
	}
	b := nodesel.NewBandwidths(len(hosts))
	for i, u := range hosts {
		for j, v := range hosts[:i] {
			b.RaisePair(i, j, net.PairBandwidth(u, v)*min(net.FreeOn(u), net.FreeOn(v)))
		}
	}
	pattern := &nodesel.Pattern{Name: p.Name, Nodes: p.Nodes}
	for _, t := range p.Pairs {
		pattern.Edges = append(pattern.Edges, nodesel.Edge(t))
	}
	asked := 0
	sel, err := nodesel.Select(b, pattern, nodesel.Options{Groups: 1, Stop: func() bool { asked++; return asked > patience }})
	if errors.Is(err, nodesel.ErrStopped) {
		return nil, ErrGaveUp
	}
	return sel, err
}
