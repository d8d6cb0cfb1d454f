package localq

import (
	"math"
	"time"
)

// room is what a pass may still fill: jobs of at most free processors and at
// most window long, and jobs of at most extra processors however long.
type room struct {
	free   int
	window time.Duration
	extra  int // at most free
}

// has says whether a job of that shape may start.
func (r *room) has(s shape) bool {
	return s.procs <= r.extra || s.procs <= r.free && s.estimate <= r.window
}

// search looks for the first job in a part of the plane of shapes.
type search struct {
	nodes   []trieNode[shapes]
	room    room
	best    rank
	at      int32 // a subtree all of which fits and that holds the best job
	visited int   // nodes looked at, for the tests
}

// candidate is the first waiting job for which there is room, or none.
func (w *waiting) candidate(r room) int32 {
	s := search{nodes: w.nodes, room: r, best: rank{estimate: math.MaxInt64, seq: math.MaxInt64}, at: none}
	return w.classOf(s.run(w.root))
}

// run returns the leaf of the best job below root, or none.
func (s *search) run(root int32) int32 {
	if root == none {
		return none
	}
	s.visit(root)
	if s.at == none {
		return none
	}
	at := s.at
	for s.nodes[at].bit != isLeaf {
		n := &s.nodes[at]
		at = n.kid[0]
		if s.nodes[at].summary.first != s.best {
			at = n.kid[1]
		}
	}
	return at
}

func (w *waiting) classOf(leaf int32) int32 {
	if leaf == none {
		return none
	}
	return w.classes[w.nodes[leaf].lo].first
}

// visit prunes a subtree if it holds nothing better than the best so far, or
// nothing for which there is room; it takes it whole if there is room for all
// of it. What remains are the few subtrees across an edge of the room: with n
// classes spread evenly some √n of them, whatever the mix of shapes.
func (s *search) visit(at int32) {
	s.visited++
	n := &s.nodes[at]
	sum := &n.summary
	if !sum.first.before(s.best) || !s.room.has(sum.min) {
		return
	}
	if s.room.has(sum.max) {
		s.best, s.at = sum.first, at
		return
	}
	near, far := n.kid[0], n.kid[1]
	if s.nodes[far].summary.first.before(s.nodes[near].summary.first) {
		near, far = far, near
	}
	s.visit(near)
	s.visit(far)
}

// narrowest is the fewest processors that a waiting job needs; at least one
// job must wait.
func (w *waiting) narrowest() int { return w.nodes[w.root].summary.min.procs }

func (w *waiting) empty() bool { return w.root == none }
