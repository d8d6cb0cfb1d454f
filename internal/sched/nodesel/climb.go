package nodesel

// maxQuickClimb is up to how many nodes times hosts every better choice is improved at
// once; larger ones are at the end.
const maxQuickClimb = 1 << 13

// climbFrom improves a choice by moves of one node to another host, whose node, if there is
// one, comes in its place. A move takes a node off the slowest pairs without making
// another pair as slow, so that there are fewer of them or the slowest is faster. It
// ends where no such move is left.
func (q *search) climbFrom(hosts []int) {
	c := &refiner{q: q, hosts: hosts, node: make([]int, q.b.n)}
	for h := range c.node {
		c.node[h] = -1
	}
	for p, h := range hosts {
		c.node[h] = p
	}
	for c.raiseFloor() {
		continue
	}
}

// raiseFloor makes one move. It reports whether there was any.
func (r *refiner) raiseFloor() bool {
	floor := choiceValue(r.q.b, r.q.p, r.hosts)
	for p := range r.hosts {
		if nodeValue(r.q.b, r.q.s, r.hosts, p, r.hosts[p]) > floor {
			continue
		}
		for _, h := range r.q.allowed {
			if h != r.hosts[p] && r.moveAboveFloor(p, h, floor) {
				return true
			}
		}
	}
	return false
}

// moveAboveFloor moves a node if all pairs that it concerns are above the floor then.
func (r *refiner) moveAboveFloor(p, h int, floor float64) bool {
	from, o := r.hosts[p], r.node[h]
	r.putNodes(p, o, h, from)
	if nodeValue(r.q.b, r.q.s, r.hosts, p, h) > floor && (o < 0 || nodeValue(r.q.b, r.q.s, r.hosts, o, from) > floor) {
		return true
	}
	r.putNodes(p, o, from, h)
	return false
}
