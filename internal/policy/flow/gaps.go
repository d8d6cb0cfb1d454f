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

// gaps holds the idle times of all cores. Those of a group's cores form one
// treap by start, which answers where a task could begin earliest in O(log n);
// those of one core are linked as well, for questions about a single host.
type gaps struct {
	all  []gap
	free []int32 // unused places in all
	last []int32 // the last gap of each core
	seed uint32
}

// newGaps makes every core idle for ever; roots are the treaps of the groups.
func newGaps(g *Grid) (idle *gaps, roots []int32) {
	idle = &gaps{last: make([]int32, g.Cores()), seed: 1}
	roots = make([]int32, len(g.groups))
	for i := range g.groups {
		roots[i] = none
		for _, h := range g.groups[i].hosts {
			for c := g.core[h]; c < g.core[h+1]; c++ {
				n := idle.add(c, 0, math.Inf(1), none, none)
				roots[i] = idle.insert(roots[i], n)
			}
		}
	}
	return idle, roots
}

// add makes a gap of a core between two others.
func (s *gaps) add(core int32, start, end float64, before, after int32) int32 {
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
	s.update(n)
	return n
}

// use takes [start, end) out of gap n of the treap at root.
func (s *gaps) use(root, n int32, start, end float64) int32 {
	x := s.all[n]
	root = s.remove(root, n)
	before, after := x.before, x.after
	if before != none {
		s.all[before].after = after
	}
	if after != none {
		s.all[after].before = before
	}
	s.free = append(s.free, n)
	if x.start < start {
		before = s.add(x.core, x.start, start, before, after)
		root = s.insert(root, before)
	}
	if end < x.end {
		n = s.add(x.core, end, x.end, before, after)
		root = s.insert(root, n)
	}
	return root
}

func (s *gaps) update(n int32) {
	x := &s.all[n]
	x.maxLen, x.maxEnd = x.end-x.start, x.end
	for _, c := range [2]int32{x.left, x.right} {
		if c != none {
			x.maxLen = max(x.maxLen, s.all[c].maxLen)
			x.maxEnd = max(x.maxEnd, s.all[c].maxEnd)
		}
	}
}

// less orders by start; of gaps that start together the lower core is the
// greater, because best looks for the greatest.
func (s *gaps) less(a, b int32) bool {
	x, y := &s.all[a], &s.all[b]
	if x.start != y.start {
		return x.start < y.start
	}
	return x.core > y.core
}

func (s *gaps) insert(root, n int32) int32 {
	if root == none {
		return n
	}
	if s.all[n].weight > s.all[root].weight {
		s.all[n].left, s.all[n].right = s.split(root, n)
		s.update(n)
		return n
	}
	if s.less(n, root) {
		l := s.insert(s.all[root].left, n)
		s.all[root].left = l
	} else {
		r := s.insert(s.all[root].right, n)
		s.all[root].right = r
	}
	s.update(root)
	return root
}

// split parts a treap into what is less than gap n and the rest.
func (s *gaps) split(root, n int32) (less, rest int32) {
	if root == none {
		return none, none
	}
	if s.less(root, n) {
		less, rest = s.split(s.all[root].right, n)
		s.all[root].right = less
		s.update(root)
		return root, rest
	}
	less, rest = s.split(s.all[root].left, n)
	s.all[root].left = rest
	s.update(root)
	return less, root
}

func (s *gaps) merge(a, b int32) int32 {
	switch {
	case a == none:
		return b
	case b == none:
		return a
	case s.all[a].weight > s.all[b].weight:
		s.all[a].right = s.merge(s.all[a].right, b)
		s.update(a)
		return a
	}
	s.all[b].left = s.merge(a, s.all[b].left)
	s.update(b)
	return b
}

func (s *gaps) remove(root, n int32) int32 {
	if root == n {
		return s.merge(s.all[n].left, s.all[n].right)
	}
	if s.less(n, root) {
		s.all[root].left = s.remove(s.all[root].left, n)
	} else {
		s.all[root].right = s.remove(s.all[root].right, n)
	}
	s.update(root)
	return root
}

// best is the gap of the treap in which a task of so many seconds, whose data
// is there at ready, starts earliest. If several allow it to start at once, it
// is the one that began last, which wastes least.
func (s *gaps) best(root int32, ready, takes float64) (n int32, start float64) {
	if n = s.open(root, ready, ready+takes); n != none {
		return n, ready
	}
	n = s.next(root, ready, takes)
	return n, s.all[n].start
}

// open is the last gap that has begun by ready and lasts until end.
func (s *gaps) open(n int32, ready, end float64) int32 {
	for n != none && s.all[n].maxEnd >= end {
		x := &s.all[n]
		if x.start > ready {
			n = x.left
			continue
		}
		if r := s.open(x.right, ready, end); r != none {
			return r
		}
		if x.end >= end {
			return n
		}
		n = x.left
	}
	return none
}

// next is the first gap that begins after ready and is long enough.
func (s *gaps) next(n int32, ready, takes float64) int32 {
	for n != none && s.all[n].maxLen >= takes {
		x := &s.all[n]
		if x.start <= ready {
			n = x.right
			continue
		}
		if l := s.next(x.left, ready, takes); l != none {
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
