package match

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// repairer turns a choice into one that reaches a value: it begins with the
// best known, where some pairs are too slow, and moves nodes to other hosts,
// or exchanges two, so that fewer are. A node does not go back for a while
// (tabu search), so that the search leaves what is best only nearby. It proves
// nothing, but where a pattern is large it finds in milliseconds what a search
// in order does not.
type repairer struct {
	s      *Shape
	t      *Target
	rnd    *rand.Rand
	at     []int   // vertex of each node
	owner  []int   // node on each vertex, -1 for none
	slow   []int32 // by node and vertex: pairs that would be too slow for the node there
	barred []int   // by node and vertex: until which step it may not go there
}

// RepairPlacement tries to turn a choice of hosts into one that fits into a target; draw makes the
// choices by chance differ. No: the structure of the target alone rules the pattern out.
func RepairPlacement(s *Shape, t *Target, hosts []int, draw uint64, steps int, mt *Meter) (Answer, []int) {
	parts := t.candidateParts(s)
	if len(parts) == 0 {
		return No, nil
	}
	for _, part := range parts[:min(len(parts), 2)] {
		r := newRepairer(s, part, hosts, draw)
		if r.runSteps(steps, mt) {
			return Yes, part.hostsAt(r.at)
		}
	}
	return Unknown, nil
}

// newRepairer begins with the hosts of a choice where they are in the part.
func newRepairer(s *Shape, t *Target, hosts []int, draw uint64) *repairer {
	r := &repairer{s: s, t: t, rnd: rand.New(rand.NewPCG(seed, draw)), at: slices.Repeat([]int{-1}, s.m),
		owner: slices.Repeat([]int{-1}, t.hostCount()), slow: make([]int32, s.m*t.hostCount()),
		barred: make([]int, s.m*t.hostCount())}
	for p, h := range hosts {
		if v := slices.Index(t.hosts, h); v >= 0 {
			r.at[p], r.owner[v] = v, p
		}
	}
	free := r.rnd.Perm(t.hostCount())
	for p := range r.at {
		for r.at[p] < 0 {
			if v := free[0]; r.owner[v] < 0 {
				r.at[p], r.owner[v] = v, p
			}
			free = free[1:]
		}
	}
	for p := range s.m {
		list := r.slow[p*t.hostCount() : (p+1)*t.hostCount()]
		for u := range list {
			list[u] = int32(s.g.vertexDegree(p))
		}
	}
	nowhere := newSet(t.hostCount())
	for q, v := range r.at {
		r.shiftNeighbours(q, func(*graph) set { return nowhere }, func(g *graph) set { return g.adj[v] })
	}
	return r
}

// shiftNeighbours tells the neighbours of a node that it is no longer near some vertices
// but near others.
func (r *repairer) shiftNeighbours(q int, was, is func(*graph) set) {
	n := r.t.hostCount()
	row := r.s.g.adj[q]
	for p := row.first(); p >= 0; p = row.next(p) {
		g := r.t.class[r.s.class[p][q]]
		list := r.slow[p*n : (p+1)*n]
		from, to := was(g), is(g)
		for w := range to {
			for x := from[w] &^ to[w]; x != 0; x &= x - 1 {
				list[w<<6+bits.TrailingZeros64(x)]++
			}
			for x := to[w] &^ from[w]; x != 0; x &= x - 1 {
				list[w<<6+bits.TrailingZeros64(x)]--
			}
		}
	}
}

func (r *repairer) sendNode(q, v int) {
	at := r.at[q]
	r.shiftNeighbours(q, func(g *graph) set { return g.adj[at] }, func(g *graph) set { return g.adj[v] })
	r.at[q], r.owner[v] = v, q
}

// runSteps reports whether all pairs are fast enough in the end.
func (r *repairer) runSteps(steps int, mt *Meter) bool {
	total := 0
	for p, v := range r.at {
		total += int(r.slow[p*r.t.hostCount()+v])
	}
	least := total
	for step := range steps {
		if total == 0 {
			return true
		}
		if step%16 == 0 && mt.IsOver() {
			return false
		}
		p, v, change := r.bestMove(step, least-total)
		if p < 0 {
			continue
		}
		r.moveNode(p, v, step+10+r.rnd.IntN(10)+total/4)
		total += 2 * change
		least = min(least, total)
	}
	return total == 0
}

// bestMove is the move of a node with slow pairs that leaves the fewest, among
// those that are not barred or lead below what was ever reached.
func (r *repairer) bestMove(step, record int) (p, v, change int) {
	n := r.t.hostCount()
	p, change = -1, 1<<30
	ties := 0
	for q, from := range r.at {
		list := r.slow[q*n : (q+1)*n]
		now := list[from]
		if now == 0 {
			continue
		}
		barred := r.barred[q*n : (q+1)*n]
		for u, then := range list {
			d := int(then - now)
			if u == from || d > change && r.owner[u] < 0 {
				continue
			}
			if o := r.owner[u]; o >= 0 {
				d += r.exchangeCost(q, o)
			}
			if barred[u] > step && 2*d >= record || d > change {
				continue
			}
			if d < change {
				ties = 0
			}
			if ties++; d < change || r.rnd.IntN(ties) == 0 {
				p, v, change = q, u, d
			}
		}
	}
	return p, v, change
}

// exchangeCost is what the owner of a vertex adds to a move that takes it, if it
// goes where the node comes from.
func (r *repairer) exchangeCost(p, o int) int {
	n := r.t.hostCount()
	d := int(r.slow[o*n+r.at[p]] - r.slow[o*n+r.at[o]])
	if c := r.s.class[p][o]; c >= 0 {
		// Both count the other on its own vertex as slow; the pair stays as it is.
		d -= 2
		if !r.t.class[c].adj[r.at[p]].has(r.at[o]) {
			d += 2
		}
	}
	return d
}

func (r *repairer) moveNode(p, v, until int) {
	n := r.t.hostCount()
	from, o := r.at[p], r.owner[v]
	r.owner[from] = -1
	r.sendNode(p, v)
	r.barred[p*n+from] = until
	if o >= 0 {
		r.sendNode(o, from)
		r.barred[o*n+v] = until
	}
}
