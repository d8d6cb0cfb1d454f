package nodesel

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

// Pattern says who talks to whom in a program, an Edge which two nodes do.
type (
	Pattern = core.Pattern
	Edge    = core.Edge
)

// Options limit a selection.
type Options struct {
	Groups int         // how many different groups of hosts; at least 1
	Stop   func() bool // says when time is up; nil: never
	// StopGroups says when the best group is enough and the others are taken
	// as they come; nil: when Stop does.
	StopGroups func() bool
	// Alike is to which part bandwidths are known: those of a step of it count the
	// same in the choice; 0: none do.
	Alike float64
}

// Group is a choice: the host of each node of the pattern, and the bandwidth
// of the slowest pair over its weight.
type Group struct {
	Hosts   []int
	Mbps    float64
	Optimal bool // nothing better exists, other than the groups before it
}

// Selection is what Select found.
type Selection struct {
	Group           // the best
	Bound   float64 // no choice reaches more; equal to Mbps if Optimal
	Groups  []Group // the best that differ in at least one host, this one first
	Matches int     // threshold graphs that were decided
}

// InfeasibleError says that the pattern does not fit whatever the bandwidths,
// and why.
type InfeasibleError struct{ Why string }

func (e *InfeasibleError) Error() string { return "the pattern does not fit: " + e.Why }

// ErrStopped means that time was up before any choice was found.
var ErrStopped = errors.New("time is up and no choice was found; allow more")

// Select puts a pattern on hosts so that its slowest pair is as fast as can
// be. Without a proof in time it returns the best it found, with a bound.
func Select(b *Bandwidths, p *Pattern, o Options) (*Selection, error) {
	if o.Alike > 0 {
		return chooseAlike(b, p, o, func(b *Bandwidths, o Options) (*Selection, error) { return Select(b, p, o) })
	}
	if err := pattern.CheckPattern(p); err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if p.Nodes > b.n {
		return nil, &InfeasibleError{fmt.Sprintf("it has %d nodes and there are %d hosts", p.Nodes, b.n)}
	}
	q := newSearch(b, p, o)
	if len(q.values) == 0 {
		return nil, &InfeasibleError{"no two hosts are connected"}
	}
	q.closeGap()
	if q.best == nil {
		if q.high == 0 {
			return nil, &InfeasibleError{explainMismatch(b, q.s)}
		}
		return nil, ErrStopped
	}
	sel := q.bestSelection()
	sel.Group = q.refineGroup(sel.Group, nil)
	sel.Optimal = sel.Mbps == sel.Bound
	q.addGroups(sel, o)
	return sel, nil
}

// possibleValues lists what a selection can be worth, ascending: a bandwidth
// over a weight, or what a host is capped at.
func possibleValues(b *Bandwidths, p *Pattern) []float64 {
	weights := match.DistinctWeights(p)
	pairs := make([]float64, 0, b.n*(b.n-1)/2)
	for u := range b.n {
		for _, x := range b.mbps[u*b.n : u*b.n+u] {
			if x > 0 {
				pairs = append(pairs, x)
			}
		}
	}
	pairs = slices.Compact(radixSorted(pairs))
	if len(weights) == 1 && weights[0] == 1 && b.most == nil {
		return pairs
	}
	values := make([]float64, 0, len(pairs)*len(weights)+len(b.most))
	for _, w := range weights {
		for _, x := range pairs {
			if v := x / w; v > 0 {
				values = append(values, v)
			}
		}
	}
	for _, v := range b.most {
		if v > 0 && !math.IsInf(v, 1) {
			values = append(values, v)
		}
	}
	return slices.Compact(radixSorted(values))
}

// choiceValue is the value of a choice.
func choiceValue(b *Bandwidths, p *Pattern, hosts []int) float64 {
	least := math.Inf(1)
	for _, e := range p.Edges {
		least = math.Min(least, b.PairBandwidth(hosts[e.A], hosts[e.B])/e.Weight)
	}
	for _, h := range hosts {
		least = math.Min(least, b.mostOf(h))
	}
	return least
}
