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

// Offer is what is known of running a job on one cluster. Waits, transfers and
// shares that are unknown are none, none and full.
type Offer struct {
	Wait     Dist    // seconds in the queue
	Transfer Dist    // seconds to bring its files
	Work     Dist    // reference CPU seconds of the job
	Speed    float64 // relative to the reference; 0: 1
	Procs    int     // 0: 1
	Share    Dist    // of its processors that it will get
}

// Quote is when the job would end there, in seconds from now, and the chance
// that this is within limit seconds. The distribution and the chance are
// unknown and 0 if the work is unknown.
func Quote(o Offer, limit float64) (finish Dist, chance float64) {
	before := o.Wait
	switch {
	case !before.known:
		before = o.Transfer
	case o.Transfer.known:
		before = Sum(o.Wait, o.Transfer)
	}
	finish = Elsewhere(o.Work, o.Speed, o.Procs, o.Share, before)
	return finish, finish.P(limit)
}
