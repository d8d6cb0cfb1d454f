package place

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// worstFit: the cluster with most idle processors. Where room has to be made
// by shrinking, all are about equally full of idle processors; then it is the
// cluster that has most to give for each of its jobs. By their sum alone the
// largest cluster would be filled until its jobs are the smallest.
func worstFit(s spot) (score, core.Reason, bool) {
	idle := float64(s.idleCores())
	why := core.Reason{Code: core.MostIdle, A: idle}
	if s.view.Reclaim {
		idle /= float64(1 + len(s.cluster.MalleableParts()))
	}
	return score{idle}, why, true
}

// idleCores is what WF compares: the idle processors less what this job's other
// components need already. Where room has to be made it is the least loaded
// cluster that gives.
func (s spot) idleCores() int { return s.view.IdleIn(s.cluster) - s.taken }

// closeToFiles: clusters that hold the input files first, then by the
// estimated time to bring what is missing; among equals worst fit.
func closeToFiles(s spot) (score, core.Reason, bool) {
	d, ok := s.view.TransferTime(s.comp, s.cluster.ID())
	if !ok {
		return score{}, core.Reason{}, false
	}
	idle := float64(s.idleCores())
	why := core.Reason{Code: core.LeastTransfer, A: d.Seconds()}
	if d == 0 {
		why = core.Reason{Code: core.FilesThere, A: idle}
	}
	return score{-d.Seconds(), idle}, why, true
}

// Run times vary around their estimates about like a lognormal distribution
// of this deviation; measured distributions take its place where a history of
// the program exists.
const runTimeDeviation = 0.35

// bestChance: the cluster with the best chance of meeting the deadline, then
// the fewest processor-seconds. Without a deadline the earliest end. Among
// equals worst fit, as when nothing is known of the run time.
func bestChance(s spot) (score, core.Reason, bool) {
	transfer, ok := s.view.TransferTime(s.comp, s.cluster.ID())
	if !ok {
		return score{}, core.Reason{}, false
	}
	size := firstSize(s)
	pace := s.cluster.Speed() * s.cluster.Share()
	// What the job waits for disks or others takes as long on any processors.
	run := s.job.Estimate.Seconds() * (s.job.Waiting + (1-s.job.Waiting)/pace)
	if j := s.view.Job(s.job.ID); j != nil {
		run *= j.Scaling().RelativeSpeed(s.comp.Min) / j.Scaling().RelativeSpeed(size)
	}
	end := s.queueWait(run) + transfer.Seconds() + run
	if s.job.Estimate == 0 {
		return score{0, 0, -end, pace, float64(s.idleCores())}, core.Reason{Code: core.FastestHere, A: pace}, true
	}
	if s.job.Deadline == 0 {
		return score{-end, -run * float64(size), pace, float64(s.idleCores())}, core.Reason{Code: core.EarliestEnd, A: end},
			true
	}
	chance := chanceWithin(s.job.Deadline.Sub(s.view.Now).Seconds()-(end-run), run, s.job.Spread)
	why := core.Reason{Code: core.BestChance, A: chance, B: end}
	// Chances that differ by less than a hundredth are equal: then cost decides.
	return score{math.Round(chance * 100), -run * float64(size), -end, pace, float64(s.idleCores())}, why, true
}

// queueWait estimates how long a job waits in the cluster's own queue: the
// work of ours ahead of it, if all of it takes about as long as this job, or what
// others make a newcomer wait.
func (s spot) queueWait(run float64) float64 {
	if ahead := s.comp.Min - s.cluster.IdleProcs(); s.cluster.IsManaged() && ahead > 0 {
		return max(s.cluster.QueueWait(), run*float64(ahead)/float64(s.cluster.Procs()))
	}
	return s.cluster.QueueWait()
}

// chanceWithin is the chance that something expected to take `expected`
// seconds is over within `limit` seconds.
func chanceWithin(limit, expected, spread float64) float64 {
	switch {
	case limit <= 0:
		return 0
	case expected <= 0:
		return 1
	}
	if spread <= 0 {
		spread = runTimeDeviation
	}
	return 0.5 * math.Erfc(-math.Log(limit/expected)/(spread*math.Sqrt2))
}
