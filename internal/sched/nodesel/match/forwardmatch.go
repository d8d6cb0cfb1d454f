package match

import "math/bits"

// noHost is the host of a node that has none in a matching.
const noHost = -1

// matchHosts gives every node a host of its own out of its domain, beginning with what it
// had at the depth before. Where that is impossible, the nodes that compete for too few
// hosts are the conflict. Where some nodes need all hosts that they can have between them,
// the others leave these to them.
func (f *forward) matchHosts(fr *forwardFrame, changed *uint64) bool {
	var taken, usable hostBits
	var missing uint64
	for p, d := range fr.dom {
		usable = usable.unionWith(d)
		if v := fr.match[p]; v != noHost && d.has(int(v)) {
			f.owner[v] = uint8(p)
			taken = taken.unionWith(oneHost(int(v)))
		} else {
			missing |= 1 << p
		}
	}
	for ; missing != 0; missing &= missing - 1 {
		p := bits.TrailingZeros64(missing)
		var seen hostBits
		if f.takeHost(fr, p, &taken, &seen) {
			continue
		}
		f.failures[p]++
		for f.conflict = fr.why[p]; !seen.empty(); seen = seen.butFirst() {
			f.conflict |= fr.why[f.owner[seen.first()]]
		}
		return false
	}
	return f.reserveHosts(fr, usable.without(taken), changed)
}

// takeHost finds a host for a node; those that have it go to another. seen becomes the
// hosts that were asked for.
func (f *forward) takeHost(fr *forwardFrame, p int, taken, seen *hostBits) bool {
	d := fr.dom[p]
	if free := d.without(*taken); !free.empty() {
		v := free.first()
		fr.match[p], f.owner[v] = int8(v), uint8(p)
		*taken = taken.unionWith(oneHost(v))
		return true
	}
	for d = d.without(*seen); !d.empty(); d = d.butFirst().without(*seen) {
		v := d.first()
		*seen = seen.unionWith(oneHost(v))
		if f.takeHost(fr, int(f.owner[v]), taken, seen) {
			fr.match[p], f.owner[v] = int8(v), uint8(p)
			return true
		}
	}
	return false
}

// reserveHosts takes hosts out of domains that others need: nodes that no exchange along
// the matching leads to a free host have no hosts to spare between them.
func (f *forward) reserveHosts(fr *forwardFrame, free hostBits, changed *uint64) bool {
	open := f.all &^ fr.assigned
	tight := open
	for again := true; again; {
		again = false
		for left := tight; left != 0; left &= left - 1 {
			if p := bits.TrailingZeros64(left); fr.dom[p].meets(free) {
				free = free.unionWith(oneHost(int(fr.match[p])))
				tight &^= 1 << p
				again = true
			}
		}
	}
	if tight == 0 || tight == open {
		return true
	}
	var needed hostBits
	var why uint64
	for left := tight; left != 0; left &= left - 1 {
		p := bits.TrailingZeros64(left)
		needed = needed.unionWith(oneHost(int(fr.match[p])))
		why |= fr.why[p]
	}
	for left := open &^ tight; left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		if fr.dom[q].meets(needed) && !f.narrowDomain(fr, q, fr.dom[q].without(needed), why, changed) {
			return false
		}
	}
	return true
}
