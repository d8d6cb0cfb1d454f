package flow

import "math"

// lookaheadCells bounds the table of optimistic costs, tasks × groups, and the
// work to fill it.
const (
	lookaheadCells = 1 << 19
	lookaheadWork  = 32 << 20
)

// optimistic is PEFT's table (Arabnejad and Barbosa): for a task on a group, at
// least how long everything behind it still takes if each task may choose its
// group freely. Unlike PEFT's it moves data at the rates of the routes in
// question, not at their mean. It is nil if it would be too large.
type optimistic struct {
	cost   []float64 // task t on group g at t·groups + g
	groups int
}

func (o *optimistic) costRow(t int32) []float64 { return o.cost[int(t)*o.groups : int(t+1)*o.groups] }

func lookAhead(d *DAG, g *Grid) *optimistic {
	n := len(g.groups)
	if len(d.Tasks)*n > lookaheadCells || (d.EdgeCount()+len(d.Tasks))*(g.sites*g.sites+n) > lookaheadWork {
		return nil
	}
	o := &optimistic{make([]float64, len(d.Tasks)*n), n}
	from, site := make([]float64, n), make([]float64, g.sites)
	for i := len(d.topo) - 1; i >= 0; i-- {
		c := d.topo[i]
		for s := range site {
			site[s] = math.Inf(1)
		}
		for gr := range from {
			k := &g.groups[gr].kind
			from[gr] = math.Inf(1)
			if k.meetsRequirements(&d.Tasks[c]) {
				from[gr] = o.costRow(c)[gr] + g.groupRuntime(&d.Tasks[c], int32(gr))
			}
			site[k.site] = min(site[k.site], from[gr])
		}
		for _, p := range d.pred.linksOf(c) {
			o.raiseCosts(g, p, from, site)
		}
	}
	return o
}

// raiseCosts raises the costs of a parent to those by way of one child, whose cost
// with its own run is from by group and site by site. On the group of the
// parent the child may run on the same host.
func (o *optimistic) raiseCosts(g *Grid, p link, from, site []float64) {
	row := o.costRow(p.task)
	for s := range site {
		moved := math.Inf(1)
		for to := range site {
			moved = min(moved, site[to]+g.routeBetween(s, to).transferSeconds(p))
		}
		for gr := range row {
			if g.groups[gr].kind.site == s {
				row[gr] = max(row[gr], min(from[gr], moved))
			}
		}
	}
}

// planAhead places the tasks by falling upward rank, each where its end and the
// optimistic cost behind it are least together.
func planAhead(d *DAG, g *Grid, o *optimistic, from *State) *Schedule {
	return aheadInOrder(newBoard(d, g, from), byRank(d, upwardRanks(d, g.meanCosts())), o)
}

// planPEFT is the same with PEFT's own order: of the ready tasks, that of the
// greatest mean cost first.
func planPEFT(d *DAG, g *Grid, o *optimistic, from *State) *Schedule {
	mean := make([]float64, len(d.Tasks))
	for t := range mean {
		for gr, c := range o.costRow(int32(t)) {
			mean[t] += c * float64(len(g.groups[gr].hosts))
		}
	}
	return aheadInOrder(newBoard(d, g, from), byPriority(d, mean), o)
}

func aheadInOrder(b *board, order []int32, o *optimistic) *Schedule {
	for _, t := range order {
		if b.isFixed(t) {
			continue
		}
		b.computeArrival(t, &b.data)
		b.placeTask(t, b.bestChoice(t, &b.data, o.costRow(t)))
	}
	return b.toSchedule()
}
