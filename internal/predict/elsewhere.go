package predict

// Elsewhere is the distribution of the wall seconds until work (reference CPU
// seconds) is done on procs processors of this speed, of which the job gets a
// share, after an overhead that is waited for first. A share or an overhead
// that is unknown is full and none.
func Elsewhere(work Dist, speed float64, procs int, share Dist, overhead Dist) Dist {
	if !(speed > 0) {
		speed = 1
	}
	run := work
	if share.known {
		run = Quotient(work, share)
	}
	run = run.Scale(1 / (speed * float64(max(procs, 1))))
	if !overhead.known {
		return run
	}
	return Sum(overhead, run)
}
