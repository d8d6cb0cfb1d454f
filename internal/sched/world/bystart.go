package world

import "slices"

// byStart is a list of running parts in the order in which they started: the
// order in which all malleability policies walk.
type byStart []*Part

func (l byStart) findPart(p *Part) (int, bool) {
	return slices.BinarySearchFunc(l, p, func(a, b *Part) int {
		switch {
		case a.order < b.order:
			return -1
		case a.order > b.order:
			return 1
		}
		return 0
	})
}

// setListed puts p into the list or takes it out, as wanted.
func (l *byStart) setListed(p *Part, wanted bool) {
	if n := len(*l); wanted && (n == 0 || (*l)[n-1].order < p.order) {
		*l = append(*l, p)
		return
	}
	i, there := l.findPart(p)
	switch {
	case wanted && !there:
		*l = slices.Insert(*l, i, p)
	case !wanted && there:
		*l = slices.Delete(*l, i, i+1)
	}
}
