package outcome

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Record is what became of one job. A simulation keeps one for each of a
// million jobs, so its size matters.
type Record struct {
	Submit core.Time
	Start  core.Time // the first; core.Never if it never ran
	End    core.Time // core.Never if it is not over

	since core.Time     // of the present size
	ran   time.Duration // on processors, all attempts together
	area  float64       // processor-seconds

	Min, Max int32          // sizes that its user allows
	MaxSize  int32          // largest that it had
	size     int32          // at present, or planned
	Cluster  core.ClusterID // of its first part; core.Nowhere if it was never placed
	State    core.State
	Kind     core.Kind
}

// RunSeconds is the execution time in seconds. A job that was stopped and resumed
// ran for as long as it was on processors.
func (r *Record) RunSeconds() float64 { return r.ran.Seconds() }

// ResponseSeconds is the time from submission to end in seconds.
func (r *Record) ResponseSeconds() float64 { return r.End.Sub(r.Submit).Seconds() }

// WaitSeconds is the time in seconds that the job was not running: until its start,
// and, if it was stopped, until it was resumed. Response = Wait + Run.
func (r *Record) WaitSeconds() float64 { return (r.End.Sub(r.Submit) - r.ran).Seconds() }

// MeanSize is the size averaged over the execution time; of a job that ended
// in the instant in which it started, the size it had.
func (r *Record) MeanSize() float64 {
	if r.ran > 0 {
		return r.area / r.RunSeconds()
	}
	return float64(r.MaxSize)
}

// shortest is the execution time below which a slowdown says nothing: the
// usual bound of 10 s.
const shortest = 10

// BoundedSlowdown is how many times longer than its execution the job took,
// very short executions counted as 10 s.
func (r *Record) BoundedSlowdown() float64 {
	return max(1, r.ResponseSeconds()/max(r.RunSeconds(), shortest))
}
