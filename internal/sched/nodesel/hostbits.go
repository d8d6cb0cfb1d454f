package nodesel

import "math/bits"

// hostBits is a set of up to maxForwardHosts hosts, as a value: a search copies
// and compares many of them.
type hostBits [2]uint64

func oneHost(v int) (h hostBits) {
	h[v>>6] = 1 << (v & 63)
	return h
}

func hostBitsOf(s set) (h hostBits) {
	copy(h[:], s)
	return h
}

func (h hostBits) has(v int) bool                    { return h[v>>6]>>(v&63)&1 != 0 }
func (h hostBits) count() int                        { return bits.OnesCount64(h[0]) + bits.OnesCount64(h[1]) }
func (h hostBits) empty() bool                       { return h[0]|h[1] == 0 }
func (h hostBits) intersectWith(o hostBits) hostBits { return hostBits{h[0] & o[0], h[1] & o[1]} }
func (h hostBits) unionWith(o hostBits) hostBits     { return hostBits{h[0] | o[0], h[1] | o[1]} }
func (h hostBits) without(o hostBits) hostBits       { return hostBits{h[0] &^ o[0], h[1] &^ o[1]} }

// first is the smallest member, or -1.
func (h hostBits) first() int {
	switch {
	case h[0] != 0:
		return bits.TrailingZeros64(h[0])
	case h[1] != 0:
		return 64 + bits.TrailingZeros64(h[1])
	}
	return -1
}

// isOne reports whether there is exactly one member.
func (h hostBits) isOne() bool {
	return (h[0] == 0) != (h[1] == 0) && h[0]&(h[0]-1)|h[1]&(h[1]-1) == 0
}
