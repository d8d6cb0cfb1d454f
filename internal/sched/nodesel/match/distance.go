package match

// Nodes that are k steps apart in the pattern go to hosts that are at most k
// steps apart, so that as many hosts must lie within k steps of a host as there
// are nodes within k steps of its node. In a network where what is near to one
// is near to the other, the room within a few steps is what trees lack.

// maxReach is up to how many steps are looked at.
const maxReach = 12

// ballsByDistance lists for each vertex what lies within 1, 2, … steps of it. It ends
// where more steps reach no more, or, with a nil, when more than some pairs
// are within reach of each other.
func (g *graph) ballsByDistance(most, pairs int) [][]set {
	balls := [][]set{g.adj}
	for k := 1; k < min(most, maxReach); k++ {
		grown := make([]set, g.n)
		before, after := 0, 0
		for v, near := range balls[k-1] {
			grown[v] = g.expandBall(v, near)
			before += near.count()
			after += grown[v].count()
		}
		if after == before {
			break
		}
		if after > pairs {
			return append(balls, nil)
		}
		balls = append(balls, grown)
	}
	return balls
}

// expandBall is what lies at most a step further from v than some vertices.
func (g *graph) expandBall(v int, near set) set {
	ball := append(set(nil), near...)
	merged := 0
	for u := near.first(); u >= 0; u = near.next(u) {
		ball.mergeSet(g.adj[u])
		if merged++; merged%16 == 0 && ball.count() == g.n {
			break
		}
	}
	ball.del(v)
	return ball
}

// ballAt is what lies within k steps; nil: hardly anything does not.
func ballAt(balls [][]set, k int) []set { return balls[min(k, len(balls))-1] }

// nodeDistance is how far apart two nodes are, or 0 if that is not known.
func (s *Shape) nodeDistance(p, q int) int {
	for k, ball := range s.balls {
		if ball[p].has(q) {
			return k + 1
		}
	}
	return 0
}

// roomAround compares how many hosts lie within so many steps of a host with
// how many nodes lie within as many of a node.
func (e *embedder) roomAround(p, v int) bool {
	for k := 2; k <= len(e.s.balls); k++ {
		hosts := ballAt(e.balls, k)
		if hosts == nil {
			break
		}
		if hosts[v].count() < e.s.balls[k-1][p].count() {
			return false
		}
	}
	return true
}

// farRelation is the relation of nodes that are several steps apart, or -1 if
// nearly all hosts are within as many.
func (e *embedder) farRelation(steps int) int {
	for i, r := range e.rel {
		if r.steps == steps {
			return i
		}
	}
	rows := ballAt(e.balls, steps)
	if rows == nil {
		return -1
	}
	e.rel = append(e.rel, relation{class: -1, steps: steps, rows: rows})
	return len(e.rel) - 1
}
