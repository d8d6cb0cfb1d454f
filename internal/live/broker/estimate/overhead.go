package estimate

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// overheadSpread is how uncertain the cost of a move is, as a standard deviation
// of the logarithm.
const overheadSpread = 0.4

// minMoveOverhead is what a move costs at least: to stop, to be placed, to start.
const minMoveOverhead = 0.5

// moveOverhead is the seconds a move to a cluster is expected to cost: as the agent
// measured, or as earlier moves did.
//
// What either says of restoring holds the way of a checkpoint to where that was, and
// this one has another way to go. So what that way would take now is taken off, and
// what the way to this cluster will take is put on: nothing counts twice, and to go
// on where somebody went before costs what it cost then. Where nothing is known of
// the way to the cluster, what was measured is taken as it is.
func (e *Estimator) moveOverhead(rows []history.Transfer, j *MovingJob, to *Cluster) predict.Dist {
	v := j.Vitals
	if v.Method == "restart" {
		return predict.LogNormal(minMoveOverhead, overheadSpread)
	}
	save := history.Transfer{What: history.Save, Job: j.ID, Method: v.Method, From: j.Cluster}
	save.Program, _ = history.SplitCommand(j.Spec.Argv)
	restore := history.Transfer{What: history.Restore, Method: v.Method, Program: save.Program, To: to.Name}
	part := history.SentPart(rows, &save)
	size := part * history.CheckpointSize(rows, &save, v.Memory)
	carry, known := e.carryTime(size, to.Name)
	var cost predict.Dist
	if v.SaveCost > 0 {
		measured := v.SaveCost
		if known {
			here, _ := e.carryTime(size, j.Cluster)
			measured -= min(here, history.RestoreCost(rows, &save, v.SaveCost))
		}
		cost = predict.LogNormal(minMoveOverhead+measured, overheadSpread)
	} else {
		fetched := history.UnsentBytes(rows, restore, v.Memory)
		if known {
			rows, fetched = e.withoutCarryTime(rows, part), 0
		}
		cost = predict.Sum(pastCost(rows, save, history.UnsentBytes(rows, save, v.Memory)),
			pastCost(rows, restore, fetched)).Shift(minMoveOverhead)
	}
	if carry > 0 {
		cost = predict.Sum(cost, predict.LogNormal(carry, bringSpread(e.grid.ForecastWay("", to.Name))))
	}
	return cost
}

// costParts says how much of what a move is expected to cost goes into saving and starting; the rest, once all is
// known, is that of bringing the data.
func (e *Estimator) costParts(rows []history.Transfer, j *MovingJob, total float64) core.MoveCost {
	c := core.MoveCost{Start: minMoveOverhead}
	if j.Vitals.Method == "restart" {
		return c
	}
	save := history.Transfer{What: history.Save, Job: j.ID, Method: j.Vitals.Method, From: j.Cluster}
	save.Program, _ = history.SplitCommand(j.Spec.Argv)
	c.Write = min(max(0, total-c.Start), pastCost(rows, save, history.UnsentBytes(rows, save, j.Vitals.Memory)).Median())
	return c
}

// pastCost is what a save or a restore costs, as earlier ones did.
func pastCost(rows []history.Transfer, like history.Transfer, bytes int64) predict.Dist {
	q, _, _ := history.TransferCost(rows, like, bytes)
	d, _ := predict.FromQuantiles(q) // of any number of rows
	return d
}

// withoutCarryTime are transfers without what the way from the depot takes of restoring,
// as the ways are now. Something is left: it may have been faster then.
func (e *Estimator) withoutCarryTime(rows []history.Transfer, part float64) []history.Transfer {
	const left = 0.1
	rows = slices.Clone(rows)
	for i := range rows {
		if r := &rows[i]; r.What == history.Restore {
			carry, _ := e.carryTime(part*float64(r.Bytes), r.To)
			r.Seconds = max(r.Seconds-carry, left*r.Seconds)
		}
	}
	return rows
}

// carryTime is the seconds that so many bytes take from the depot to a cluster, as
// the way will be: none to where the depot is. False if nothing is known of the way.
func (e *Estimator) carryTime(bytes float64, to string) (float64, bool) {
	if e.grid.IsHere(to) {
		return 0, true
	}
	way, ok := e.grid.ForecastWay("", to)
	if !ok {
		return 0, false
	}
	return way.Ms/1e3 + bytes/transfer.RateOf(way), true
}

// bringSpread is how uncertain the time of a transfer to a cluster is, as a
// standard deviation of the logarithm, by what is known of the way there.
func bringSpread(way weather.PathForecast, known bool) float64 {
	const besides = 0.2 // disks, and who else wants something
	if !known {
		return overheadSpread
	}
	return min(1, math.Hypot(besides, math.Log(way.Mbps.Quantile(0.841)/way.Mbps.Median())))
}
