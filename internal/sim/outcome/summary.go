package outcome

import (
	"math"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Summary is the totals of a run; its JSON names are part of the surface.
// Means are over the completed jobs. Processors count as used while a job
// runs on them, whatever becomes of it.
type Summary struct {
	Jobs                int     `json:"jobs"`
	Completed           int     `json:"completed"`
	Failed              int     `json:"failed"`     // or cancelled
	Unplaced            int     `json:"unplaced"`   // not over when nothing could happen any more
	MakespanS           float64 `json:"makespan_s"` // from the first submission to the last end of a job that ran
	MeanResponseS       float64 `json:"mean_response_s"`
	MeanWaitS           float64 `json:"mean_wait_s"`
	MeanRunS            float64 `json:"mean_run_s"`
	MeanBoundedSlowdown float64 `json:"mean_bounded_slowdown"`
	Utilization         float64 `json:"utilization"` // used processor-seconds of all during the makespan
	MeanSize            float64 `json:"mean_size"`
	MaxSizeMean         float64 `json:"max_size_mean"`
	GrowOps             int     `json:"grow_ops"`
	ShrinkOps           int     `json:"shrink_ops"`
	Events              int64   `json:"events"`
}

// Summary is the totals so far.
func (c *Collector) Summary() Summary {
	s := Summary{Jobs: len(c.records), Events: c.events, GrowOps: c.grows, ShrinkOps: c.shrinks}
	first, last := core.Never, core.Time(math.MinInt64)
	for i := range c.records {
		r := &c.records[i]
		first = min(first, r.Submit)
		if r.Start != core.Never && r.End != core.Never {
			last = max(last, r.End)
		}
		switch {
		case r.State == core.Done:
			s.addRecord(r)
		case r.State.IsTerminal():
			s.Failed++
		default:
			s.Unplaced++
		}
	}
	s.divideSums()
	if last > first {
		s.MakespanS = last.Sub(first).Seconds()
		s.Utilization = c.busy / (float64(c.procs) * s.MakespanS)
	}
	return s
}

// addRecord sums up what average divides.
func (s *Summary) addRecord(r *Record) {
	s.Completed++
	s.MeanResponseS += r.ResponseSeconds()
	s.MeanWaitS += r.WaitSeconds()
	s.MeanRunS += r.RunSeconds()
	s.MeanBoundedSlowdown += r.BoundedSlowdown()
	s.MeanSize += r.MeanSize()
	s.MaxSizeMean += float64(r.MaxSize)
}

func (s *Summary) divideSums() {
	if s.Completed == 0 {
		return
	}
	n := float64(s.Completed)
	for _, sum := range []*float64{&s.MeanResponseS, &s.MeanWaitS, &s.MeanRunS, &s.MeanBoundedSlowdown, &s.MeanSize,
		&s.MaxSizeMean} {
		*sum /= n
	}
}
