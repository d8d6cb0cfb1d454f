package nodesel

import (
	"math"
	"slices"
)

// nextBest looks for the best group that differs from the given ones, as without
// sharing: it misses a host of each of them, so the best over the ways to leave such
// hosts out is searched for. It begins with good choices when nothing is shared and
// with the given groups, one host of them exchanged.
func (c *sharing) nextBest(given, good []Group) (Group, bool) {
	last := given[len(given)-1]
	c.value, c.best, c.given = 0, nil, given
	if last.Optimal {
		c.bound = last.Mbps
	}
	for _, g := range good {
		c.considerChoice(g.Hosts)
	}
	for i, g := range given {
		if i > 0 && c.mt.IsOver() {
			break
		}
		c.varyHosts(g.Hosts)
	}
	c.improveBest()
	proven := c.leaveOut()
	if c.best == nil {
		return Group{}, false
	}
	return Group{Hosts: c.best, Mbps: c.value, Optimal: proven && last.Optimal}, true
}

// quickLooks is how many looks at a pair of a choice take no time to speak of.
const quickLooks = 1 << 20

// varyHosts exchanges each host of a choice for each of the others. It is what is left
// when there is no time for a search, so that time stops it only where it is long.
func (c *sharing) varyHosts(group []int) {
	long := len(group)*c.b.n*len(c.p.Edges) > quickLooks
	hosts := slices.Clone(group)
	for p, old := range group {
		for h := range c.b.n {
			if c.value >= c.bound || long && c.best != nil && c.mt.IsOver() {
				return
			}
			if !slices.Contains(group, h) {
				hosts[p] = h
				c.considerChoice(hosts)
			}
		}
		hosts[p] = old
	}
}

// leaveOut looks for better choices without the hosts that are taken: as long as that
// leaves a given
// group whole, a host of it has to go too. false: time was up before all was seen.
func (c *sharing) leaveOut() bool {
	if c.value >= c.bound {
		return true // it cannot get better
	}
	if c.mt.IsOver() {
		return false
	}
	for _, g := range c.given {
		if slices.ContainsFunc(g.Hosts, func(h int) bool { return c.used[h] }) {
			continue
		}
		for _, h := range g.Hosts {
			c.used[h] = true
			seen := c.leaveOut()
			c.used[h] = false
			if !seen {
				return false
			}
		}
		return true
	}
	return c.placeNodes(c.s.ConnectedOrder(), math.Inf(1))
}

// isOneOf reports whether a choice has the hosts of a given group.
func isOneOf(given []Group, hosts []int) bool {
	return slices.ContainsFunc(given, func(g Group) bool {
		return !slices.ContainsFunc(hosts, func(h int) bool { return !slices.Contains(g.Hosts, h) })
	})
}
