package flow

import (
	"cmp"
	"slices"
)

// upward is HEFT's rank of every task (Topcuoglu et al.): its mean time, and
// the longest way of mean times and mean transfers behind it.
func upward(d *DAG, m means) []float64 {
	rank := make([]float64, len(d.Tasks))
	for i := len(d.topo) - 1; i >= 0; i-- {
		t := d.topo[i]
		behind := 0.0
		for _, c := range d.succ.of(t) {
			behind = max(behind, m.route.seconds(c)+rank[c.task])
		}
		rank[t] = d.Tasks[t].Work*m.slowness + behind
	}
	return rank
}

// byRank is the tasks from the highest rank to the lowest; of equals, parents
// come before children.
func byRank(d *DAG, rank []float64) []int32 {
	order := slices.Clone(d.topo)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(rank[b], rank[a]) })
	return order
}

// heft places the tasks by falling upward rank, each where it ends first.
func heft(d *DAG, g *Grid, from *State) *Schedule {
	return inOrder(newBoard(d, g, from), byRank(d, upward(d, g.means())))
}

// inOrder places the tasks in the order given, each where it ends first.
func inOrder(b *board, order []int32) *Schedule {
	for _, t := range order {
		if b.fixed(t) {
			continue
		}
		b.arrive(t, &b.data)
		b.put(t, b.best(t, &b.data, nil))
	}
	return b.schedule()
}

// heftOn is HEFT on the chosen groups alone, whose means it ranks by. It is nil
// if one of the tasks cannot run there.
func heftOn(d *DAG, g *Grid, only []bool) *Schedule {
	b := newBoard(d, g, nil)
	b.only = only
	part := &Grid{sites: g.sites, routes: g.routes}
	for h := range g.Hosts {
		if only[g.in[h]] {
			part.Hosts = append(part.Hosts, g.Hosts[h])
		}
	}
	part.group()
	if len(part.Hosts) == 0 || part.Nobody(d) >= 0 {
		return nil
	}
	return inOrder(b, byRank(d, upward(d, part.means())))
}

// backward plans from the end: HEFT on the graph with all edges reversed, then
// turned round in time. It puts what a late join needs near the join, which
// HEFT cannot see.
func backward(d *DAG, g *Grid) *Schedule {
	return heft(d.reversed(), g.reversed(), nil).mirrored()
}
