package localq

import (
	"math/bits"
	"time"
)

// waiting is the set of backfill candidates. Those of the same shape (same
// processors, same estimate) can only start in order and so form a class, a
// list of which only the first job counts: users round their estimates, so
// there are far fewer classes than jobs. The classes are leaves of a trie
// over the shape.
type waiting struct {
	trie[shapes]
	classes []class
	spare   []int32
	byShape map[shape]int32 // nil in a forecast, where classes only shrink
	byTime  bool            // the shortest first, instead of the longest waiting
}

type shape struct {
	procs    int
	estimate time.Duration
}

type class struct {
	shape
	first, last int32 // jobs
	leaf        int32
}

// shapes sums up a subtree: the bounds of its shapes and its first job.
type shapes struct {
	min, max shape
	first    rank
}

// rank is the order in which candidates are tried: by estimate, which is left
// 0 unless the policy asks for it, then by submission.
type rank struct {
	estimate time.Duration
	seq      int64
}

func (r rank) before(o rank) bool {
	return r.estimate < o.estimate || r.estimate == o.estimate && r.seq < o.seq
}

func newWaiting(byTime bool) waiting {
	return waiting{trie: newTrie[shapes](), byShape: make(map[shape]int32), byTime: byTime}
}

func (w *waiting) copyFrom(o *waiting) {
	w.trie.copyFrom(&o.trie)
	w.classes = append(w.classes[:0], o.classes...)
	w.spare = append(w.spare[:0], o.spare...)
	w.byTime = o.byTime
}

// add appends job at, which was submitted after all others.
func (w *waiting) add(jobs []job, at int32) {
	j := &jobs[at]
	c, known := w.byShape[j.shape]
	if !known {
		c = w.open(j.shape)
	}
	k := &w.classes[c]
	j.class, j.prevInClass, j.nextInClass = c, k.last, none
	if k.last != none {
		jobs[k.last].nextInClass = at
		k.last = at
		return
	}
	k.first, k.last = at, at
	w.climb(k.leaf, w.rankOf(j))
}

// drop takes job at out, wherever it stands.
func (w *waiting) drop(jobs []job, at int32) {
	j := &jobs[at]
	k := &w.classes[j.class]
	if j.prevInClass != none {
		jobs[j.prevInClass].nextInClass = j.nextInClass
	} else {
		k.first = j.nextInClass
	}
	if j.nextInClass != none {
		jobs[j.nextInClass].prevInClass = j.prevInClass
	} else {
		k.last = j.prevInClass
	}
	switch {
	case k.first == none:
		w.close(j.class)
	case j.prevInClass == none:
		w.climb(k.leaf, w.rankOf(&jobs[k.first]))
	}
}

func (w *waiting) rankOf(j *job) rank {
	if w.byTime {
		return rank{estimate: j.estimate, seq: j.seq}
	}
	return rank{seq: j.seq}
}

// open makes an empty class.
func (w *waiting) open(s shape) int32 {
	var c int32
	if n := len(w.spare); n > 0 {
		c, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		c = int32(len(w.classes))
		w.classes = append(w.classes, class{})
	}
	// The number of the class sets it apart from others whose shapes have the
	// same code.
	leaf := w.insert(spaceCode(s), uint64(c))
	w.nodes[leaf].summary = shapes{min: s, max: s}
	w.classes[c] = class{shape: s, first: none, last: none, leaf: leaf}
	if w.byShape != nil {
		w.byShape[s] = c
	}
	return c
}

func (w *waiting) close(c int32) {
	k := &w.classes[c]
	delete(w.byShape, k.shape)
	if changed := w.remove(k.leaf); changed != none {
		w.renew(changed)
	}
	w.spare = append(w.spare, c)
}

// climb gives a leaf its first job and tells the nodes above.
func (w *waiting) climb(leaf int32, first rank) {
	w.nodes[leaf].summary.first = first
	if up := w.nodes[leaf].up; up != none {
		w.renew(up)
	}
}

// renew recomputes the summaries from at upwards, until one stays the same.
func (w *waiting) renew(at int32) {
	for at != none {
		n := &w.nodes[at]
		s := join(&w.nodes[n.kid[0]].summary, &w.nodes[n.kid[1]].summary)
		if s == n.summary {
			return
		}
		n.summary = s
		at = n.up
	}
}

func join(a, b *shapes) shapes {
	first := a.first
	if b.first.before(first) {
		first = b.first
	}
	return shapes{
		min:   shape{min(a.min.procs, b.min.procs), min(a.min.estimate, b.min.estimate)},
		max:   shape{max(a.max.procs, b.max.procs), max(a.max.estimate, b.max.estimate)},
		first: first,
	}
}

// spaceCode interleaves the bits of both sides of a shape, each on a
// logarithmic scale, so that shapes near each other in both share a subtree.
// It is a matter of speed only and may map different shapes to one code.
func spaceCode(s shape) uint64 {
	return spread(logScale(uint64(s.procs)))<<1 | spread(logScale(uint64(s.estimate)))
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

// spread puts a 0 before each bit.
func spread(x uint32) uint64 {
	v := uint64(x)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	v = (v | v<<2) & 0x3333333333333333
	v = (v | v<<1) & 0x5555555555555555
	return v
}
