package match

import (
	"math/rand/v2"
	"slices"
)

// embedder finds a pattern of any shape in a graph. Each node of the pattern
// has a domain, the hosts it may still go to; trying one host for one node
// narrows the other domains, and a domain that runs empty refutes it.
//
// A refuted pair is taken out for good, and with it all pairs that symmetry
// makes equal: nodes that a symmetry of the pattern exchanges while it leaves
// the decided nodes alone, and hosts that are twins in the graph. Both say
// something about all placements that agree with the decisions, not about one
// representative of them, so they may be mixed freely.
type embedder struct {
	s       *Shape
	t       *Target
	rel     []relation
	relOf   [][]int // by pair of nodes: index into rel, -1 for none
	relates []set   // by node: which relations it has
	balls   [][]set // hosts within 1, 2, … steps of each
	twin    []int   // hosts with equal numbers are twins
	degree  []int   // of hosts
	mt      *Meter
	rnd     *rand.Rand // nil: in order
	low     bool       // try poorly connected hosts first
	limit   int        // steps of this run, if above 0
	found   []int
	frames  []*frame // by depth, reused

	scratch set // for the moment
	match   matching
	open    []int
	look    []int // hosts around one, and where to look for more
	lookAt  []set
	looks   int
}

// frame is the state at one depth of the search.
type frame struct {
	dom    []set
	bits   set   // those of all domains, one after the other
	at     []int // the host of a node, -1 while open
	syms   []int // symmetries that leave the decided nodes alone
	revise []bool
}

func newEmbedder(s *Shape, t *Target, mt *Meter) *embedder {
	e := &embedder{s: s, t: t, mt: mt, twin: t.numberTwins(len(s.weights)), scratch: newSet(t.hostCount())}
	e.balls = t.class[0].ballsByDistance(len(s.balls), t.hostCount()*t.hostCount()*7/10)
	e.buildRelations()
	for v := range t.hostCount() {
		e.degree = append(e.degree, t.class[0].vertexDegree(v))
	}
	return e
}

func (e *embedder) frameAt(depth int) *frame {
	for len(e.frames) <= depth {
		w := len(e.scratch)
		f := &frame{at: make([]int, e.s.m), dom: make([]set, e.s.m), bits: make(set, e.s.m*w), revise: make([]bool, e.s.m)}
		for p := range f.dom {
			f.dom[p] = f.bits[p*w : (p+1)*w : (p+1)*w]
		}
		e.frames = append(e.frames, f)
	}
	return e.frames[depth]
}

func (f *frame) copyFrom(o *frame) {
	copy(f.bits, o.bits)
	copy(f.at, o.at)
	copy(f.revise, o.revise)
	f.syms = f.syms[:0]
}

// runOnce searches once from the filtered domains. A run that ends with no, on
// whatever order, is a proof.
func (e *embedder) runOnce(domains []set, limit int, rnd *rand.Rand, low bool) (Answer, []int) {
	e.rnd, e.low, e.limit, e.found = rnd, low, limit, nil
	root := e.frameAt(0)
	for p := range root.dom {
		copy(root.dom[p], domains[p])
		root.at[p] = -1
	}
	root.syms = root.syms[:0]
	for i := range e.s.syms {
		root.syms = append(root.syms, i)
	}
	a := e.searchPairs(0)
	return a, e.found
}

// searchPairs decides pairs of node and host at one depth until the domains answer.
func (e *embedder) searchPairs(depth int) Answer {
	f := e.frameAt(depth)
	for {
		e.limit--
		if e.limit < 0 || !e.mt.SpendSteps(1) {
			return Unknown
		}
		if !e.propagateDomains(f, depth) {
			return No
		}
		p, v := e.choosePair(f)
		if p < 0 {
			e.found = slices.Clone(f.at)
			return Yes
		}
		child := e.frameAt(depth + 1)
		child.copyFrom(f)
		for _, i := range f.syms {
			if e.s.syms[i][p] == p {
				child.syms = append(child.syms, i)
			}
		}
		if e.assignHost(child, p, v) {
			if a := e.searchPairs(depth + 1); a != No {
				return a
			}
		}
		e.refutePair(f, p, v)
	}
}

// refutePair takes a pair out of the domains, and all that are like it.
func (e *embedder) refutePair(f *frame, p, v int) {
	for _, q := range e.s.orbitOf(f.syms, p) {
		if f.at[q] >= 0 {
			continue
		}
		for u := f.dom[q].first(); u >= 0; u = f.dom[q].next(u) {
			if e.twin[u] == e.twin[v] {
				f.dom[q].del(u)
				f.revise[q] = true
			}
		}
	}
}

// orbitOf lists the nodes that some of the symmetries exchange p with, p first.
func (s *Shape) orbitOf(syms []int, p int) []int {
	orbit, seen := []int{p}, newSet(s.m)
	seen.add(p)
	for i := 0; i < len(orbit); i++ {
		for _, k := range syms {
			if q := s.syms[k][orbit[i]]; !seen.has(q) {
				seen.add(q)
				orbit = append(orbit, q)
			}
		}
	}
	return orbit
}

// maxSpare is up to how many hosts more than nodes the search looks at
// domains from the side of the hosts, too.
const maxSpare = 12

// choosePair picks a pair to try: the node with the fewest hosts or, where nearly
// all hosts are needed, the host with the fewest nodes. p is -1 when all nodes
// have their host.
func (e *embedder) choosePair(f *frame) (p, v int) {
	p = -1
	best := 1 << 30
	for q := range f.dom {
		if f.at[q] >= 0 {
			continue
		}
		size := f.dom[q].count()<<10 - e.s.g.vertexDegree(q)
		if p < 0 || size < best {
			p, best = q, size
		}
	}
	if p < 0 {
		return -1, -1
	}
	if host, nodes := e.neediestHost(f); host >= 0 && nodes < best>>10 {
		return e.nodeFor(f, host), host
	}
	return p, e.hostFor(f, p)
}

// neediestHost is the host with the fewest nodes that can go there; not to use it
// counts as one more.
func (e *embedder) neediestHost(f *frame) (host, nodes int) {
	open, usable := 0, e.scratch
	clear(usable)
	for q := range f.dom {
		if f.at[q] < 0 {
			open++
			usable.mergeSet(f.dom[q])
		}
	}
	spare := usable.count() - open
	if spare > maxSpare {
		return -1, 0
	}
	host, nodes = -1, 1<<30
	for v := usable.first(); v >= 0; v = usable.next(v) {
		count := min(spare, 1)
		for q := range f.dom {
			if f.at[q] < 0 && f.dom[q].has(v) {
				count++
			}
		}
		if count < nodes {
			host, nodes = v, count
		}
	}
	return host, nodes
}

func (e *embedder) nodeFor(f *frame, v int) int {
	best := -1
	for q := range f.dom {
		if f.at[q] < 0 && f.dom[q].has(v) && (best < 0 || f.dom[q].count() < f.dom[best].count()) {
			best = q
		}
	}
	return best
}

// hostFor picks a host for a node: well connected ones leave the most room to
// the others, poorly connected ones are of use to nobody else.
func (e *embedder) hostFor(f *frame, p int) int {
	best, bestRank := -1, 0
	for v := f.dom[p].first(); v >= 0; v = f.dom[p].next(v) {
		rank := e.degree[v] << 4
		if e.low {
			rank = -rank
		}
		if e.rnd != nil {
			rank += e.rnd.IntN(64)
		}
		if best < 0 || rank > bestRank {
			best, bestRank = v, rank
		}
	}
	return best
}
