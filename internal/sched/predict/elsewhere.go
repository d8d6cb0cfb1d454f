package predict

// Elsewhere is the distribution of the wall seconds until work (reference CPU
// seconds) is done on procs processors of this speed, of which the job gets a
// share, after an overhead that is waited for first. The share is the one it
// would get now; it may change there as it may here, of which nothing has been
// seen. A share or an overhead that is unknown is full and none.
func Elsewhere(work Dist, speed float64, procs int, share Dist, overhead Dist) Dist {
	if !work.known {
		return Dist{}
	}
	if !(speed > 0) {
		speed = 1
	}
	if !share.known {
		share = Point(1)
	}
	var left, rates futures
	fill(left[:], work.Quantile)
	left.scale(1 / (speed * float64(max(procs, 1))))
	fill(rates[:], share.Quantile)
	o := outlook{mean: share.Median(), top: max(1, rates[nFutures-1]), changes: hazardShape}
	o.bottom = max(o.mean/100, 1e-9)
	o.elapsed = left[nFutures/2] / o.possible(o.mean)
	o.tabulate(0)
	for i := range left {
		left[i] = o.time(i, left[i], o.possible(rates[stratum(i, dimLevel)]))
	}
	run := left.dist()
	if !overhead.known {
		return run
	}
	return Sum(overhead, run)
}
