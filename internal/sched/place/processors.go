package place

import (
	"errors"
	"math"
	"slices"

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
		if t.IsOver(now) {
			continue
		}
		if procs := ofTrial(c, &t, n); procs != nil {
			return procs
		}
	}
	if procs := byPattern(c, comp.Pattern, n); procs != nil {
		return procs
	}
	if comp.OneHost && comp.Pattern == nil {
		if procs := onOneHost(c, n); procs != nil {
			return procs
		}
	}
	return c.ChooseProcs(n, nil)
}

// onOneHost takes processors from the host that has the fewest free of those that have
// enough, so that larger jobs find room later; nil if none has.
func onOneHost(c *world.Cluster, n int) core.ProcSet {
	var best core.ProcSet
	least := math.MaxInt
	for h := range c.HostCount() {
		procs, ok := c.ChooseOn(h, n, nil)
		if free := c.FreeOn(h); ok && free < least {
			best, least = procs, free
		}
	}
	return best
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
// pattern, or for all of it if it is to be on one host, and whether it has to wait for
// more of them: a node on processors that it does not hold would take them from others.
// It need not if neither is the case, if a manager chooses the hosts, or if the cluster
// never has as many.
func CountSeats(v world.View, c *world.Cluster, comp *core.Component) (now int, wait bool) {
	nodes := countNodes(comp)
	if nodes == 0 || c.IsManaged() || v.Empty || v.Reclaim {
		return 0, false
	}
	each, ever := comp.Min/nodes, 0
	for h := range c.HostCount() {
		if c.HostProcs(h) >= each {
			ever++
		}
	}
	now = len(hostsWithRoom(c, each))
	return now, now < nodes && ever >= nodes
}

// countNodes is on how many hosts a component runs, with as many processors on each; 0:
// on any number.
func countNodes(comp *core.Component) int {
	switch {
	case comp.Pattern != nil:
		return comp.Pattern.Nodes
	case comp.OneHost:
		return 1
	}
	return 0
}

// OrderRanks says on which host each node of a component's pattern runs, of those that
// its processors lie on, and why. None: the pattern says nothing, the batch system
// decides, or no order of them is known to be better than another.
func OrderRanks(now core.Time, c *world.Cluster, comp *core.Component, procs core.ProcSet) ([]int, core.Reason) {
	p := comp.Pattern
	if c.IsManaged() {
		return nil, core.Reason{Code: core.RanksByBatchSystem}
	}
	hosts := c.HostsOf(procs)
	if ranks, why := ranksAsTried(now, c, comp, hosts); ranks != nil {
		return ranks, why
	}
	if len(hosts) != p.Nodes {
		return nil, core.Reason{Code: core.RanksOtherHosts, A: float64(p.Nodes), B: float64(len(hosts))}
	}
	net := c.Network()
	sel, err := selectAmong(net, p, hosts)
	switch {
	case errors.Is(err, errNothingKnown):
		return nil, core.Reason{Code: core.RanksNoNetwork}
	case errors.Is(err, errGaveUp):
		return nil, core.Reason{Code: core.RanksGaveUp}
	case err != nil:
		return nil, core.Reason{Code: core.RanksNotConnected}
	}
	ranks, mbps, free := selectHosts(hosts, sel.Hosts), math.Inf(1), 1.0
	for _, e := range p.Edges {
		mbps = min(mbps, net.PairBandwidth(ranks[e.A], ranks[e.B])/e.Weight)
	}
	for _, h := range hosts {
		free = min(free, net.FreeOn(h))
	}
	why := core.Reason{Code: core.RanksSuit, A: mbps, B: free}
	if !sel.Optimal {
		why.Code = core.RanksFound
	}
	return ranks, why
}

// ranksAsTried is the order of the trial run that was made on just these hosts, if one was
// not too long ago.
func ranksAsTried(now core.Time, c *world.Cluster, comp *core.Component, hosts []int) ([]int, core.Reason) {
	count, faster := 0, false
	var ranks []int
	var why core.Reason
	for i := range comp.Trials {
		t := &comp.Trials[i]
		if t.Cluster != c.ID() || t.IsOver(now) {
			continue
		}
		count++
		if ranks == nil && slices.Equal(slices.Sorted(slices.Values(t.Hosts)), hosts) {
			ranks, why = t.Hosts, core.Reason{Code: core.RanksAsTried, A: t.Seconds}
			faster = count > 1
		}
	}
	if why.B = float64(count); faster {
		why.Code, why.B = core.RanksAsTriedLess, 0
	}
	return ranks, why
}

// Why the hosts of a component are in no order.
var (
	errNothingKnown = errors.New("nothing is known of the network between them")
	errGaveUp       = errors.New("no order that suits the pattern was found in the time that there is for one")
)

// patience is how often the search asks whether to go on: some milliseconds for a
// pattern of ordinary size, and the same choice on every machine.
const patience = 4000

// selectAmong puts the pattern on some of the hosts. The choice is numbered by
// their place in the list. A host with a part of a processor keeps pace with that
// part of what its network could carry.
func selectAmong(net *core.Network, p *core.Pattern, hosts []int) (*nodesel.Selection, error) {
	if !net.HasMeasurements() {
		return nil, errNothingKnown
	}
	b := nodesel.NewBandwidths(len(hosts))
	for i, u := range hosts {
		for j, v := range hosts[:i] {
			b.RaisePair(i, j, net.PairBandwidth(u, v)*min(net.FreeOn(u), net.FreeOn(v)))
		}
	}
	asked := 0
	sel, err := nodesel.Select(b, p,
		nodesel.Options{Groups: 1, Stop: func() bool { asked++; return asked > patience }})
	if errors.Is(err, nodesel.ErrStopped) {
		return nil, errGaveUp
	}
	return sel, err
}
