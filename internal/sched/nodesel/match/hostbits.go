package match

import "math/bits"

// hostBits is a set of up to maxForwardHosts hosts, as a value: a search copies
// and compares many of them. It is no array, which the compiler would not keep in registers.
type hostBits struct{ low, high uint64 }

func oneHost(v int) hostBits {
	if v < 64 {
		return hostBits{low: 1 << v}
	}
	return hostBits{high: 1 << (v - 64)}
}

func hostBitsOf(s set) (h hostBits) {
	h.low = s[0]
	if len(s) > 1 {
		h.high = s[1]
	}
	return h
}

// copyTo writes the members into a set of the same hosts.
func (h hostBits) copyTo(s set) {
	s[0] = h.low
	if len(s) > 1 {
		s[1] = h.high
	}
}

func (h hostBits) has(v int) bool {
	if v < 64 {
		return h.low>>v&1 != 0
	}
	return h.high>>(v-64)&1 != 0
}

func (h hostBits) count() int                        { return bits.OnesCount64(h.low) + bits.OnesCount64(h.high) }
func (h hostBits) empty() bool                       { return h.low|h.high == 0 }
func (h hostBits) intersectWith(o hostBits) hostBits { return hostBits{h.low & o.low, h.high & o.high} }
func (h hostBits) unionWith(o hostBits) hostBits     { return hostBits{h.low | o.low, h.high | o.high} }
func (h hostBits) without(o hostBits) hostBits       { return hostBits{h.low &^ o.low, h.high &^ o.high} }

// isWithin reports whether all members are members of another set, too.
func (h hostBits) isWithin(o hostBits) bool { return h.low&^o.low|h.high&^o.high == 0 }

// meets reports whether two sets have a member in common.
func (h hostBits) meets(o hostBits) bool { return h.low&o.low|h.high&o.high != 0 }

// first is the smallest member; of an empty set it is 128.
func (h hostBits) first() int {
	if h.low != 0 {
		return bits.TrailingZeros64(h.low)
	}
	return 64 + bits.TrailingZeros64(h.high)
}

// butFirst is the set without its smallest member.
func (h hostBits) butFirst() hostBits {
	if h.low != 0 {
		return hostBits{h.low & (h.low - 1), h.high}
	}
	return hostBits{0, h.high & (h.high - 1)}
}

// isOne reports whether there is exactly one member.
func (h hostBits) isOne() bool {
	return (h.low == 0) != (h.high == 0) && h.low&(h.low-1)|h.high&(h.high-1) == 0
}
