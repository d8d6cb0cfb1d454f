package world

import (
	"math/bits"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// bitset is a set of processors of one cluster, one bit each.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// withCapacity is the set with room for n members; all of them stay.
func (b bitset) withCapacity(n int) bitset {
	wide := newBitset(n)
	copy(wide, b)
	return wide
}

func (b bitset) addAll(s core.ProcSet)    { b.eachWord(s, func(w *uint64, m uint64) { *w |= m }) }
func (b bitset) removeAll(s core.ProcSet) { b.eachWord(s, func(w *uint64, m uint64) { *w &^= m }) }

// moveAll moves all of s, which are in the set, to another, and counts them.
func (b bitset) moveAll(s core.ProcSet, to bitset) int {
	n := 0
	for _, r := range s {
		n += int(r.Hi - r.Lo)
		for lo := r.Lo; lo < r.Hi; {
			w := lo >> 6
			hi := min(r.Hi, (w+1)<<6)
			mask := (^uint64(0) >> (64 - uint(hi-lo))) << (uint(lo) & 63)
			b[w] &^= mask
			to[w] |= mask
			lo = hi
		}
	}
	return n
}

// containsAny reports whether all of s, or any of s, are in the set.
func (b bitset) containsAny(s core.ProcSet) (all, any bool) {
	all = true
	b.eachWord(s, func(w *uint64, m uint64) {
		all = all && *w&m == m
		any = any || *w&m != 0
	})
	return all, any
}

// eachWord calls f with every word that s touches and the mask of s in it.
func (b bitset) eachWord(s core.ProcSet, f func(w *uint64, mask uint64)) {
	for _, r := range s {
		for lo := r.Lo; lo < r.Hi; {
			w := lo >> 6
			hi := min(r.Hi, (w+1)<<6)
			mask := (^uint64(0) >> (64 - uint(hi-lo))) << (uint(lo) & 63)
			f(&b[w], mask)
			lo = hi
		}
	}
}

func (b bitset) countMembers() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// appendLowest appends the n lowest-numbered members from word `from` on to dst.
func (b bitset) appendLowest(n, from int, dst core.ProcSet) core.ProcSet {
	for i := from; i < len(b) && n > 0; i++ {
		w, base := b[i], int32(i)<<6
		for w != 0 && n > 0 {
			lo := bits.TrailingZeros64(w)
			run := min(bits.TrailingZeros64(^(w >> lo)), n)
			start := base + int32(lo)
			if k := len(dst); k > 0 && dst[k-1].Hi == start {
				dst[k-1].Hi += int32(run)
			} else {
				dst = append(dst, core.Range{Lo: start, Hi: start + int32(run)})
			}
			n -= run
			w &^= (^uint64(0) >> (64 - run)) << lo
		}
	}
	return dst
}
