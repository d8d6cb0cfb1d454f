package outcome

import "github.com/godwit-hpc/godwit/internal/sched/core"

// Series is what happened over time, a point at every change.
type Series struct {
	At      []core.Time
	Used    []int32 // processors in use
	Waiting []int32 // jobs submitted and not running
	Grows   []int32 // so far
	Shrinks []int32
}

// Series is the course of the run, or nil if it was not wanted.
func (c *Collector) Series() *Series { return c.series }

// noteSeries records the present values; of several changes in one instant the last
// counts.
func (c *Collector) noteSeries(at core.Time) {
	s := c.series
	if s == nil {
		return
	}
	if n := len(s.At); n == 0 || s.At[n-1] != at {
		s.At = append(s.At, at)
		s.Used, s.Waiting = append(s.Used, 0), append(s.Waiting, 0)
		s.Grows, s.Shrinks = append(s.Grows, 0), append(s.Shrinks, 0)
	}
	n := len(s.At) - 1
	s.Used[n], s.Waiting[n] = int32(c.used), int32(c.waiting)
	s.Grows[n], s.Shrinks[n] = int32(c.grows), int32(c.shrinks)
}
