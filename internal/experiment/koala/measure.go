package koala

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/outcome"
)

// The programs of section VI-A.
const (
	gadget = "gadget2"
	ft     = "ft"
)

// smallest is the size with which every job begins.
const smallest = 2

// job is a completed job with the program that it runs.
type job struct {
	*outcome.Record
	app string
}

// eachJob calls f with every completed job of a policy on a workload, of all
// seeds.
func (r *Results) eachJob(w Workload, policy string, f func(j job)) {
	for _, run := range r.runsOf(w, policy) {
		for i := range run.Records {
			if rec := &run.Records[i]; rec.State == core.Done {
				f(job{rec, run.Apps[i]})
			}
		}
	}
}

// shareOf is the part of the jobs among those asked about for which something
// holds; 0 if there are none.
func (r *Results) shareOf(w Workload, policy string, among, holds func(j job) bool) float64 {
	n, all := 0, 0
	r.eachJob(w, policy, func(j job) {
		if !among(j) {
			return
		}
		all++
		if holds(j) {
			n++
		}
	})
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}

// averageOf is over the jobs asked about; 0 if there are none.
func (r *Results) averageOf(w Workload, policy string, among func(j job) bool, of func(j job) float64) float64 {
	n, sum := 0, 0.0
	r.eachJob(w, policy, func(j job) {
		if among(j) {
			n++
			sum += of(j)
		}
	})
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

func isMalleable(j job) bool { return j.Kind == core.Malleable }

func runsApp(app string) func(j job) bool { return func(j job) bool { return j.app == app } }

func bothHold(a, b func(j job) bool) func(j job) bool {
	return func(j job) bool { return a(j) && b(j) }
}

// isStuck: never more processors than at first.
func isStuck(j job) bool { return j.MaxSize <= smallest }

// The totals that the report speaks of.
func meanSize(s *outcome.Summary) float64        { return s.MeanSize }
func maxSize(s *outcome.Summary) float64         { return s.MaxSizeMean }
func meanUtilization(s *outcome.Summary) float64 { return s.Utilization }
func growCount(s *outcome.Summary) float64       { return float64(s.GrowOps) }
func shrinkCount(s *outcome.Summary) float64     { return float64(s.ShrinkOps) }
func meanRunTime(s *outcome.Summary) float64     { return s.MeanRunS }
func meanResponse(s *outcome.Summary) float64    { return s.MeanResponseS }
func meanWait(s *outcome.Summary) float64        { return s.MeanWaitS }

// lateOperations is the part of all changes of size that happened in the
// second half of the time in which jobs were submitted, or later.
func (r *Results) lateOperations(w Workload, policy string) float64 {
	late, all := 0.0, 0.0
	for _, run := range r.runsOf(w, policy) {
		s := run.Series
		first, last := run.Records[0].Submit, run.Records[len(run.Records)-1].Submit
		half := first + (last-first)/2
		before := int32(0)
		for i, at := range s.At {
			if at <= half {
				before = s.Grows[i] + s.Shrinks[i]
			}
		}
		total := s.Grows[len(s.At)-1] + s.Shrinks[len(s.At)-1]
		all += float64(total)
		late += float64(total - before)
	}
	if all == 0 {
		return 0
	}
	return late / all
}

// meanAndSpread is the mean over the seeds and the standard deviation of one
// run.
func (r *Results) meanAndSpread(w Workload, policy string, of func(*outcome.Summary) float64) (mean, spread float64) {
	mean = r.meanOf(w, policy, of)
	list := r.runsOf(w, policy)
	if len(list) < 2 {
		return mean, 0
	}
	squares := 0.0
	for _, run := range list {
		d := of(&run.Summary) - mean
		squares += d * d
	}
	return mean, math.Sqrt(squares / float64(len(list)-1))
}
