package flow

import (
	"cmp"
	"slices"
)

// upwardRanks is HEFT's rank of every task (Topcuoglu et al.): its mean time, and
// the longest way of mean times and mean transfers behind it.
func upwardRanks(d *DAG, m means) []float64 {
	rank := make([]float64, len(d.Tasks))
	for i := len(d.topo) - 1; i >= 0; i-- {
		t := d.topo[i]
		behind := 0.0
		for _, c := range d.succ.linksOf(t) {
			behind = max(behind, m.route.transferSeconds(c)+rank[c.task])
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

// planHEFT places the tasks by falling upward rank, each where it ends first.
func planHEFT(d *DAG, g *Grid, from *State) *Schedule {
	return inOrder(newBoard(d, g, from), byRank(d, upwardRanks(d, g.meanCosts())))
}

// inOrder places the tasks in the order given, each where it ends first.
func inOrder(b *board, order []int32) *Schedule {
	for _, t := range order {
		if b.isFixed(t) {
			continue
		}
		b.computeArrival(t, &b.data)
		b.placeTask(t, b.bestChoice(t, &b.data, nil))
	}
	return b.toSchedule()
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
	part.groupHosts()
	if len(part.Hosts) == 0 || part.UnrunnableTask(d) >= 0 {
		return nil
	}
	return inOrder(b, byRank(d, upwardRanks(d, part.meanCosts())))
}

// planBackward plans from the end: HEFT on the graph with all edges reversed, then
// turned round in time. It puts what a late join needs near the join, which
// HEFT cannot see.
func planBackward(d *DAG, g *Grid) *Schedule {
	return planHEFT(d.reversedEdges(), g.reversedRoutes(), nil).mirroredInTime()
}
