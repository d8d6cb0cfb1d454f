package match

import "math"

// RefutedPairs is what is known of single nodes on single hosts: from which value on no choice
// has the one on the other. It holds for all higher values, whose graphs have fewer pairs, so that
// what one search refutes before it runs out of effort later ones need not refute again.
type RefutedPairs struct {
	hosts int
	from  []int // by node and host: index of a value
	at    int   // index of the value that is being asked for
}

// NewRefutedPairs knows nothing yet. It is nil, and keeps nothing, where the searches for a pattern refute no pairs.
func NewRefutedPairs(s *Shape, hosts int) *RefutedPairs {
	if s.squares == nil {
		return nil
	}
	r := &RefutedPairs{hosts: hosts, from: make([]int, s.m*hosts)}
	for i := range r.from {
		r.from[i] = math.MaxInt
	}
	return r
}

// AskFor says for which value, by its index, the next search is.
func (r *RefutedPairs) AskFor(value int) {
	if r != nil {
		r.at = value
	}
}

// leaveOut takes the hosts out of the domains on a target that are refuted. It reports false if one is
// empty then.
func (r *RefutedPairs) leaveOut(t *Target, domains []set) bool {
	if r == nil {
		return true
	}
	for p, d := range domains {
		for v := d.first(); v >= 0; v = d.next(v) {
			if r.from[p*r.hosts+t.hosts[v]] <= r.at {
				d.del(v)
			}
		}
		if d.empty() {
			return false
		}
	}
	return true
}

// keepFrom notes which hosts of a target are not in the domains.
func (r *RefutedPairs) keepFrom(t *Target, domains []set) {
	if r == nil {
		return
	}
	for p, d := range domains {
		for v, h := range t.hosts {
			if i := p*r.hosts + h; !d.has(v) {
				r.from[i] = min(r.from[i], r.at)
			}
		}
	}
}
