package nodesel

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
)

// addGroups adds the best groups that differ to a selection, as far as time allows.
func (q *search) addGroups(sel *Selection, o Options) {
	if o.StopGroups != nil {
		q.mt = match.NewMeter(o.StopGroups)
	}
	sel.Groups = q.otherGroups(sel.Group, o.Groups)
}

// otherGroups finds the best groups that differ: each uses another set of hosts
// than all before it. A set that differs from given ones misses a host of each
// of them, so the best of them is the best over the ways to leave such hosts
// out; larger ones of these ways hold no better choice and are not looked at.
func (q *search) otherGroups(first Group, count int) []Group {
	groups := []Group{first}
	for len(groups) < count {
		g, ok := q.nextBest(groups)
		if !ok {
			break
		}
		groups = append(groups, g)
	}
	return groups
}

// nextBest looks for the best group that differs from the given ones.
func (q *search) nextBest(given []Group) (Group, bool) {
	n := &runnerUp{q: q, given: given, top: len(q.values), proven: true}
	last := given[len(given)-1]
	if last.Optimal {
		i, _ := slices.BinarySearch(q.values, last.Mbps)
		n.top = i + 1
	}
	n.varyHosts()
	n.leaveOut(nil)
	if n.best == nil {
		return Group{}, false
	}
	return q.refineGroup(Group{Hosts: n.best, Mbps: q.values[n.low], Optimal: n.proven && last.Optimal}, given), true
}

// varyHosts exchanges one host of a given group for another: a quick choice that
// the search can only improve, and what is left when there is no time for it.
func (n *runnerUp) varyHosts() {
	for _, g := range n.given {
		hosts := slices.Clone(g.Hosts)
		for p, old := range g.Hosts {
			for _, h := range n.q.allowed {
				if slices.Contains(g.Hosts, h) {
					continue
				}
				hosts[p] = h
				if n.best == nil || nodeValue(n.q.b, n.q.s, hosts, p, h) > n.q.values[n.low] {
					n.considerChoice(hosts)
				}
			}
			hosts[p] = old
		}
	}
}

// considerChoice takes a choice that no given group equals if it is better.
func (n *runnerUp) considerChoice(hosts []int) {
	i, ok := slices.BinarySearch(n.q.values, choiceValue(n.q.b, n.q.p, hosts))
	if !ok || n.best != nil && i <= n.low {
		return
	}
	sorted := slices.Sorted(slices.Values(hosts))
	for _, g := range n.given {
		if slices.Equal(sorted, slices.Sorted(slices.Values(g.Hosts))) {
			return
		}
	}
	n.low, n.best = i, slices.Clone(hosts)
}

type runnerUp struct {
	q      *search
	given  []Group
	top    int // nothing from values[top] on can be had
	low    int
	best   []int
	proven bool
}

// leaveOut looks for the best choice without some hosts. While it is one of the
// given groups, a host of that has to go too.
func (n *runnerUp) leaveOut(out []int) {
	if n.q.mt.IsOver() {
		n.proven = false
		return
	}
	if n.best != nil && n.low == n.top-1 {
		return // it cannot get better
	}
	for _, g := range n.given {
		if slices.ContainsFunc(g.Hosts, func(h int) bool { return slices.Contains(out, h) }) {
			continue
		}
		for _, h := range g.Hosts {
			n.leaveOut(append(slices.Clone(out), h))
		}
		return
	}
	n.solveWithout(out)
}

// solveWithout asks only for what is better than the best so far.
func (n *runnerUp) solveWithout(out []int) {
	q := &search{b: n.q.b, p: n.q.p, s: n.q.s, values: n.q.values, low: -1, high: n.top, mt: n.q.mt}
	for _, h := range n.q.allowed {
		if !slices.Contains(out, h) {
			q.allowed = append(q.allowed, h)
		}
	}
	if len(q.allowed) < q.p.Nodes {
		return
	}
	if n.best != nil {
		q.low = n.low
	}
	q.runUp()
	if q.best != nil {
		n.low, n.best = q.low, q.best
	}
	n.proven = n.proven && q.high-q.low <= 1
}

// runUp is optimise for a value that is likely close to high: it first asks
// for the values just below it.
func (q *search) runUp() {
	for step := 1; q.high-step > q.low && q.isOpen(); step *= 4 {
		if q.decideValue(q.high-step, match.Either, 4*firstEffort) == match.Yes {
			break
		}
	}
	for effort := firstEffort; q.isOpen() && effort < maxEffort; effort *= 4 {
		q.runRound(effort)
	}
}
