package match

import (
	"math"
	"slices"
)

// Target is the part of a threshold graph that a matcher looks at: for each
// class of weights the pairs of hosts that reach the value in question. A
// harder class has fewer pairs, all of them in the easier ones too.
type Target struct {
	hosts []int // by vertex
	class []*graph
}

func (t *Target) hostCount() int { return len(t.hosts) }

// ThresholdTarget is the graph of what reaches value λ among the allowed hosts.
// mbps holds a row of n bandwidths for each host.
func ThresholdTarget(s *Shape, allowed []int, mbps []float64, n int, value float64) *Target {
	t := &Target{hosts: allowed}
	picked := make([]float64, len(allowed))
	for _, weight := range s.weights {
		cut := leastReaching(value, weight)
		g := newGraph(len(allowed))
		for i, u := range allowed {
			row := mbps[u*n : (u+1)*n]
			if len(allowed) < n {
				for j, v := range allowed {
					picked[j] = row[v]
				}
				row = picked
			}
			g.adj[i].addReaching(row, cut)
			g.adj[i].del(i)
		}
		t.class = append(t.class, g)
	}
	return t
}

// addReaching puts the places into s where a list has at least cut.
func (s set) addReaching(list []float64, cut float64) {
	for w := range s {
		var word uint64
		for k, x := range list[w*64 : min(w*64+64, len(list))] {
			if x >= cut {
				word |= 1 << k
			}
		}
		s[w] = word
	}
}

// leastReaching is the smallest bandwidth that, over the weight, is at least
// value: with the rounding of the division, so that thresholds and values
// agree to the last bit.
func leastReaching(value, weight float64) float64 {
	cut := value * weight
	for cut/weight >= value && cut > 0 {
		cut = math.Nextafter(cut, 0)
	}
	for cut/weight < value {
		cut = math.Nextafter(cut, math.Inf(1))
	}
	return cut
}

// hostsAt are the hosts at some vertices.
func (t *Target) hostsAt(vertices []int) []int {
	hosts := make([]int, len(vertices))
	for i, v := range vertices {
		hosts[i] = t.hosts[v]
	}
	return hosts
}

// IsRuledOut reports whether the structure of the graph alone shows that the pattern does not fit.
func (t *Target) IsRuledOut(s *Shape) bool { return len(t.candidateParts(s)) == 0 }

// partOn is the target on some of its vertices.
func (t *Target) partOn(vertices []int) *Target {
	vertices = slices.Clone(vertices)
	slices.Sort(vertices)
	p := &Target{}
	for _, v := range vertices {
		p.hosts = append(p.hosts, t.hosts[v])
	}
	for _, g := range t.class {
		p.class = append(p.class, g.inducedBy(vertices))
	}
	return p
}

// candidateParts are the places where the pattern can be at all: of what is left of the
// graph when too poor vertices are gone, the connected or biconnected pieces
// that are large and rich enough. None: the pattern does not fit.
func (t *Target) candidateParts(s *Shape) []*Target {
	t = t.pruneSquares(s)
	core := t.class[0].coreOf(s.least)
	var pieces [][]int
	switch {
	case s.biconnected:
		pieces = t.class[0].blocksWithin(core)
	case s.connected:
		pieces = t.class[0].componentsWithin(core)
	default:
		var all []int
		for v := core.first(); v >= 0; v = core.next(v) {
			all = append(all, v)
		}
		pieces = [][]int{all}
	}
	var fit []*Target
	for _, piece := range pieces {
		if len(piece) < s.m {
			continue
		}
		p := t
		if len(piece) < t.hostCount() {
			p = t.partOn(piece)
		}
		if p.isRichEnough(s) {
			fit = append(fit, p)
		}
	}
	slices.SortStableFunc(fit, func(a, b *Target) int { return b.hostCount() - a.hostCount() })
	return fit
}

// isRichEnough compares degrees, the length of paths, and flows: the i-th best connected vertex has at least
// as many neighbours as the i-th node of the pattern, in every class.
func (t *Target) isRichEnough(s *Shape) bool {
	g := t.class[0]
	var degrees []int
	for v := range g.n {
		degrees = append(degrees, g.vertexDegree(v))
	}
	slices.SortFunc(degrees, func(a, b int) int { return b - a })
	for i, d := range s.degrees {
		if degrees[i] < d {
			return false
		}
	}
	if s.kind == line && slices.Max(g.pathBounds(fullSet(g.n))) < s.m {
		return false
	}
	if !g.allowsDegrees(s.most, 2*len(s.edges)) {
		return false
	}
	return !slices.ContainsFunc(t.findSides(s), func(x side) bool { return x.have < x.need })
}
