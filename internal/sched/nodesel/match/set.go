package match

import "math/bits"

// set is a set of small numbers, one bit each. All sets of one search have the
// same length, so that they combine word by word.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

// fullSet holds 0 … n-1.
func fullSet(n int) set {
	s := newSet(n)
	for i := range s {
		s[i] = ^uint64(0)
	}
	if r := n % 64; r != 0 {
		s[len(s)-1] = 1<<r - 1
	}
	return s
}

func (s set) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }
func (s set) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s set) del(i int)      { s[i>>6] &^= 1 << (i & 63) }

func (s set) count() int {
	n := 0
	for _, x := range s {
		n += bits.OnesCount64(x)
	}
	return n
}

// first is the smallest member, or -1.
func (s set) first() int {
	for i, x := range s {
		if x != 0 {
			return i<<6 + bits.TrailingZeros64(x)
		}
	}
	return -1
}

// next is the smallest member above i, or -1.
func (s set) next(i int) int {
	i++
	w := i >> 6
	if w >= len(s) {
		return -1
	}
	if x := s[w] >> (i & 63); x != 0 {
		return i + bits.TrailingZeros64(x)
	}
	for w++; w < len(s); w++ {
		if s[w] != 0 {
			return w<<6 + bits.TrailingZeros64(s[w])
		}
	}
	return -1
}

func (s set) empty() bool {
	for _, x := range s {
		if x != 0 {
			return false
		}
	}
	return true
}

// keepCommon leaves only what is in o too, and reports whether anything went.
func (s set) keepCommon(o set) bool {
	var gone uint64
	for i := range s {
		gone |= s[i] &^ o[i]
		s[i] &= o[i]
	}
	return gone != 0
}

func (s set) mergeSet(o set) {
	for i := range s {
		s[i] |= o[i]
	}
}

// countCommon is how many are in both.
func (s set) countCommon(o set) int {
	n := 0
	for i := range s {
		n += bits.OnesCount64(s[i] & o[i])
	}
	return n
}
