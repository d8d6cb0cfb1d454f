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

// hasRoom says whether a job of that shape may start.
func (r *room) hasRoom(procs int32, estimate time.Duration) bool {
	return int(procs) <= r.extra || int(procs) <= r.free && estimate <= r.window
}

// search looks for the first job for which there is room.
type search struct {
	*waiting
	room    room
	best    rank
	at      int32 // a subtree all of which fits and that holds the best job
	visited int   // nodes looked at, for the tests
}

// findCandidate is the first waiting job for which there is room, or none.
func (w *waiting) findCandidate(r room) int32 {
	s := search{waiting: w, room: r, best: rank{math.MaxInt64, math.MaxInt64}, at: none}
	return s.searchRoot()
}

func (s *search) searchRoot() (job int32) {
	if s.root == none {
		return none
	}
	s.visitSubtree(s.root)
	if s.at == none {
		return none
	}
	at := s.at
	for s.nodes[at].bit != isLeaf {
		kid := s.nodes[at].kid
		at = kid[0]
		if s.nodes[at].summary.seq != s.best.seq {
			at = kid[1]
		}
	}
	return s.nodes[at].kid[firstJob]
}

// visitSubtree prunes a subtree if it holds nothing better than the best so far, or
// nothing for which there is room; it takes it whole if there is room for all
// of it. What remains are the few subtrees across an edge of the room: with n
// classes spread evenly some √n of them, whatever the mix of shapes.
func (s *search) visitSubtree(at int32) {
	s.visited++
	n := &s.nodes[at]
	sum := &n.summary
	first := sum.firstRank(s.byTime)
	if !first.isBefore(s.best) || !s.room.hasRoom(sum.minProcs, sum.minTime) {
		return
	}
	if s.room.hasRoom(sum.maxProcs, sum.maxTime) {
		s.best, s.at = first, at
		return
	}
	near, far := n.kid[0], n.kid[1]
	if s.nodes[far].summary.firstRank(s.byTime).isBefore(s.nodes[near].summary.firstRank(s.byTime)) {
		near, far = far, near
	}
	s.visitSubtree(near)
	s.visitSubtree(far)
}

// narrowestJob is the fewest processors that a waiting job needs; at least one
// job must wait.
func (w *waiting) narrowestJob() int { return int(w.nodes[w.root].summary.minProcs) }

func (w *waiting) isEmpty() bool { return w.root == none }
