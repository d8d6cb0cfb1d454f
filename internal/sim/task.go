package sim

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/sim/app"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// task is a submitted job as the grid sees it: where its program runs and how
// far it has come.
type task struct {
	job      workload.Job
	epoch    core.Epoch
	version  uint32 // counts changes of its pace: entries of older ones are void
	running  bool
	parts    []taskPart
	onePart  [1]taskPart
	progress app.Progress
	saved    float64 // part of the work that its last checkpoint holds
}

// taskPart is a part of a task in one cluster.
type taskPart struct {
	cluster core.ClusterID
	size    int
	procs   core.ProcSet
	queued  bool // known to the cluster's own queue
	files   int  // still on their way
}

func (t *task) size() int {
	n := 0
	for i := range t.parts {
		n += t.parts[i].size
	}
	return n
}

// part makes sure that there is a part i and returns it.
func (t *task) part(i int) *taskPart {
	if t.parts == nil {
		t.parts = t.onePart[:0]
	}
	for len(t.parts) <= i {
		t.parts = append(t.parts, taskPart{})
	}
	return &t.parts[i]
}

// work is how much the task has to do, in seconds at rate 1.
func (t *task) work() float64 {
	if t.job.Run > 0 || t.job.Work == 0 {
		return t.job.Run.Seconds()
	}
	return t.job.Work
}

// rate is how much of it is done in a second on the present processors.
func (t *task) rate(speed float64) float64 {
	if t.job.Run > 0 || t.job.Work == 0 {
		return speed
	}
	return t.job.App.Rate(t.size(), speed)
}

// begin starts the program, from its last checkpoint if it has one.
func (t *task) begin(now core.Time, speed float64) core.Time {
	t.running = true
	t.version++
	if t.job.Run > 0 && speed == 1 && t.saved == 0 {
		// A run time given in whole nanoseconds stays exact.
		t.progress = app.Begin(t.work(), now, 1)
		return now.Add(t.job.Run)
	}
	t.progress = app.Resume(t.work(), t.saved, now, t.rate(speed))
	return t.progress.Finish()
}

// resize lets the program go on at its new size.
func (t *task) resize(now core.Time, speed float64) core.Time {
	t.version++
	t.progress.SetRate(now, t.rate(speed), t.job.App.Resize)
	return t.progress.Finish()
}
