package flow

import (
	"cmp"
	"math"
	"slices"
)

// LowerBound is a time that no schedule can beat. It is the largest of:
//
//   - the longest way through the graph, every task on the fastest host that
//     may run it and no data moved;
//   - the work of any k tasks that have at least q seconds behind them, over
//     the speed of the k fastest cores, plus q (with all tasks and q = 0: total
//     work over total speed); likewise with what lies before them.
func LowerBound(d *DAG, g *Grid) float64 {
	least := leastTimes(d, g)
	head, tail := longestPaths(d, least), longestPaths(d.reversedEdges(), least)
	bound := 0.0
	for t := range d.Tasks {
		bound = max(bound, head[t]+least[t]+tail[t])
	}
	speeds := g.coreSpeeds()
	return max(bound, areaBound(d, speeds, head), areaBound(d, speeds, tail))
}

// wayBound is a bound of its own: the longest way through any task, wherever it
// runs, with what must be moved on the way there and behind it if each task on the
// way may choose its group freely.
func wayBound(d *DAG, g *Grid, behind *optimistic) float64 {
	before := lookAhead(d.reversedEdges(), g.reversedRoutes())
	if behind == nil || before == nil {
		return 0
	}
	bound := 0.0
	for t := range d.Tasks {
		least, head, tail := math.Inf(1), before.costRow(int32(t)), behind.costRow(int32(t))
		for gr := range g.groups {
			if g.groups[gr].kind.meetsRequirements(&d.Tasks[t]) {
				least = min(least, head[gr]+g.groupRuntime(&d.Tasks[t], int32(gr))+tail[gr])
			}
		}
		bound = max(bound, least)
	}
	return bound
}

// leastTimes is how long each task takes on the fastest host that may run it.
func leastTimes(d *DAG, g *Grid) []float64 {
	least := make([]float64, len(d.Tasks))
	for t := range d.Tasks {
		pace, fastest := g.taskPace(&d.Tasks[t]), math.Inf(1)
		for i := range g.groups {
			if pace[i] < fastest && g.groups[i].kind.meetsRequirements(&d.Tasks[t]) {
				fastest = pace[i]
				least[t] = g.groupRuntime(&d.Tasks[t], int32(i))
			}
		}
	}
	return least
}

// longestPaths is the longest way to each task, without itself.
func longestPaths(d *DAG, takes []float64) []float64 {
	way := make([]float64, len(d.Tasks))
	for _, t := range d.topo {
		for _, p := range d.pred.linksOf(t) {
			way[t] = max(way[t], way[p.task]+takes[p.task])
		}
	}
	return way
}

// coreSpeeds is those of all cores, the fastest first.
func (g *Grid) coreSpeeds() []float64 {
	var s []float64
	for i, h := range g.Hosts {
		if h.Down {
			continue
		}
		speed := h.Speed
		for _, row := range g.rows { // as fast as it is for any kind of tasks
			speed = max(speed, 1/row[g.in[i]])
		}
		for range h.Cores {
			s = append(s, speed)
		}
	}
	slices.SortFunc(s, func(a, b float64) int { return cmp.Compare(b, a) })
	return s
}

// areaBound looks at the tasks by falling distance to one end of the graph:
// the first k of them cannot be done before their work is, and then comes at
// least the distance of the k-th.
func areaBound(d *DAG, speeds, distance []float64) float64 {
	order := slices.Clone(d.topo)
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(distance[b], distance[a]) })
	var bound, work, speed float64
	cores := 0
	for _, t := range order {
		width := d.Tasks[t].coreCount()
		work += d.Tasks[t].Work * float64(width)
		for ; width > 0 && cores < len(speeds); width-- {
			speed += speeds[cores]
			cores++
		}
		bound = max(bound, work/speed+distance[t])
	}
	return bound
}
