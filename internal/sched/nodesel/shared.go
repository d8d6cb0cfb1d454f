package nodesel

import (
	"cmp"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
)

// SelectShared puts a pattern on hosts as Select does, but lets the pairs of the
// pattern share links: a link that several of them pass is divided among them, in
// proportion to their weights. The value of a choice is then the least, over the
// links, of bandwidth over the weights that pass it; it is never more than what
// Select gives it, so that Select's bound holds here too.
//
// It begins with the choices of Select, improves them by exchanging hosts, and
// then searches in depth for a better one until there is none or time is up. A
// partial choice is left where its links are already too full; of hosts that can
// be exchanged for one another only the first free one is tried.
func SelectShared(n *Network, b *Bandwidths, p *Pattern, o Options) (*Selection, error) {
	apart, err := Select(roundedBy(o.Alike, b), p, Options{Groups: o.Groups, Stop: o.Stop, StopGroups: o.StopGroups})
	if err != nil {
		return nil, err
	}
	c := newSharing(n, b, p, o)
	truth := c.r.mbps
	if o.Alike > 0 {
		// The paths stay those of the true network, so that what is known of rounded
		// links holds, but for a step, for the true ones.
		c.r.mbps = slices.Clone(truth)
		for l, x := range truth {
			c.r.mbps[l] = roundDown(x, o.Alike)
		}
	}
	c.bound = apart.Bound
	c.measureAccess(n)
	sel, err := c.searchBest(apart, o)
	if err == nil && o.Alike > 0 {
		c.r.mbps = truth
		sel.undoRounding(o.Alike, c.worthOf, func(most float64) float64 { return most })
	}
	return sel, err
}

func newSharing(n *Network, b *Bandwidths, p *Pattern, o Options) *sharing {
	return &sharing{b: b, p: p, s: match.NewShape(p), r: n.findRoutes(), alike: n.numberAlike(b),
		mt: match.NewMeter(o.Stop), whole: make([]float64, len(n.Links)), load: make([]float64, len(n.Links)),
		at: slices.Repeat([]int{-1}, p.Nodes), used: make([]bool, b.n)}
}

// searchBest finds the best choice and then those that differ, beginning with choices
// that are good when nothing is shared.
func (c *sharing) searchBest(apart *Selection, o Options) (*Selection, error) {
	for _, g := range apart.Groups {
		c.considerChoice(g.Hosts)
	}
	c.improveBest()
	proven := c.placeNodes(c.s.ConnectedOrder(), math.Inf(1))
	if c.best == nil {
		return nil, ErrStopped
	}
	best := Group{Hosts: c.best, Mbps: c.value, Optimal: proven}
	sel := &Selection{Group: best, Bound: c.bound, Groups: []Group{best}, Matches: apart.Matches}
	if proven {
		sel.Bound = c.value
	}
	if o.StopGroups != nil {
		c.mt = match.NewMeter(o.StopGroups)
	}
	for len(sel.Groups) < o.Groups {
		g, ok := c.nextBest(sel.Groups, apart.Groups)
		if !ok {
			break
		}
		sel.Groups = append(sel.Groups, g)
	}
	return sel, nil
}

// sharing is the search for a choice whose pairs share links.
type sharing struct {
	b     *Bandwidths
	p     *Pattern
	s     *match.Shape
	r     *routes
	alike []int
	mt    *match.Meter
	bound float64 // no choice is worth more

	access []float64 // by host: all its links together
	talk   []float64 // by node: what it sends in all

	value float64 // of the best choice
	best  []int   // host of each node; nil: none yet
	given []Group // groups whose hosts no choice may have

	whole []float64 // of a whole choice: weight on each link
	load  []float64 // of the choice in the making: weight on each link
	at    []int     // host of each node; -1: none
	used  []bool    // by host
}

// measureAccess finds how much can reach each host and how much each node has to
// say. All that a node says passes the links of its host, so that those who say
// most on the hosts with most bound the value.
func (c *sharing) measureAccess(n *Network) {
	c.access, c.talk = make([]float64, c.b.n), make([]float64, c.p.Nodes)
	for i, l := range n.Links {
		for _, end := range []int{l.A, l.B} {
			if end < c.b.n {
				c.access[end] += c.r.mbps[i]
			}
		}
	}
	for _, e := range c.p.Edges {
		c.talk[e.A] += e.Weight
		c.talk[e.B] += e.Weight
	}
	hosts, nodes := slices.Sorted(slices.Values(c.access)), slices.Sorted(slices.Values(c.talk))
	for i := range nodes {
		if say := nodes[len(nodes)-1-i]; say > 0 {
			c.bound = math.Min(c.bound, hosts[len(hosts)-1-i]/say)
		}
	}
}

// worthOf is the value of a whole choice.
func (c *sharing) worthOf(hosts []int) float64 {
	clear(c.whole)
	least := math.Inf(1)
	for _, h := range hosts {
		least = math.Min(least, c.b.mostOf(h))
	}
	for _, e := range c.p.Edges {
		path := c.r.linksBetween(hosts[e.A], hosts[e.B])
		if path == nil {
			return 0
		}
		for _, l := range path {
			c.whole[l] += e.Weight
			least = math.Min(least, c.r.mbps[l]/c.whole[l])
		}
	}
	return least
}

// considerChoice takes a choice as the best if it is.
func (c *sharing) considerChoice(hosts []int) bool {
	v := c.worthOf(hosts)
	if v <= c.value || isOneOf(c.given, hosts) {
		return false
	}
	c.value, c.best = v, slices.Clone(hosts)
	return true
}

// improveBest exchanges one host for another, or the hosts of two nodes, while that
// helps.
func (c *sharing) improveBest() {
	for better := c.best != nil; better && !c.mt.IsOver(); {
		better = false
		hosts := slices.Clone(c.best)
		for p := range hosts {
			for q := range p {
				hosts[p], hosts[q] = hosts[q], hosts[p]
				better = c.considerChoice(hosts) || better
				hosts[p], hosts[q] = hosts[q], hosts[p]
			}
			old := hosts[p]
			for h := range c.b.n {
				if !slices.Contains(hosts, h) {
					hosts[p] = h
					better = c.considerChoice(hosts) || better
					hosts[p] = old
				}
			}
		}
	}
}

// placeNodes places the nodes that are left, in order, where their links allow more
// than the best choice has. false: time was up before all was seen.
func (c *sharing) placeNodes(order []int, value float64) bool {
	if len(order) == 0 {
		c.considerChoice(c.at)
		return true
	}
	type option struct {
		host  int
		value float64
	}
	var options []option
	var tried []int // kinds of hosts
	for h := range c.b.n {
		if c.used[h] || slices.Contains(tried, c.alike[h]) {
			continue
		}
		tried = append(tried, c.alike[h])
		v := math.Min(value, c.addLoad(order[0], h))
		c.removeLoad(order[0], h)
		if c.talk[order[0]] > 0 {
			v = math.Min(v, c.access[h]/c.talk[order[0]])
		}
		if v > c.value {
			options = append(options, option{h, v})
		}
	}
	slices.SortStableFunc(options, func(x, y option) int { return cmp.Compare(y.value, x.value) })
	for _, o := range options {
		if c.value >= c.bound || !c.mt.SpendSteps(1) {
			return c.value >= c.bound
		}
		if o.value <= c.value {
			return true // the best has become better since, and the rest is worse
		}
		c.addLoad(order[0], o.host)
		c.at[order[0]], c.used[o.host] = o.host, true
		whole := c.placeNodes(order[1:], o.value)
		c.at[order[0]], c.used[o.host] = -1, false
		c.removeLoad(order[0], o.host)
		if !whole {
			return false
		}
	}
	return true
}

// addLoad adds what a node on a host sends to those that are placed, and returns what
// is left of the links it passes.
func (c *sharing) addLoad(node, host int) float64 {
	least := c.b.mostOf(host)
	c.eachLink(node, host, func(l int32, weight float64) {
		c.load[l] += weight
		least = math.Min(least, c.r.mbps[l]/c.load[l])
	}, func() { least = 0 })
	return least
}

// removeLoad takes it away again.
func (c *sharing) removeLoad(node, host int) {
	c.eachLink(node, host, func(l int32, weight float64) {
		if c.load[l] -= weight; c.load[l] < weight*1e-9 {
			c.load[l] = 0 // what rounding left
		}
	}, func() {})
}

func (c *sharing) eachLink(node, host int, link func(l int32, weight float64), none func()) {
	for q := c.s.NextPeer(node, -1); q >= 0; q = c.s.NextPeer(node, q) {
		if c.at[q] < 0 {
			continue
		}
		path := c.r.linksBetween(host, c.at[q])
		if path == nil {
			none()
		}
		for _, l := range path {
			link(l, c.s.PairWeight(node, q))
		}
	}
}
