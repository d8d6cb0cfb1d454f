package nodesel

import "slices"

// Many choices are worth the same: their slowest pair is equally fast, or the
// same one. A program waits for its other pairs too, so of these choices the one
// is better whose pairs need the least time together for what they send.

// maxPasses is how often all nodes are looked at.
const maxPasses = 20

// refineGroup moves nodes to other hosts, or exchanges two, while that shortens the
// time of all pairs together and makes the slowest no slower. It finds what no
// single move improves, and nothing with the hosts of a given group.
func (q *search) refineGroup(g Group, given []Group) Group {
	if q.p.Nodes*len(q.allowed) > maxRepair {
		return g
	}
	r := &refiner{q: q, hosts: slices.Clone(g.Hosts), floor: g.Mbps, given: given, node: slices.Repeat([]int{-1}, q.b.n)}
	for p, h := range r.hosts {
		r.node[h] = p
	}
	for range maxPasses {
		if !r.refineOnce() {
			break
		}
	}
	g.Hosts, g.Mbps = r.hosts, choiceValue(q.b, q.p, r.hosts) // a choice that was not the best may have become better
	return g
}

type refiner struct {
	q     *search
	hosts []int
	node  []int // on each host, -1 for none
	floor float64
	given []Group
}

// refineOnce looks at every node once. It reports whether any moved.
func (r *refiner) refineOnce() bool {
	moved := false
	for p := range r.hosts {
		if r.q.mt.IsOver() {
			return false
		}
		for _, h := range r.q.allowed {
			if h != r.hosts[p] && r.tryMove(p, h) {
				moved = true
			}
		}
	}
	return moved
}

// tryMove moves a node to a host, whose node comes in its place, if that is better.
func (r *refiner) tryMove(p, h int) bool {
	from, o := r.hosts[p], r.node[h]
	before := r.nodeTime(p)
	if o >= 0 {
		before += r.nodeTime(o)
	}
	r.putNodes(p, o, h, from)
	after := r.nodeTime(p)
	if o >= 0 {
		after += r.nodeTime(o)
	}
	// What only rounding makes shorter would be moved for ever.
	if after < before*(1-1e-9) && r.isFastEnough(p) && (o < 0 && r.isOther() || o >= 0 && r.isFastEnough(o)) {
		return true
	}
	r.putNodes(p, o, from, h)
	return false
}

// putNodes sends p to one host and o, if there is such a node, to another.
func (r *refiner) putNodes(p, o, h, other int) {
	r.hosts[p], r.node[h], r.node[other] = h, p, o
	if o >= 0 {
		r.hosts[o] = other
	}
}

// nodeTime is what the pairs of a node need together.
func (r *refiner) nodeTime(p int) float64 {
	sum := 0.0
	for o := r.q.s.NextPeer(p, -1); o >= 0; o = r.q.s.NextPeer(p, o) {
		sum += r.q.s.PairWeight(p, o) / r.q.b.PairBandwidth(r.hosts[p], r.hosts[o])
	}
	return sum
}

// isFastEnough reports whether no pair of a node is slower than the slowest may be.
func (r *refiner) isFastEnough(p int) bool {
	return nodeValue(r.q.b, r.q.s, r.hosts, p, r.hosts[p]) >= r.floor
}

// isOther reports whether the hosts are not those of a given group.
func (r *refiner) isOther() bool {
	return !slices.ContainsFunc(r.given, func(g Group) bool {
		return !slices.ContainsFunc(g.Hosts, func(h int) bool { return r.node[h] < 0 })
	})
}
