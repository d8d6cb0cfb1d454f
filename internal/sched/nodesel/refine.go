package nodesel

import "slices"

// Many choices are worth the same: their slowest pair is equally fast, or the
// same one. A program waits for its other pairs too, so of these choices the one
// is better whose pairs need the least time together for what they send.

// maxPasses is how often all nodes are looked at.
const maxPasses = 20

// refine moves nodes to other hosts, or exchanges two, while that shortens the
// time of all pairs together and makes the slowest no slower. It finds what no
// single move improves, and nothing with the hosts of a given group.
func (q *search) refine(g Group, given []Group) Group {
	if q.s.m*len(q.allowed) > maxRepair {
		return g
	}
	r := &refiner{q: q, hosts: slices.Clone(g.Hosts), floor: g.Mbps, given: given, node: slices.Repeat([]int{-1}, q.b.n)}
	for p, h := range r.hosts {
		r.node[h] = p
	}
	for range maxPasses {
		if !r.pass() {
			break
		}
	}
	g.Hosts, g.Mbps = r.hosts, worth(q.b, q.s, r.hosts) // a choice that was not the best may have become better
	return g
}

type refiner struct {
	q     *search
	hosts []int
	node  []int // on each host, -1 for none
	floor float64
	given []Group
}

// pass looks at every node once. It reports whether any moved.
func (r *refiner) pass() bool {
	moved := false
	for p := range r.hosts {
		if r.q.mt.over() {
			return false
		}
		for _, h := range r.q.allowed {
			if h != r.hosts[p] && r.try(p, h) {
				moved = true
			}
		}
	}
	return moved
}

// try moves a node to a host, whose node comes in its place, if that is better.
func (r *refiner) try(p, h int) bool {
	from, o := r.hosts[p], r.node[h]
	before := r.time(p)
	if o >= 0 {
		before += r.time(o)
	}
	r.put(p, o, h, from)
	after := r.time(p)
	if o >= 0 {
		after += r.time(o)
	}
	// What only rounding makes shorter would be moved for ever.
	if after < before*(1-1e-9) && r.fits(p) && (o < 0 && r.isOther() || o >= 0 && r.fits(o)) {
		return true
	}
	r.put(p, o, from, h)
	return false
}

// put sends p to one host and o, if there is such a node, to another.
func (r *refiner) put(p, o, h, other int) {
	r.hosts[p], r.node[h], r.node[other] = h, p, o
	if o >= 0 {
		r.hosts[o] = other
	}
}

// time is what the pairs of a node need together.
func (r *refiner) time(p int) float64 {
	sum := 0.0
	row := r.q.s.g.adj[p]
	for o := row.first(); o >= 0; o = row.next(o) {
		sum += r.q.s.weights[r.q.s.class[p][o]] / r.q.b.Pair(r.hosts[p], r.hosts[o])
	}
	return sum
}

// fits reports whether no pair of a node is slower than the slowest may be.
func (r *refiner) fits(p int) bool {
	return nodeValue(r.q.b, r.q.s, r.hosts, p, r.hosts[p]) >= r.floor
}

// isOther reports whether the hosts are not those of a given group.
func (r *refiner) isOther() bool {
	return !slices.ContainsFunc(r.given, func(g Group) bool {
		return !slices.ContainsFunc(g.Hosts, func(h int) bool { return r.node[h] < 0 })
	})
}
