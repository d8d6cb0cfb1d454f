package nodesel

import (
	"fmt"
	"math/rand/v2"

	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/pattern"
)

// SelectionMethods are the ways to choose hosts, the exact one first. The others are
// kept to compare with.
func SelectionMethods() []string {
	return []string{"exact", "edge-deletion", "all-all", "greedy", "random"}
}

// FindsGroups reports whether a method finds more than one group.
func FindsGroups(method string) bool { return method == "exact" || method == "edge-deletion" }

// SelectBy chooses hosts by one of Methods. seed is for the choice by chance.
// The bound of a method that proves nothing comes from structure alone, and there
// is one group where FindsGroups says no.
func SelectBy(method string, b *Bandwidths, p *Pattern, o Options, seed uint64) (*Selection, error) {
	if method == "exact" {
		return Select(b, p, o)
	}
	if o.Alike > 0 {
		return chooseAlike(b, p, o, func(b *Bandwidths, o Options) (*Selection,
			error) {
			return SelectBy(method, b, p, o, seed)
		})
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
	switch method {
	case "edge-deletion":
		return q.edgeDeletion(o)
	case "all-all":
		q.allToAll(o)
	case "greedy":
		q.greedyOnce()
	case "random":
		q.chooseRandom(rand.New(rand.NewPCG(seed, 0)))
	default:
		return nil, fmt.Errorf("no such method: %q", method)
	}
	if q.best == nil {
		return nil, &InfeasibleError{"the method " + method + " found no choice; exact may find one"}
	}
	q.boundByStructure()
	return q.bestSelection(), nil
}

// edgeDeletion is the algorithm of the paper's Figure 1: take the slowest pair
// out and look whether the pattern still fits, again and again. Pairs that the
// last choice does not use can go without looking, so each search asks for a
// choice better than the last. Further groups come from going back: as many
// deletions as it takes until another group fits into the graph.
func (q *search) edgeDeletion(o Options) (*Selection, error) {
	for q.isOpen() && q.decideValue(q.low+1, match.Either, maxEffort) == match.Yes {
		continue
	}
	if q.best == nil {
		if q.high == 0 {
			return nil, &InfeasibleError{explainMismatch(q.b, q.s)}
		}
		return nil, ErrStopped
	}
	sel := q.bestSelection()
	q.addGroups(sel, o)
	return sel, nil
}

// allToAll treats all pairs of chosen hosts alike, as selection without a
// pattern does: the best clique, with the nodes on it in any order.
func (q *search) allToAll(o Options) {
	all := &Pattern{Nodes: q.p.Nodes}
	for i := range all.Nodes {
		for j := range i {
			all.Edges = append(all.Edges, Edge{A: j, B: i, Weight: 1})
		}
	}
	c := newSearch(q.b, all, o)
	c.closeGap()
	if c.best != nil {
		q.keepBest(c.best)
	}
}

// greedyOnce is the choice that grows from the host with the best pair.
func (q *search) greedyOnce() {
	if hosts := growChoice(q.b, q.s, q.s.ConnectedOrder(), q.allowed, q.startHosts()[0]); hosts != nil {
		q.keepBest(hosts)
	}
}

// chooseRandom takes hosts by chance, a few times if they are not connected.
func (q *search) chooseRandom(rnd *rand.Rand) {
	const tries = 1000
	for try := 0; try < tries && q.best == nil; try++ {
		q.keepBest(rnd.Perm(q.b.n)[:q.p.Nodes])
	}
}
