package match

import (
	"math/bits"
	"slices"
)

// A pattern that is larger than each of two sides of a network lies on both, and so
// many of its edges go across: a mesh 6×6 cannot be cut into parts of 10 nodes and more
// without cutting 6 edges. Where fewer pairs of hosts go across it does not fit, and
// where there are hardly more it pays to decide first which nodes are on which side.

// Limits of what is known of cuts.
const (
	maxCutNodes    = 64
	maxCutFrontier = 8   // nodes; the work doubles with each
	maxCutHosts    = 128 // of a target
	maxSides       = 3   // cuts of a target that a search decides first
)

// leastCuts has for each k the fewest edges between k nodes and the others. It adds the
// nodes one by one and keeps apart only which of them with edges to later ones are among
// the k. nil: those are too many.
func (s *Shape) leastCuts() []int {
	if s.m > maxCutNodes {
		return nil
	}
	var before uint64 // nodes so far
	states := map[uint64][]int{0: {0}}
	for p := range s.m {
		next := map[uint64][]int{}
		frontier := s.frontierOf(before | 1<<p)
		if bits.OnesCount64(frontier) > maxCutFrontier {
			return nil
		}
		near := s.g.adj[p][0] & before
		for in, least := range states { // order-free: each entry takes a minimum
			takeLeast(next, in&frontier, least, 0, bits.OnesCount64(near&in))
			takeLeast(next, (in|1<<p)&frontier, least, 1, bits.OnesCount64(near&^in))
		}
		before |= 1 << p
		states = next
	}
	return states[0]
}

// frontierOf is which of some nodes have neighbours besides them.
func (s *Shape) frontierOf(some uint64) uint64 {
	var f uint64
	for left := some; left != 0; left &= left - 1 {
		if p := bits.TrailingZeros64(left); s.g.adj[p][0]&^some != 0 {
			f |= 1 << p
		}
	}
	return f
}

// takeLeast enters what a state leads to: the number of chosen nodes grows by more, the
// number of cut edges by cut.
func takeLeast(states map[uint64][]int, key uint64, least []int, more, cut int) {
	to := states[key]
	for k, x := range least {
		if x < 0 {
			continue
		}
		for len(to) <= k+more {
			to = append(to, -1)
		}
		if old := to[k+more]; old < 0 || x+cut < old {
			to[k+more] = x + cut
		}
	}
	states[key] = to
}

// side is a part of the hosts that the pattern is too large for, as are the others.
type side struct {
	hosts set
	need  int // edges of the pattern that go across at least
	have  int // edges that can go across
}

// findSides looks for parts of the graph with few edges to the others: of clusters that are
// merged, those with the most edges between them first, and improved by moves of single
// vertices.
func (t *Target) findSides(s *Shape) []side {
	n := t.hostCount()
	if s.cuts == nil || n > maxCutHosts || n > 2*(s.m-1) {
		return nil
	}
	g := t.class[0]
	var found []side
	for _, hosts := range g.mergeCommunities() {
		if size := hosts.count(); size >= s.m || n-size >= s.m {
			continue
		}
		g.reduceCut(hosts, n-s.m+1, s.m-1)
		if hosts.has(0) { // of the two sides of a cut the same one always
			for w := range hosts {
				hosts[w] = ^hosts[w]
			}
			hosts.keepCommon(fullSet(n))
		}
		if slices.ContainsFunc(found, func(o side) bool { return slices.Equal(o.hosts, hosts) }) {
			continue
		}
		size := hosts.count()
		need := slices.Min(s.cuts[s.m-(n-size) : size+1])
		found = append(found, side{hosts: hosts, need: need, have: g.maxEdgesAcross(hosts, s.most)})
	}
	slices.SortStableFunc(found, func(a, b side) int { return (a.have - a.need) - (b.have - b.need) })
	return found
}

// mergeCommunities lists the clusters that arise when vertices are merged step by step, the
// two with the most edges for their size first.
func (g *graph) mergeCommunities() []set {
	list := make([]set, g.n)
	links := make([][]int, g.n)
	size := slices.Repeat([]int{1}, g.n)
	for v := range list {
		list[v], links[v] = newSet(g.n), make([]int, g.n)
		list[v].add(v)
		for u := range g.n {
			if g.adj[v].has(u) {
				links[v][u] = 1
			}
		}
	}
	var all []set
	left := identityImage(g.n)
	for len(left) > 2 {
		a, b := left[0], left[1]
		for i, u := range left {
			for _, v := range left[:i] {
				if links[u][v]*size[a]*size[b] > links[a][b]*size[u]*size[v] {
					a, b = v, u
				}
			}
		}
		list[a].mergeSet(list[b])
		size[a] += size[b]
		for _, u := range left {
			links[a][u] += links[b][u]
			links[u][a] = links[a][u]
		}
		left = slices.DeleteFunc(left, func(v int) bool { return v == b })
		all = append(all, slices.Clone(list[a]))
	}
	return all
}

// reduceCut moves vertices to the side where they have more neighbours, as long as the
// size of the set stays within limits.
func (g *graph) reduceCut(side set, least, most int) {
	for size := side.count(); ; {
		best, gain := -1, 0
		for v := range g.n {
			inside := g.adj[v].countCommon(side)
			d := 2*inside - g.vertexDegree(v) // neighbours inside more than outside
			if side.has(v) {
				if d = -d; size <= least {
					continue
				}
			} else if size >= most {
				continue
			}
			if d > gain {
				best, gain = v, d
			}
		}
		if best < 0 {
			return
		}
		if side.has(best) {
			side.del(best)
			size--
		} else {
			side.add(best)
			size++
		}
	}
}

// maxEdgesAcross bounds how many edges between a side and the others can be used, if each vertex
// uses at most so many.
func (g *graph) maxEdgesAcross(side set, most int) int {
	var from [2]int
	for v := range g.n {
		inside := g.adj[v].countCommon(side)
		if side.has(v) {
			from[0] += min(most, g.vertexDegree(v)-inside)
		} else {
			from[1] += min(most, inside)
		}
	}
	return min(from[0], from[1])
}
