package predict

// Demand is what is left of a job, whose wall time alone on a host follows from it.
type Demand struct {
	// Work is processor seconds on the reference host. Those of a program that waits
	// are those that pass meanwhile.
	Work Dist
	// Waiting is the part of it in which the program waits for something else than a
	// processor: that takes as long on any host, whatever share it gets.
	Waiting float64
}

// IsKnown is false if nothing is known of what is left.
func (d Demand) IsKnown() bool { return d.Work.known }

// RuntimeElsewhere is the distribution of the wall seconds until the demand is met on procs
// processors of this speed, of which the job gets a share, after an overhead that is
// waited for first. The share is the one it would get now; it may change there as it
// may here, of which nothing has been seen. A share or an overhead that is unknown is
// full and none.
func (d Demand) RuntimeElsewhere(speed float64, procs int, share Dist, overhead Dist) Dist {
	if !d.Work.known {
		return Dist{}
	}
	if !(speed > 0) {
		speed = 1
	}
	if !share.known {
		share = Point(1)
	}
	waiting := min(clampPositive(d.Waiting), 1)
	var left, idle, rates futures
	fillQuantiles(left[:], d.Work.Quantile)
	left.scaleBy(1 / float64(max(procs, 1)))
	idle = left
	idle.scaleBy(waiting)
	left.scaleBy((1 - waiting) / speed)
	fillQuantiles(rates[:], share.Quantile)
	o := unseenOutlook(share.Median(), max(1, rates[nFutures-1]), left[nFutures/2])
	for i := range left {
		if left[i] > 0 {
			left[i] = o.futureSeconds(i, left[i], o.clampRate(rates[stratumOf(i, dimLevel)]))
		}
		left[i] += idle[i]
	}
	run := left.toDist()
	if !overhead.known {
		return run
	}
	return Sum(overhead, run)
}

// unseenOutlook is that of a share of which no sample was seen but this mean, where so
// much is left at full share.
func unseenOutlook(mean, top, left float64) outlook {
	o := outlook{mean: mean, top: top, changes: hazardShape, bottom: max(mean/100, 1e-9)}
	o.elapsed = left / o.clampRate(mean)
	o.tabulateJumps(0)
	return o
}

// FinishTime is when a job that is not running yet would end on a cluster, in
// seconds from now: it waits in the queue, its files are brought, then its demand
// is met on procs processors of this speed, of which
// it gets a share. A wait or transfer that is unknown is none, a share that is
// unknown is full; if the demand is unknown, so is the end. The chance to end
// within t seconds is P(t) of it.
func FinishTime(wait, transfer Dist, demand Demand, speed float64, procs int, share Dist) Dist {
	before := wait
	switch {
	case !wait.IsKnown():
		before = transfer
	case transfer.IsKnown():
		before = Sum(wait, transfer)
	}
	return demand.RuntimeElsewhere(speed, procs, share, before)
}
