package match

import (
	"math/bits"
	"slices"
)

// shaveDomains tries hosts for nodes one by one, and groups of them as a whole, and takes those that
// fail out of the domains. A try draws the conclusions and, where there is effort, searches some
// way below them; effort is what all tries may take together, in nodes of the search tree. What is
// refuted so makes all later runs shorter, whatever they decide first.
func (f *forward) shaveDomains(domains []set, effort int) (Answer, []int) {
	f.rnd, f.found = nil, nil
	root := f.rootFrame(domains)
	if !f.settleDomains(root, f.all) {
		return No, nil
	}
	var nodes []int
	tries := 1
	for p := range f.m {
		if f.isFirstOfOrbit(root, p) {
			nodes = append(nodes, p)
			tries += f.countOptions(root.dom[p])
		}
	}
	for again := true; again; {
		again = false
		for _, p := range nodes {
			f.limit = nodesPerStep * f.mt.left
			gone, a := f.shaveNode(root, 0, p, effort/tries)
			if a != Unknown {
				return a, f.found
			}
			again = again || gone
		}
		again = again && effort == 0 && !f.mt.isSpent()
	}
	root.copyDomains(domains)
	return Unknown, nil
}

// isFirstOfOrbit picks one of the nodes that symmetry exchanges: what fails for it fails for all.
func (f *forward) isFirstOfOrbit(fr *forwardFrame, p int) bool {
	return len(fr.syms) == 0 || slices.Min(f.s.orbitOf(fr.syms, p)) == p
}

// shaveNode does so for one node, with so many nodes of the search tree for each try. It reports
// whether hosts are gone; no says that there is no placement, with the reason in conflict.
func (f *forward) shaveNode(fr *forwardFrame, depth, p, limit int) (gone bool, a Answer) {
	for _, g := range f.groups {
		if x := fr.dom[p].intersectWith(g); !x.empty() && x != fr.dom[p] {
			went, a := f.refuteValue(fr, depth, p, x, limit)
			if gone = gone || went; a != Unknown {
				return gone, a
			}
		}
	}
	d := fr.dom[p]
	if limit > 0 || depth > 0 {
		d = d.without(f.grouped)
	}
	for ; !d.empty() && fr.assigned>>p&1 == 0 && !f.mt.isSpent(); d = d.butFirst() {
		value := oneHost(d.first())
		if !fr.dom[p].meets(value) {
			continue
		}
		went, a := f.refuteValue(fr, depth, p, value, limit)
		if gone = gone || went; a != Unknown {
			return gone, a
		}
	}
	return gone, Unknown
}

// refuteValue tries some hosts for a node and takes them out of its domain if that fails.
func (f *forward) refuteValue(fr *forwardFrame, depth, p int, value hostBits, limit int) (gone bool, a Answer) {
	if !f.spendNode() {
		return false, Unknown
	}
	if f.descendInto(fr, depth, p, value) {
		if limit == 0 {
			return false, Unknown
		}
		left := f.limit
		f.limit = min(limit, left)
		a := f.searchNodes(depth + 1)
		f.limit += left - min(limit, left)
		if a != No {
			return false, a
		}
	}
	if !f.refuteDecision(fr, depth, p, value) {
		return true, No
	}
	return true, Unknown
}

// refuteDecision draws the conclusions of a failure below a decision. It reports false, with
// the reason in conflict, when nothing is left to decide.
func (f *forward) refuteDecision(fr *forwardFrame, depth, p int, value hostBits) bool {
	own := uint64(1) << min(depth, lastDepth)
	if f.conflict&own == 0 {
		return false // whatever this node gets
	}
	why := f.conflict &^ own
	if depth >= lastDepth {
		why = ^uint64(0)
	}
	changed, ok := f.refuteHosts(fr, p, value, why)
	return ok && f.settleDomains(fr, changed)
}

// shaveFrame tries what is left to decide at one depth of the search, where that has taken long.
func (f *forward) shaveFrame(fr *forwardFrame, depth int) Answer {
	before := f.spent
	a := Unknown
	for left := f.all &^ (fr.assigned | fr.inGroup); left != 0 && a == Unknown; left &= left - 1 {
		p := bits.TrailingZeros64(left)
		if (fr.assigned|fr.inGroup)>>p&1 == 0 && f.isFirstOfOrbit(fr, p) {
			_, a = f.shaveNode(fr, depth, p, 0)
		}
	}
	f.nextShave = f.spent + shavePause*(f.spent-before)
	return a
}

// copyDomains writes the domains into sets.
func (fr *forwardFrame) copyDomains(domains []set) {
	for p, d := range fr.dom {
		d.copyTo(domains[p])
	}
}
