package sim

import (
	"github.com/godwit-hpc/godwit/internal/sched/contract"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// task is a submitted job as the grid sees it: where its program runs and how
// far it has come.
type task struct {
	job       workload.Job
	epoch     core.Epoch
	version   uint32 // counts changes of its pace: entries of older ones are void
	endAt     int    // where its end is in the agenda, if it is there
	reportAt  int    // likewise its next report of progress
	running   bool
	suspended bool // its program is stopped: it keeps its processors
	parts     []taskPart
	onePart   [1]taskPart
	flows     []netflow.ID // files that were sent for it, some of them may have arrived
	progress  app.Progress
	saved     float64 // part of the work that its last checkpoint holds
	holders   int     // holding jobs that were submitted for it

	lastCluster core.ClusterID // where that was written
	saving      bool           // it stands still while its checkpoint is written
	promise     float64        // seconds of the whole program, where it is placed
	monitor     *contract.Monitor
	phaseFrom   core.Time
}

// taskPart is a part of a task in one cluster.
type taskPart struct {
	cluster core.ClusterID
	size    int
	procs   core.ProcSet // that it holds; in a cluster with a queue of its own we do not know which
	queued  bool         // known to the cluster's own queue, with the later ones of the task there
	starts  bool         // if the queue starts it, the program runs; else a part of several is claimed
	files   int          // still on their way
	more    extension
}

func (t *task) totalSize() int {
	n := 0
	for i := range t.parts {
		n += t.parts[i].size
	}
	return n
}

// partAt makes sure that there is a part i and returns it.
func (t *task) partAt(i int) *taskPart {
	if t.parts == nil {
		t.parts = t.onePart[:0]
	}
	for len(t.parts) <= i {
		t.parts = append(t.parts, taskPart{})
	}
	return &t.parts[i]
}

// hasFixedTime reports whether the run time is given, whatever the size.
func (t *task) hasFixedTime() bool { return t.job.Run > 0 || t.job.Work == 0 }

// totalWork is how much the task has to do, in seconds at rate 1.
func (t *task) totalWork() float64 {
	if t.hasFixedTime() {
		return t.job.Run.Seconds()
	}
	return t.job.Work
}

// workRate is how much of it is done in a second on the present processors.
func (t *task) workRate(speed float64) float64 { return t.rateAt(t.totalSize(), speed) }

// rateAt is the same for another size.
func (t *task) rateAt(size int, speed float64) float64 {
	if t.hasFixedTime() {
		return speed
	}
	return t.job.App.WorkRate(size, speed)
}

// beginProgram starts the program, from its last checkpoint if it has one, and tells
// when it will end. It goes on from the moment given on.
func (t *task) beginProgram(now core.Time, speed float64) core.Time {
	t.saving = false
	t.running = true
	t.version++
	t.progress = app.ResumeProgress(t.totalWork(), t.saved, now, t.workRate(speed))
	if t.hasFixedTime() && speed == 1 && t.saved == 0 {
		return now.Add(t.job.Run) // given in whole nanoseconds, it stays exact
	}
	return t.progress.FinishTime()
}

// resumeAtRate stops the program, or lets it go on, and tells when it will end then.
func (t *task) resumeAtRate(now core.Time, speed float64, suspended bool) core.Time {
	t.version++
	if t.suspended = suspended; suspended {
		t.progress.SetRate(now, 0, 0)
		return core.Never
	}
	t.progress.SetRate(now, t.workRate(speed), 0)
	return t.progress.FinishTime()
}

// resumeAtSize lets the program go on at its new size, and tells when it will end.
func (t *task) resumeAtSize(now core.Time, speed float64) core.Time {
	t.version++
	t.progress.SetRate(now, t.workRate(speed), t.job.App.Resize)
	return t.progress.FinishTime()
}
