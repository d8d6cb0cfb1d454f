package localq

import "github.com/godwit-hpc/godwit/internal/sched/core"

// running is the set of running jobs by expected end, those of the same end
// by start. The summary of a subtree is the processors that its jobs hold;
// the first number of a leaf is its job.
type running struct{ trie[int] }

// endKey keeps the order of times in unsigned numbers.
func endKey(t core.Time) uint64 { return uint64(t) ^ 1<<63 }

func endOf(key uint64) core.Time { return core.Time(key ^ 1<<63) }

// addJob takes up a job that holds procs until end; seq sets it apart from
// others with the same end.
func (r *running) addJob(end core.Time, seq int64, procs int, job int32) (leaf int32) {
	leaf, _ = r.insertLeaf(endKey(end), uint64(seq))
	r.nodes[leaf].summary, r.nodes[leaf].kid[0] = procs, job
	at := r.nodes[leaf].up
	if at == none {
		return leaf
	}
	n := &r.nodes[at] // new, and so without a sum yet
	n.summary = r.nodes[n.kid[0]].summary + r.nodes[n.kid[1]].summary
	for at = n.up; at != none; at = r.nodes[at].up {
		r.nodes[at].summary += procs
	}
	return leaf
}

// dropJob takes a job out.
func (r *running) dropJob(leaf int32) {
	procs := r.nodes[leaf].summary
	for at := r.removeLeaf(leaf); at != none; at = r.nodes[at].up {
		r.nodes[at].summary -= procs
	}
}

// earliestRelease is the earliest expected end by which the jobs ending release at
// least need processors, and what they release, counted job by job in order.
// It is core.Never if even all together do not.
func (r *running) earliestRelease(need int) (end core.Time, released int) {
	at := r.root
	if at == none || r.nodes[at].summary < need {
		return core.Never, 0
	}
	for r.nodes[at].bit != isLeaf {
		left := r.nodes[at].kid[0]
		if sum := released + r.nodes[left].summary; sum >= need {
			at = left
		} else {
			released = sum
			at = r.nodes[at].kid[1]
		}
	}
	return endOf(r.nodes[at].hi), released + r.nodes[at].summary
}

// releasedBy is the processors of all jobs expected to end by t.
func (r *running) releasedBy(t core.Time) (procs int) {
	key := endKey(t)
	for at := r.root; at != none; {
		n := &r.nodes[at]
		below := uint64(0) // the bits of hi in which the leaves below differ
		if n.bit >= 64 {
			below = 1<<(n.bit-63) - 1
		}
		switch {
		case key >= n.hi|below:
			return procs + n.summary
		case key < n.hi&^below:
			return procs
		}
		// Then n is an inner node, and key agrees with it down to its bit.
		side := bitOf(key, 0, n.bit)
		if side == 1 {
			procs += r.nodes[n.kid[0]].summary
		}
		at = n.kid[side]
	}
	return procs
}
