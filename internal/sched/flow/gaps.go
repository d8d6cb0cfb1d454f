package flow

import "math"

// none is the index of no gap.
const none = int32(-1)

// A gap is a time in which a core is idle; the last one of a core never ends.
type gap struct {
	start, end  float64
	maxLen      float64 // over the subtree
	maxEnd      float64
	left, right int32
	before      int32 // the gap of the same core before this one
	after       int32
	core        int32
	weight      uint32 // heap order of the treap
}

// gaps holds the idle times of all cores. Those of a group's cores form two
// treaps by start, one of the gaps that end and one of those that do not; they
// answer where a task could begin earliest in O(log n). What a group can offer
// at best stands in flat arrays, so that most groups need not be asked. The gaps
// of one core are linked as well, for questions about a single host.
type gaps struct {
	all   []gap
	free  []int32 // unused places in all
	last  []int32 // the last gap of each core
	seed  uint32
	pause []int32   // of each group, the gaps that end
	tail  []int32   // and those that do not
	idle  []float64 // when its first core is through
	long  []float64 // the longest pause of each group
	until []float64 // when its last pause ends

	blocks                           *blocks // nil: groups are few
	blockIdle, blockLong, blockUntil []float64
}

// newGaps makes every core idle for ever, from now or from when it is free on.
func newGaps(g *Grid, from *State) *gaps {
	n := len(g.groups)
	s := &gaps{last: make([]int32, g.CoreCount()), seed: 1, pause: make([]int32, n), tail: make([]int32, n),
		idle: make([]float64, n), long: make([]float64, n), until: make([]float64, n)}
	for i := range g.groups {
		s.pause[i], s.tail[i] = none, none
		for _, h := range g.groups[i].hosts {
			for c := g.core[h]; c < g.core[h+1]; c++ {
				begin := 0.0
				if from != nil {
					begin = from.Free[c]
				}
				s.tail[i] = s.insertGap(s.tail[i], s.addGap(c, begin, math.Inf(1), none, none))
			}
		}
		s.updateGroup(i)
	}
	if s.blocks = g.blocks; s.blocks != nil {
		n := len(s.blocks.site)
		s.blockIdle, s.blockLong, s.blockUntil = make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			s.noteBlock(int32(i))
		}
	}
	return s
}

// updateGroup brings what the group can offer at best up to date.
func (s *gaps) updateGroup(group int) {
	s.long[group], s.until[group] = -1, -1
	if p := s.pause[group]; p != none {
		s.long[group], s.until[group] = s.all[p].maxLen, s.all[p].maxEnd
	}
	n := s.tail[group]
	for s.all[n].left != none {
		n = s.all[n].left
	}
	s.idle[group] = s.all[n].start
	if s.blockIdle != nil {
		s.noteBlock(s.blocks.of[group])
	}
}

// hasPause tells whether a pause of the group may be long enough.
func (s *gaps) hasPause(group int32, ready, takes float64) bool {
	return s.long[group] >= takes && s.until[group] >= ready+takes
}

// addGap makes a gap of a core between two others.
func (s *gaps) addGap(core int32, start, end float64, before, after int32) int32 {
	s.seed ^= s.seed << 13
	s.seed ^= s.seed >> 17
	s.seed ^= s.seed << 5
	x := gap{start: start, end: end, left: none, right: none, before: before, after: after, core: core, weight: s.seed}
	var n int32
	if len(s.free) > 0 {
		n = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		s.all[n] = x
	} else {
		n = int32(len(s.all))
		s.all = append(s.all, x)
	}
	if before != none {
		s.all[before].after = n
	}
	if after != none {
		s.all[after].before = n
	} else {
		s.last[core] = n
	}
	s.updateNode(n)
	return n
}

// useGap takes [start, end) out of gap n of a group.
func (s *gaps) useGap(group, n int32, start, end float64) {
	x := s.all[n]
	s.pullGap(group, n)
	before, after := x.before, x.after
	if before != none {
		s.all[before].after = after
	}
	if after != none {
		s.all[after].before = before
	}
	s.free = append(s.free, n)
	if x.start < start {
		before = s.addGap(x.core, x.start, start, before, after)
		s.enterGap(group, before)
	}
	if end < x.end {
		s.enterGap(group, s.addGap(x.core, end, x.end, before, after))
	}
	s.updateGroup(int(group))
}

// treapOf is the one of the group that a gap belongs to.
func (s *gaps) treapOf(group, n int32) *int32 {
	if math.IsInf(s.all[n].end, 1) {
		return &s.tail[group]
	}
	return &s.pause[group]
}

func (s *gaps) enterGap(group, n int32) {
	root := s.treapOf(group, n)
	*root = s.insertGap(*root, n)
}

func (s *gaps) pullGap(group, n int32) {
	root := s.treapOf(group, n)
	*root = s.removeGap(*root, n)
}

func (s *gaps) updateNode(n int32) {
	x := &s.all[n]
	x.maxLen, x.maxEnd = x.end-x.start, x.end
	for _, c := range [2]int32{x.left, x.right} {
		if c != none {
			x.maxLen = max(x.maxLen, s.all[c].maxLen)
			x.maxEnd = max(x.maxEnd, s.all[c].maxEnd)
		}
	}
}

// isLess orders by start; of gaps that start together the lower core is the
// greater, because best looks for the greatest.
func (s *gaps) isLess(a, b int32) bool {
	x, y := &s.all[a], &s.all[b]
	if x.start != y.start {
		return x.start < y.start
	}
	return x.core > y.core
}

func (s *gaps) insertGap(root, n int32) int32 {
	if root == none {
		return n
	}
	if s.all[n].weight > s.all[root].weight {
		s.all[n].left, s.all[n].right = s.splitTreap(root, n)
		s.updateNode(n)
		return n
	}
	if s.isLess(n, root) {
		l := s.insertGap(s.all[root].left, n)
		s.all[root].left = l
	} else {
		r := s.insertGap(s.all[root].right, n)
		s.all[root].right = r
	}
	s.updateNode(root)
	return root
}

// splitTreap parts a treap into what is less than gap n and the rest.
func (s *gaps) splitTreap(root, n int32) (less, rest int32) {
	if root == none {
		return none, none
	}
	if s.isLess(root, n) {
		less, rest = s.splitTreap(s.all[root].right, n)
		s.all[root].right = less
		s.updateNode(root)
		return root, rest
	}
	less, rest = s.splitTreap(s.all[root].left, n)
	s.all[root].left = rest
	s.updateNode(root)
	return less, root
}

func (s *gaps) mergeTreaps(a, b int32) int32 {
	switch {
	case a == none:
		return b
	case b == none:
		return a
	case s.all[a].weight > s.all[b].weight:
		s.all[a].right = s.mergeTreaps(s.all[a].right, b)
		s.updateNode(a)
		return a
	}
	s.all[b].left = s.mergeTreaps(a, s.all[b].left)
	s.updateNode(b)
	return b
}

func (s *gaps) removeGap(root, n int32) int32 {
	if root == n {
		return s.mergeTreaps(s.all[n].left, s.all[n].right)
	}
	if s.isLess(n, root) {
		s.all[root].left = s.removeGap(s.all[root].left, n)
	} else {
		s.all[root].right = s.removeGap(s.all[root].right, n)
	}
	s.updateNode(root)
	return root
}

// bestGap is the gap of a group in which a task of so many seconds, whose data is
// there at ready, starts earliest. If several allow it to start at once, it is
// a pause rather than the end of a core, and the one that began last: that
// wastes least.
func (s *gaps) bestGap(group int32, ready, takes float64) (n int32, start float64) {
	if s.hasPause(group, ready, takes) {
		n, start = s.firstFit(s.pause[group], ready, takes)
		if n != none && start <= max(ready, s.idle[group]) {
			return n, start
		}
	}
	return s.firstFit(s.tail[group], ready, takes)
}

// firstFit is the same within one treap; none if nothing fits.
func (s *gaps) firstFit(root int32, ready, takes float64) (n int32, start float64) {
	if n = s.openGap(root, ready, ready+takes); n != none {
		return n, ready
	}
	if n = s.nextGap(root, ready, takes); n != none {
		return n, s.all[n].start
	}
	return none, math.Inf(1)
}

// openGap is the last gap that has begun by ready and lasts until end.
func (s *gaps) openGap(n int32, ready, end float64) int32 {
	for n != none && s.all[n].maxEnd >= end {
		x := &s.all[n]
		if x.start > ready {
			n = x.left
			continue
		}
		if r := s.openGap(x.right, ready, end); r != none {
			return r
		}
		if x.end >= end {
			return n
		}
		n = x.left
	}
	return none
}

// nextGap is the first gap that begins after ready and is long enough.
func (s *gaps) nextGap(n int32, ready, takes float64) int32 {
	for n != none && s.all[n].maxLen >= takes {
		x := &s.all[n]
		if x.start <= ready {
			n = x.right
			continue
		}
		if l := s.nextGap(x.left, ready, takes); l != none {
			return l
		}
		if x.end-x.start >= takes {
			return n
		}
		n = x.right
	}
	return none
}

// bestOf is best among some cores alone. It walks back from the end of each,
// as far as a gap could still be of use.
func (s *gaps) bestOf(first, end int32, ready, takes float64) (n int32, start float64) {
	n, start = none, math.Inf(1)
	for c := first; c < end; c++ {
		for at := s.last[c]; at != none; at = s.all[at].before {
			x := &s.all[at]
			begin := max(ready, x.start)
			if x.end < ready+takes {
				break
			}
			if begin+takes <= x.end && begin < start {
				n, start = at, begin
			}
		}
	}
	return n, start
}
