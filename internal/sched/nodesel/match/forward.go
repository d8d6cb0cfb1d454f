package match

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// forward is a search for patterns with squares in graphs with clusters: groups
// of hosts that are joined to nearly all of their group. Inside a group one host
// is as good as another, and a search that tries them one by one loses itself in
// arrangements that are all alike. So a node first goes to a group as a whole, or
// to a host outside of all groups. Hosts within groups are chosen at the end, and
// only where pairs in question are not joined; the rest is a matching.
//
// The search goes on with the node that has the fewest ways to go on, where those
// whose domain ran empty before come first. Where nearly all hosts are needed, a poorly
// connected one outside of groups has fewer ways still: a corner, say, or it stays free,
// which leaves its neighbours with fewer hosts around them. The search remembers which decisions narrowed
// a domain: a failure that the last decision has no part in undoes earlier ones at
// once (conflict-directed backjumping).
type forward struct {
	e         *embedder
	s         *Shape
	m, n      int
	all       uint64      // nodes
	near      [][]related // by node: its neighbours
	nearTo    []uint64    // the same as a set
	adj       []hostBits  // by host: those it is joined to
	ties      [][]tie     // by node: its neighbours and others that it has something to do with
	firstTie  []int       // by node: the number of its first tie among those of all nodes
	tieCount  int
	sides     []hostBits    // parts of the hosts that few pairs lead out of
	bySides   [2][]hostBits // the same by how many pairs may lead out of them
	groups    []hostBits
	grouped   hostBits               // hosts of all groups
	twins     []hostBits             // by host: those that it can be exchanged with, itself too
	failures  []int                  // by node: how often its domain ran empty
	owner     [maxForwardHosts]uint8 // by host: its node in the matching at hand
	frames    []*forwardFrame
	rnd       *rand.Rand // nil: in order
	mt        *Meter
	limit     int // nodes of the search tree left to this run
	since     int // such nodes since the meter was told
	spent     int // such nodes in all
	nextShave int // from when on domains may be shaved again
	patience  int // nodes of the search tree below one before its domains are shaved
	conflict  uint64
	found     []int
	thorough  bool // nearly all hosts are needed: looking closer pays
}

// related is a node with the hosts that it may have, by the host of another.
type related struct {
	node int
	rows []hostBits
}

// tie is some nodes that have the same to do with another: the hosts that they may have, by
// the host of that one.
type tie struct {
	nodes uint64
	rows  []hostBits
	most  int // hosts that the other can have at most for conclusions to be drawn
}

// forwardFrame is the state at one depth of the search.
type forwardFrame struct {
	dom      []hostBits
	why      []uint64         // by node: the depths whose decisions narrowed its domain
	assigned uint64           // nodes with a host
	inGroup  uint64           // nodes whose hosts are all in one group
	onSide   [maxSides]uint64 // nodes whose hosts are all on one side
	match    []int8           // by node: its host in a matching of nodes and hosts
	syms     []int            // symmetries that leave the decided nodes alone
	covers   []hostBits       // by tie: hosts of its node that go with all hosts of the others
	looked   []hostBits       // by node: its hosts when the room for its neighbours was last looked at
	coarse   uint64           // nodes of whose hosts those in groups were not looked at then
}

// Limits of the forward search.
const (
	maxForwardHosts = 128
	maxForwardNodes = 64
	maxForwardSyms  = 7    // those of a mesh; where more nodes are alike the embedder is better
	minGroup        = 5    // hosts
	nearlyAll       = 80   // % of a group that each member is joined to
	fewHosts        = 8    // domains up to this size are compared with each other
	someHosts       = 16   // domains up to this size narrow those of nodes further away
	moreHosts       = 20   // of domains up to this size hosts of groups leave, too, that have too few around them
	nodesPerStep    = 4    // nodes of the search tree that cost about as much as a step of the embedder
	firstNodes      = 20   // nodes of the search tree for each of the pattern in the first run
	moreNodes       = 8    // times as many in the next
	shavingPart     = 8    // part of a run that trying hosts before it may take
	longSearch      = 1000 // nodes of the search tree below one from which on its domains are shaved
	shavePause      = 4    // times as long as shaving took goes by before the next
	minSide         = 6    // hosts
	fewAcross       = 2    // times as many pairs between two sides as the pattern needs there: few
	manyAcross      = 4    // and many
	fewSpare        = 2    // hosts more than nodes
	lastDepth       = 63   // conflicts of deeper decisions are not told apart
)

// newForward is nil where the search is not for the pattern or the graph is too large.
func newForward(e *embedder) *forward {
	if e.s.squares == nil || len(e.s.syms) > maxForwardSyms || e.s.m > maxForwardNodes ||
		e.t.hostCount() > maxForwardHosts {
		return nil
	}
	f := &forward{e: e, s: e.s, m: e.s.m, n: e.t.hostCount(), mt: e.mt, all: 1<<e.s.m - 1, patience: longSearch}
	f.thorough = f.n-f.m <= fewSpare
	f.findGroups()
	for _, x := range e.t.findSides(e.s) {
		if min(x.hosts.count(), f.n-x.hosts.count()) < minSide {
			continue
		}
		for i, most := range [...]int{fewAcross, manyAcross} {
			if x.have <= most*x.need && len(f.bySides[i]) < maxSides {
				f.bySides[i] = append(f.bySides[i], hostBitsOf(x.hosts))
			}
		}
	}
	f.buildRelations()
	f.twins = make([]hostBits, f.n)
	for v := range f.n {
		for u := range f.n {
			if e.twin[u] == e.twin[v] && f.groupOf(oneHost(u)) == f.groupOf(oneHost(v)) && f.onSameSides(u, v) {
				f.twins[v] = f.twins[v].unionWith(oneHost(u))
			}
		}
	}
	if e.s.failures == nil {
		e.s.failures = slices.Repeat([]int{1}, f.m)
	}
	f.failures = e.s.failures
	return f
}

func (f *forward) buildRelations() {
	rows := make([][]hostBits, len(f.e.rel))
	for r, rel := range f.e.rel {
		rows[r] = make([]hostBits, f.n)
		for v := range f.n {
			rows[r][v] = hostBitsOf(rel.rows[v])
		}
	}
	f.near, f.ties, f.nearTo = make([][]related, f.m), make([][]tie, f.m), make([]uint64, f.m)
	for v := range f.n {
		f.adj = append(f.adj, hostBitsOf(f.e.t.class[0].adj[v]))
	}
	for p := range f.m {
		by := make([]uint64, len(rows)) // by relation: nodes
		for q, r := range f.e.relOf[p] {
			if r < 0 {
				continue
			}
			by[r] |= 1 << q
			if f.s.class[p][q] >= 0 {
				f.near[p] = append(f.near[p], related{q, rows[r]})
				f.nearTo[p] |= 1 << q
			}
		}
		for r, nodes := range by {
			most := someHosts
			if f.e.rel[r].class >= 0 {
				most = f.n
			}
			if nodes != 0 {
				f.ties[p] = append(f.ties[p], tie{nodes, rows[r], most})
			}
		}
		slices.SortStableFunc(f.ties[p], func(a, b tie) int { return b.most - a.most }) // neighbours first
		f.firstTie = append(f.firstTie, f.tieCount)
		f.tieCount += len(f.ties[p])
	}
}

// onSameSides reports whether every decision on a side treats two hosts alike.
func (f *forward) onSameSides(u, v int) bool {
	return !slices.ContainsFunc(slices.Concat(f.bySides[0], f.bySides[1]), func(side hostBits) bool {
		return side.has(u) != side.has(v)
	})
}

// decideWithRestarts searches with restarts: what failed in one run comes first in the next.
// Between runs, hosts are tried for nodes one by one, and what fails leaves the domains.
func (f *forward) decideWithRestarts(dom []set) (Answer, []int) {
	limit, effort := firstNodes*f.m, 0
	for try := uint64(0); limit < nodesPerStep*f.mt.left/4; try++ {
		a, at := f.runBothWays(dom, limit, rand.New(rand.NewPCG(seed, try)))
		if a != Unknown || f.mt.stopped {
			return a, at
		}
		if a, at = f.shaveDomains(dom, effort); a != Unknown || f.mt.stopped {
			return a, at
		}
		limit *= moreNodes
		effort = limit / shavingPart
	}
	return f.runBothWays(dom, nodesPerStep*f.mt.left/2, nil)
}

func (f *forward) runBothWays(dom []set, limit int, rnd *rand.Rand) (Answer, []int) {
	if slices.Equal(f.bySides[0], f.bySides[1]) {
		f.sides = f.bySides[0]
		return f.runOnce(dom, 2*limit, rnd)
	}
	first := 0
	if f.s.decided[1] > f.s.decided[0] {
		first = 1
	}
	for _, way := range [2]int{first, 1 - first} {
		f.sides = f.bySides[way]
		a, at := f.runOnce(dom, limit, rnd)
		if a != Unknown {
			f.s.decided[way]++
		}
		if a != Unknown || f.mt.stopped {
			return a, at
		}
	}
	return Unknown, nil
}

// runOnce searches once from the filtered domains. no is a proof. What is refuted before any
// decision leaves the domains for good.
func (f *forward) runOnce(domains []set, limit int, rnd *rand.Rand) (Answer, []int) {
	f.limit, f.rnd, f.found = limit, rnd, nil
	root := f.rootFrame(domains)
	if !f.settleDomains(root, f.all) {
		return No, nil
	}
	a := f.searchNodes(0)
	if a == Unknown {
		root.copyDomains(domains)
	}
	return a, f.found
}

// rootFrame is the state before any decision.
func (f *forward) rootFrame(domains []set) *forwardFrame {
	root, hosts, every := f.frameAt(0), hostBitsOf(fullSet(f.n)), hostBits{^uint64(0), ^uint64(0)}
	root.assigned, root.inGroup, root.onSide, root.coarse = 0, 0, [maxSides]uint64{}, f.all
	for p := range root.dom {
		root.dom[p], root.why[p], root.match[p], root.looked[p] = hostBitsOf(domains[p]), 0, noHost, hosts
	}
	for i := range root.covers {
		root.covers[i] = every // not known yet
	}
	root.syms = identityImage(len(f.s.syms))
	return root
}

func (f *forward) frameAt(depth int) *forwardFrame {
	for len(f.frames) <= depth {
		f.frames = append(f.frames, &forwardFrame{dom: make([]hostBits, f.m), why: make([]uint64, f.m),
			match: make([]int8, f.m), covers: make([]hostBits, f.tieCount), looked: make([]hostBits, f.m)})
	}
	return f.frames[depth]
}

// spendNode takes one node of the search tree from the limits.
func (f *forward) spendNode() bool {
	f.limit--
	f.spent++
	if f.since++; f.since == nodesPerStep {
		f.since = 0
		if !f.mt.SpendSteps(1) {
			return false
		}
	}
	return f.limit >= 0
}

// searchNodes decides one node after the other: it gets some hosts or, once that is
// refuted, it does not. When search says no, conflict holds the depths whose
// decisions rule a placement out.
func (f *forward) searchNodes(depth int) Answer {
	fr := f.frameAt(depth)
	start := f.spent
	for {
		if !f.spendNode() {
			return Unknown
		}
		p, value := f.chooseNode(fr)
		if p < 0 {
			return f.finishMatching(fr)
		}
		if f.descendInto(fr, depth, p, value) {
			if a := f.searchNodes(depth + 1); a != No {
				return a
			}
		}
		if !f.refuteDecision(fr, depth, p, value) {
			return No
		}
		if f.spent-start > f.patience && f.spent > f.nextShave {
			if a := f.shaveFrame(fr, depth); a != Unknown {
				return a
			}
			start = f.spent
		}
	}
}

// descendInto makes the state of the next depth: as this one, with part of a node's
// domain.
func (f *forward) descendInto(fr *forwardFrame, depth, p int, value hostBits) bool {
	child := f.frameAt(depth + 1)
	copy(child.dom, fr.dom)
	copy(child.why, fr.why)
	copy(child.match, fr.match)
	copy(child.covers, fr.covers)
	copy(child.looked, fr.looked)
	child.assigned, child.inGroup, child.onSide, child.coarse = fr.assigned, fr.inGroup, fr.onSide, fr.coarse
	child.syms = child.syms[:0]
	for _, i := range fr.syms {
		if f.s.syms[i][p] == p {
			child.syms = append(child.syms, i)
		}
	}
	child.dom[p] = value
	child.why[p] = 1 << min(depth, lastDepth) // whatever narrowed it before
	return f.settleDomains(child, 1<<p)
}

// refuteHosts takes hosts out of a node's domain, with all that symmetry makes equal. It
// reports which domains changed, and false if one is empty.
func (f *forward) refuteHosts(fr *forwardFrame, p int, value hostBits, why uint64) (changed uint64, ok bool) {
	if value.isOne() {
		value = f.twins[value.first()]
	}
	if len(fr.syms) == 0 {
		return 1 << p, f.narrowDomain(fr, p, fr.dom[p].without(value), why, &changed)
	}
	for _, q := range f.s.orbitOf(fr.syms, p) {
		if fr.assigned>>q&1 == 0 && !f.narrowDomain(fr, q, fr.dom[q].without(value), why, &changed) {
			return changed, false
		}
	}
	return changed, true
}

// pickValue is what of a domain is tried next: a group where groups are tried as a
// whole, else a well connected host.
func (f *forward) pickValue(fr *forwardFrame, p int, whole bool) hostBits {
	d := fr.dom[p]
	for _, g := range f.groups {
		if x := d.intersectWith(g); whole && !x.empty() {
			return x
		}
	}
	best, bestRank := -1, 0
	for ; !d.empty(); d = d.butFirst() {
		v := d.first()
		rank := f.e.degree[v] << 4
		if f.rnd != nil {
			rank += f.rnd.IntN(64)
		}
		if best < 0 || rank > bestRank {
			best, bestRank = v, rank
		}
	}
	return oneHost(best)
}

// chooseNode picks the node to go on with and what to try for it. -1: what is left is a
// matching.
func (f *forward) chooseNode(fr *forwardFrame) (p int, value hostBits) {
	for i, side := range f.sides {
		if p, value = f.chooseSide(fr, side, f.all&^(fr.assigned|fr.onSide[i])); p >= 0 {
			return p, value
		}
	}
	p = -1
	best := 0.0
	least := 1 << 30
	for left := f.all &^ (fr.assigned | fr.inGroup); left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		// Of equals the one with more neighbours.
		options := f.countOptions(fr.dom[q])
		least = min(least, options)
		score := float64(options)/float64(f.failures[q]) - 1e-6*float64(len(f.near[q]))
		if p < 0 || score < best {
			p, best = q, score
		}
	}
	if p >= 0 {
		if host, q := f.neediestHost(fr, least); host >= 0 {
			return q, oneHost(host)
		}
		return p, f.pickValue(fr, p, true)
	}
	for left := fr.inGroup &^ fr.assigned; left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		if score := float64(fr.dom[q].count()) / float64(f.failures[q]); (p < 0 || score < best) && f.isMixed(fr, q) {
			p, best = q, score
		}
	}
	if p < 0 {
		return -1, value
	}
	return p, f.pickValue(fr, p, false)
}

// chooseSide picks one of some nodes that can be on both sides, and the side to try.
func (f *forward) chooseSide(fr *forwardFrame, side hostBits, nodes uint64) (p int, value hostBits) {
	p = -1
	best := 0.0
	for ; nodes != 0; nodes &= nodes - 1 {
		q := bits.TrailingZeros64(nodes)
		here := fr.dom[q].intersectWith(side)
		there := fr.dom[q].without(side)
		if score := float64(min(here.count(), there.count())) / float64(f.failures[q]); p < 0 || score < best {
			if p, best, value = q, score, here; there.count() > here.count() {
				value = there
			}
		}
	}
	return p, value
}

// neediestHost is the host outside of groups with the fewest nodes that can go there, if
// those are fewer than a limit, and one of them. Not to use the host counts as one more.
func (f *forward) neediestHost(fr *forwardFrame, limit int) (host, node int) {
	var count [maxForwardHosts]uint8
	var last [maxForwardHosts]uint8
	var usable hostBits
	var skip uint64
	open := 0
	for left := f.all &^ fr.assigned; left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		d := fr.dom[q]
		open++
		usable = usable.unionWith(d)
		if skip>>q&1 != 0 {
			continue
		}
		if len(fr.syms) > 0 {
			for _, o := range f.s.orbitOf(fr.syms, q) {
				skip |= 1 << o
			}
		}
		for d = d.without(f.grouped); !d.empty(); d = d.butFirst() {
			v := d.first()
			count[v]++
			last[v] = uint8(q)
		}
	}
	spare := usable.count() - open
	if spare > maxSpare {
		return -1, -1
	}
	host = -1
	for some := usable.without(f.grouped); !some.empty(); some = some.butFirst() {
		v := some.first()
		if n := int(count[v]) + min(spare, 1); n < limit {
			host, limit, node = v, n, int(last[v])
		}
	}
	return host, node
}

// countOptions is how many ways to go on a domain has.
func (f *forward) countOptions(d hostBits) int {
	n := d.without(f.grouped).count()
	for _, g := range f.groups {
		if d.meets(g) {
			n++
		}
	}
	return n
}

// isMixed reports whether it matters which of its hosts a node gets: some of them do
// not go with some of a neighbour's.
func (f *forward) isMixed(fr *forwardFrame, q int) bool {
	d := fr.dom[q]
	for _, r := range f.near[q] {
		if fr.assigned>>r.node&1 != 0 {
			continue
		}
		for left := d; !left.empty(); left = left.butFirst() {
			v := left.first()
			if !fr.dom[r.node].without(oneHost(v)).isWithin(r.rows[v]) {
				return true
			}
		}
	}
	return false
}
