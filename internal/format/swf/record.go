package swf

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Unknown stands in every field of a Record about which the trace says
// nothing. In a field that holds a duration it is one nanosecond below zero,
// which no valid duration is.
const Unknown = -1

// Record is one line of a trace. Every field is Unknown or at least 0; ID and
// Submit are never Unknown. Times are exact to the nanosecond: a trace that
// gives more digits is rounded to the nearest.
type Record struct {
	ID              int64         // 1: job number
	Submit          core.Time     // 2: since second 0 of the trace
	Wait            time.Duration // 3: in the queue of the traced machine
	Run             time.Duration // 4: wall-clock time from start to end
	CPU             time.Duration // 6: average CPU time of a processor
	RequestedTime   time.Duration // 9: the user's estimate or limit
	Think           time.Duration // 18: from the end of the preceding job
	Memory          int64         // 7: average KiB of a processor, rounded
	RequestedMemory int64         // 10: KiB of a processor, rounded
	Preceding       int64         // 17: the job that this one waited for
	Allocated       int32         // 5: processors that it got
	RequestedProcs  int32         // 8: processors that it asked for
	User            int32         // 12
	Group           int32         // 13
	App             int32         // 14: executable
	Queue           int32         // 15
	Partition       int32         // 16
	Status          Status        // 11
}

// Status is how a job ended, as the trace puts it.
type Status int8

// The states of the format. The three in the middle mark lines about a part
// of a job that was swapped out or checkpointed; the whole job has a line of
// its own.
const (
	Failed        Status = 0
	Completed     Status = 1
	PartContinued Status = 2
	PartCompleted Status = 3
	PartFailed    Status = 4
	Cancelled     Status = 5
)

// IsPartial says that the record is about a part of a job.
func (s Status) IsPartial() bool { return s >= PartContinued && s <= PartFailed }

// NeededProcs is how many processors the job needs: those that it asked for, or,
// if the trace does not say, those that it got; 0 if neither is known.
func (r *Record) NeededProcs() int {
	switch {
	case r.RequestedProcs > 0:
		return int(r.RequestedProcs)
	case r.Allocated > 0:
		return int(r.Allocated)
	}
	return 0
}

// EstimatedTime is how long the user said that the job would run, or, if the trace
// does not say, how long it ran; 0 if neither is known. It may be below Run.
func (r *Record) EstimatedTime() time.Duration {
	if r.RequestedTime > 0 {
		return r.RequestedTime
	}
	return max(r.Run, 0)
}

// IsUsable says whether the record tells enough to run the job again, and if
// not, why not. A run time of 0 is usable.
func (r *Record) IsUsable() (ok bool, why string) {
	switch {
	case r.Status.IsPartial():
		return false, "is a part of a job that has a record of its own"
	case r.NeededProcs() == 0:
		return false, "no processors requested or allocated"
	case r.Run < 0:
		return false, "run time unknown"
	}
	return true, ""
}
