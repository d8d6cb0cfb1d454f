package match

import "math/bits"

// settleDomains draws the conclusions of changed domains. It reports false, and leaves the
// depths that have a part in it in conflict, when there is no placement.
func (f *forward) settleDomains(fr *forwardFrame, changed uint64) bool {
	touched := uint64(0)
	for {
		for changed != 0 {
			touched |= changed
			p := bits.TrailingZeros64(changed)
			changed &= changed - 1
			if fr.assigned>>p&1 != 0 {
				continue
			}
			d := fr.dom[p]
			if d.isOne() {
				if !f.assignHost(fr, p, &changed) {
					return false
				}
				continue
			}
			if fr.inGroup>>p&1 == 0 && f.groupOf(d) >= 0 {
				fr.inGroup |= 1 << p
			}
			for i, side := range f.sides {
				if d.isWithin(side) || !d.meets(side) {
					fr.onSide[i] |= 1 << p
				}
			}
			if !f.supportOthers(fr, p, &changed) {
				return false
			}
		}
		if !f.roomAround(fr, touched, &changed) {
			return false
		}
		if touched = 0; changed != 0 {
			continue
		}
		if !f.hasEnoughHosts(fr, &changed) {
			return false
		}
		if changed == 0 {
			return true
		}
	}
}

// roomAround leaves to the neighbours of some nodes only hosts next to which all nodes around
// can have hosts of their own. Hosts of groups nearly always are such, so that they are looked at
// in small domains only.
func (f *forward) roomAround(fr *forwardFrame, touched uint64, changed *uint64) bool {
	var lost [maxForwardNodes]hostBits
	var look uint64
	for left := touched; left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		lost[q] = fr.looked[q].without(fr.dom[q])
		fr.looked[q] = fr.dom[q]
		look |= f.nearTo[q]
	}
	for look &^= fr.assigned; look != 0; look &= look - 1 {
		p := bits.TrailingZeros64(look)
		d := fr.dom[p]
		coarse := d.count() > moreHosts
		if coarse {
			d = d.without(f.grouped)
		}
		if fr.coarse>>p&1 == 0 || coarse {
			var missed hostBits
			for left := f.nearTo[p] & touched; left != 0; left &= left - 1 {
				missed = missed.unionWith(lost[bits.TrailingZeros64(left)])
			}
			d = f.nearLost(d, missed)
		}
		if !coarse {
			fr.coarse &^= 1 << p
		}
		if d.empty() {
			continue
		}
		var gone, around hostBits
		for _, r := range f.near[p] {
			around = around.unionWith(fr.dom[r.node])
		}
		for ; !d.empty(); d = d.butFirst() {
			if v := d.first(); !f.takesAround(fr, p, v, around) {
				gone = gone.unionWith(oneHost(v))
			}
		}
		if gone.empty() {
			continue
		}
		var why uint64
		for _, r := range f.near[p] {
			why |= fr.why[r.node]
		}
		if !f.narrowDomain(fr, p, fr.dom[p].without(gone), why, changed) {
			return false
		}
	}
	return true
}

// nearLost is which of some hosts have less around them since some hosts were lost.
func (f *forward) nearLost(d, lost hostBits) hostBits {
	if lost.count() > fewHosts {
		return d
	}
	var near hostBits
	for ; !lost.empty(); lost = lost.butFirst() {
		near = near.unionWith(f.adj[lost.first()])
	}
	return d.intersectWith(near)
}

// maxMatched is up to how many neighbours a node is looked at for whether each can have its own host.
const maxMatched = 4

// takesAround reports whether next to a host all neighbours of a node can have hosts of their own: any
// k of them need k between them.
func (f *forward) takesAround(fr *forwardFrame, p, v int, around hostBits) bool {
	near := f.near[p]
	if n := f.adj[v].intersectWith(around).count(); n < len(near) || !f.thorough || len(near) > maxMatched {
		return n >= len(near)
	}
	var options [maxMatched]hostBits
	few := false
	for i := range near {
		options[i] = fr.dom[near[i].node].intersectWith(near[i].rows[v])
		few = few || options[i].count() < len(near)
	}
	return !few || haveOwnHosts(options[:len(near)])
}

// haveOwnHosts reports whether up to four sets can each have a member of their own.
func haveOwnHosts(options []hostBits) bool {
	var all hostBits
	for i, x := range options {
		if x.empty() {
			return false
		}
		all = all.unionWith(x)
		for _, y := range options[:i] {
			two := x.unionWith(y)
			n, inside := two.count(), 0
			if n > 2 {
				continue
			}
			for _, z := range options {
				if z.isWithin(two) {
					inside++
				}
			}
			if inside > n {
				return false
			}
		}
	}
	return all.count() >= len(options)
}

// assignHost sends a node to the only host of its domain.
func (f *forward) assignHost(fr *forwardFrame, p int, changed *uint64) bool {
	fr.assigned |= 1 << p
	d, why := fr.dom[p], fr.why[p]
	v := d.first()
	for left := f.all &^ fr.assigned; left != 0; left &= left - 1 {
		if q := bits.TrailingZeros64(left); fr.dom[q].has(v) && !f.narrowDomain(fr, q, fr.dom[q].without(d), why, changed) {
			return false
		}
	}
	return f.supportOthers(fr, p, changed)
}

// supportOthers leaves to nodes that have something to do with one only hosts that go with
// one of its own.
func (f *forward) supportOthers(fr *forwardFrame, p int, changed *uint64) bool {
	d := fr.dom[p]
	size := d.count()
	covers := fr.covers[f.firstTie[p]:]
	for i := range f.ties[p] {
		t := &f.ties[p][i]
		if size <= t.most && !covers[i].isWithin(d) && !f.narrowTied(fr, p, t, &covers[i], changed) {
			return false
		}
	}
	return true
}

// narrowTied does so for nodes that have the same to do with it. It notes which hosts of the one
// it takes: as long as these are left there is nothing to do, for the others only lose hosts.
func (f *forward) narrowTied(fr *forwardFrame, p int, t *tie, cover *hostBits, changed *uint64) bool {
	open := t.nodes &^ fr.assigned
	var all, with hostBits
	for left := open; left != 0; left &= left - 1 {
		all = all.unionWith(fr.dom[bits.TrailingZeros64(left)])
	}
	for d := fr.dom[p]; !d.empty(); {
		v := d.first()
		d = d.butFirst()
		if with = with.unionWith(t.rows[v]); all.isWithin(with) {
			*cover = fr.dom[p].without(d)
			return true
		}
	}
	*cover = fr.dom[p]
	for ; open != 0; open &= open - 1 {
		q := bits.TrailingZeros64(open)
		if !fr.dom[q].isWithin(with) && !f.narrowDomain(fr, q, with, fr.why[p], changed) {
			return false
		}
	}
	return true
}

// narrowDomain leaves some hosts in a node's domain.
func (f *forward) narrowDomain(fr *forwardFrame, q int, keep hostBits, why uint64, changed *uint64) bool {
	x := fr.dom[q].intersectWith(keep)
	if x == fr.dom[q] {
		return true
	}
	fr.dom[q] = x
	fr.why[q] |= why
	*changed |= 1 << q
	if x.empty() {
		f.failures[q]++
		f.conflict = fr.why[q]
		return false
	}
	return true
}

// hasEnoughHosts compares the open nodes with the hosts that are left to them. Where every
// host is needed, a host that only one node can have goes to it.
func (f *forward) hasEnoughHosts(fr *forwardFrame, changed *uint64) bool {
	var once, twice hostBits
	var why uint64
	open := 0
	for left := f.all &^ fr.assigned; left != 0; left &= left - 1 {
		q := bits.TrailingZeros64(left)
		d := fr.dom[q]
		twice = twice.unionWith(once.intersectWith(d))
		once = once.unionWith(d)
		why |= fr.why[q]
		open++
	}
	spare := once.count() - open
	if spare < 0 {
		f.conflict = why
		return false
	}
	if once = once.without(twice); spare == 0 && !once.empty() {
		for left := f.all &^ fr.assigned; left != 0; left &= left - 1 {
			q := bits.TrailingZeros64(left)
			x := fr.dom[q].intersectWith(once)
			if x.count() > 1 {
				f.conflict = why
				return false
			}
			if !x.empty() && !f.narrowDomain(fr, q, x, why, changed) {
				return false
			}
		}
	}
	return f.roomForFew(fr, changed) && f.matchHosts(fr, changed)
}

// roomForFew compares how many nodes have only hosts of a small domain with how many
// hosts that has: the neighbours of a node outside of a group, say, which have few
// hosts of the group between them.
func (f *forward) roomForFew(fr *forwardFrame, changed *uint64) bool {
	var few [maxForwardNodes]int
	n := 0
	for left := f.all &^ fr.assigned; left != 0; left &= left - 1 {
		if q := bits.TrailingZeros64(left); fr.dom[q].count() <= fewHosts {
			few[n] = q
			n++
		}
	}
	for _, p := range few[:n] {
		d, inside := fr.dom[p], 0
		var why uint64
		for _, q := range few[:n] {
			if fr.dom[q].isWithin(d) {
				inside++
				why |= fr.why[q]
			}
		}
		switch {
		case inside > d.count():
			f.failures[p]++
			f.conflict = why
			return false
		case inside == d.count():
			for left := f.all &^ fr.assigned; left != 0; left &= left - 1 {
				q := bits.TrailingZeros64(left)
				if x := fr.dom[q]; x.meets(d) && !x.isWithin(d) && !f.narrowDomain(fr, q, x.without(d), why, changed) {
					return false
				}
			}
		}
	}
	return true
}

// finishMatching gives each node a host of its own where all that is left go together.
func (f *forward) finishMatching(fr *forwardFrame) Answer {
	m := &f.e.match
	for p := range f.m {
		fr.dom[p].copyTo(m.optionSet(p, f.n))
	}
	if !m.isComplete(f.m, f.n) {
		f.conflict = 0
		for _, why := range fr.why {
			f.conflict |= why
		}
		return No
	}
	f.found = make([]int, f.m)
	for v, p := range m.by {
		if p >= 0 {
			f.found[p] = v
		}
	}
	return Yes
}
