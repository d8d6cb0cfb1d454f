package localq

import "math/bits"

// none marks a link that leads nowhere.
const none = int32(-1)

// trie is a binary Patricia trie over keys of 128 bits: an ordered set of
// leaves in which every inner node knows the first bit where its two sides
// differ. Its shape depends on the keys alone, so it needs neither rotations
// nor random numbers. Each node carries a summary S of the leaves below; the
// owner of the trie keeps it up to date along the way to the root.
type trie[S any] struct {
	nodes []trieNode[S]
	root  int32
	spare int32 // unused nodes, linked by up
}

type trieNode[S any] struct {
	hi, lo  uint64   // the key; in an inner node one that agrees with all below down to bit
	kid     [2]int32 // in a leaf two numbers of the owner's
	up      int32
	bit     int16 // 127 is the highest bit of hi, 0 the lowest of lo; isLeaf in a leaf
	summary S
}

const isLeaf = int16(-1)

func newTrie[S any]() trie[S] { return trie[S]{root: none, spare: none} }

// insertLeaf adds a leaf for a key, or finds the one that is there. The contents
// of a new leaf and the summaries above it are left to the caller.
func (t *trie[S]) insertLeaf(hi, lo uint64) (leaf int32, fresh bool) {
	if t.root == none {
		t.root = t.newLeaf(hi, lo)
		return t.root, true
	}
	at := t.root
	for t.nodes[at].bit != isLeaf {
		at = t.nodes[at].kid[bitOf(hi, lo, t.nodes[at].bit)]
	}
	if t.nodes[at].hi == hi && t.nodes[at].lo == lo {
		return at, false
	}
	bit := firstDifference(hi, lo, t.nodes[at].hi, t.nodes[at].lo)
	for up := t.nodes[at].up; up != none && t.nodes[up].bit < bit; up = t.nodes[at].up {
		at = up
	}
	leaf = t.newLeaf(hi, lo)
	t.forkAbove(at, leaf, bit)
	return leaf, true
}

func (t *trie[S]) newLeaf(hi, lo uint64) int32 {
	at := t.allocNode()
	n := &t.nodes[at]
	n.hi, n.lo, n.bit, n.up = hi, lo, isLeaf, none
	return at
}

// forkAbove puts an inner node above at, with leaf on its other side.
func (t *trie[S]) forkAbove(at, leaf int32, bit int16) {
	inner := t.allocNode()
	n, l := &t.nodes[inner], &t.nodes[leaf]
	n.hi, n.lo, n.bit, n.up = l.hi, l.lo, bit, t.nodes[at].up
	side := bitOf(l.hi, l.lo, bit)
	n.kid[side], n.kid[1-side] = leaf, at
	t.relinkParent(n.up, at, inner)
	t.nodes[at].up, l.up = inner, inner
}

// removeLeaf takes a leaf out, and the inner node above it, which forks no more.
// It returns the node from which on summaries have changed, or none.
func (t *trie[S]) removeLeaf(leaf int32) (changed int32) {
	inner := t.nodes[leaf].up
	t.freeNode(leaf)
	if inner == none {
		t.root = none
		return none
	}
	n := &t.nodes[inner]
	sibling := n.kid[0]
	if sibling == leaf {
		sibling = n.kid[1]
	}
	changed = n.up
	t.nodes[sibling].up = changed
	t.relinkParent(changed, inner, sibling)
	t.freeNode(inner)
	return changed
}

// relinkParent makes up, or the root, lead to now instead of to before.
func (t *trie[S]) relinkParent(up, before, now int32) {
	switch {
	case up == none:
		t.root = now
	case t.nodes[up].kid[0] == before:
		t.nodes[up].kid[0] = now
	default:
		t.nodes[up].kid[1] = now
	}
}

// allocNode returns a node with an empty summary, so that none above it is taken
// to be up to date because of what the node once held.
func (t *trie[S]) allocNode() int32 {
	if at := t.spare; at != none {
		var empty S
		t.spare, t.nodes[at].summary = t.nodes[at].up, empty
		return at
	}
	t.nodes = append(t.nodes, trieNode[S]{})
	return int32(len(t.nodes) - 1)
}

func (t *trie[S]) freeNode(at int32) {
	t.nodes[at].up = t.spare
	t.spare = at
}

func bitOf(hi, lo uint64, bit int16) int {
	if bit >= 64 {
		return int(hi >> (bit - 64) & 1)
	}
	return int(lo >> bit & 1)
}

func firstDifference(hi, lo, hi2, lo2 uint64) int16 {
	if d := hi ^ hi2; d != 0 {
		return int16(63 + bits.Len64(d))
	}
	return int16(bits.Len64(lo^lo2) - 1)
}
