package localq

import (
	"math/bits"
	"time"
)

// waiting is the set of backfill candidates. Those of the same shape (same
// processors, same estimate) can only start in order and so form a class, a
// list of which only the first job counts: users round their estimates, so
// there are far fewer classes than jobs. The classes are the leaves of a trie
// over the shape; the two numbers of a leaf are its first and its last job.
type waiting struct {
	trie[shapes]
	byTime bool // the shortest first, instead of the longest waiting
}

type shape struct {
	procs    int32
	estimate time.Duration
}

// shapes sums up a subtree: the bounds of its shapes and the rank of its
// first job.
type shapes struct {
	minProcs, maxProcs int32
	minTime, maxTime   time.Duration
	seq                int64
}

// rank is the order in which candidates are tried: by estimate, which is left
// 0 unless the policy asks for it, then by submission.
type rank struct {
	estimate time.Duration
	seq      int64
}

func (r rank) isBefore(o rank) bool {
	return r.estimate < o.estimate || r.estimate == o.estimate && r.seq < o.seq
}

// firstRank is the rank of the first job; the shortest has the shortest estimate.
func (s *shapes) firstRank(byTime bool) rank {
	if byTime {
		return rank{s.minTime, s.seq}
	}
	return rank{0, s.seq}
}

const (
	firstJob = 0
	lastJob  = 1
)

// addJob appends job at, which was submitted after all others.
func (w *waiting) addJob(jobs []job, at int32) {
	j := &jobs[at]
	leaf, fresh := w.insertLeaf(spaceCode(j.shape))
	j.leaf, j.nextInClass, j.prevInClass = leaf, none, none
	n := &w.nodes[leaf]
	if !fresh {
		last := n.kid[lastJob]
		j.prevInClass, jobs[last].nextInClass = last, at
		n.kid[lastJob] = at
		return
	}
	n.kid = [2]int32{at, at}
	n.summary = shapes{j.procs, j.procs, j.estimate, j.estimate, j.seq}
	w.renewSummaries(n.up)
}

// dropJob takes job at out, wherever it stands.
func (w *waiting) dropJob(jobs []job, at int32) {
	j := &jobs[at]
	n := &w.nodes[j.leaf]
	if j.nextInClass != none {
		jobs[j.nextInClass].prevInClass = j.prevInClass
	} else {
		n.kid[lastJob] = j.prevInClass
	}
	switch {
	case j.prevInClass != none:
		jobs[j.prevInClass].nextInClass = j.nextInClass
	case j.nextInClass != none:
		n.kid[firstJob] = j.nextInClass
		n.summary.seq = jobs[j.nextInClass].seq
		w.renewSummaries(n.up)
	default:
		w.renewSummaries(w.removeLeaf(j.leaf))
	}
}

// renewSummaries recomputes the summaries from at upwards, until one stays the same.
func (w *waiting) renewSummaries(at int32) {
	for at != none {
		n := &w.nodes[at]
		s := w.joinShapes(&w.nodes[n.kid[0]].summary, &w.nodes[n.kid[1]].summary)
		if s == n.summary {
			return
		}
		n.summary = s
		at = n.up
	}
}

func (w *waiting) joinShapes(a, b *shapes) shapes {
	seq := a.seq
	if b.firstRank(w.byTime).isBefore(a.firstRank(w.byTime)) {
		seq = b.seq
	}
	return shapes{
		min(a.minProcs, b.minProcs), max(a.maxProcs, b.maxProcs),
		min(a.minTime, b.minTime), max(a.maxTime, b.maxTime), seq,
	}
}

// spaceCode interleaves the bits of both sides of a shape, each on a
// logarithmic scale, so that shapes near each other in both share a subtree.
// The high part has the first 27 digits of each, the low part the rest, so
// that no two shapes have the same code.
func spaceCode(s shape) (hi, lo uint64) {
	hi = spreadBits(logScale(uint64(s.procs)))<<1 | spreadBits(logScale(uint64(s.estimate)))
	return hi, uint64(s.procs)<<56 | uint64(s.estimate)<<8>>8
}

// logScale is a number in 32 bits that grows with x: 6 bits for its length,
// 26 for what follows the leading 1.
func logScale(x uint64) uint32 {
	length := bits.Len64(x)
	if length == 0 {
		return 0
	}
	mantissa := x << (64 - length) << 1 >> 38
	return uint32(length-1)<<26 | uint32(mantissa)
}

// spreadBits puts a 0 before each bit.
func spreadBits(x uint32) uint64 {
	v := uint64(x)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	v = (v | v<<2) & 0x3333333333333333
	v = (v | v<<1) & 0x5555555555555555
	return v
}
