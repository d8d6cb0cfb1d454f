package flowrun

import (
	"context"
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
)

func (r *runner) submitKey(task, try int) string {
	return fmt.Sprintf("%s/%s/%d", r.ID, r.Flow.Tasks[task].ID, try)
}

// maxTries bounds how many tries of a task are looked for.
const maxTries = 10_000

// recallRun finds what became of a run that was begun earlier. A task whose parents are
// not done is not looked for: if it has a job all the same, submitting it finds that.
func (r *runner) recallRun(ctx context.Context) error {
	parents := make([]int, len(r.state.Tasks))
	var open []int
	for t := range parents {
		r.state.DAG.EachParent(t, func(flow.Edge) { parents[t]++ })
		if parents[t] == 0 {
			open = append(open, t)
		}
	}
	seen := make([]bool, len(parents))
	for len(open) > 0 {
		t := open[0]
		open = open[1:]
		seen[t] = true
		if err := r.recallTask(ctx, t); err != nil {
			return err
		}
		if !r.state.Tasks[t].Done {
			continue
		}
		r.state.DAG.EachChild(t, func(child int) {
			if parents[child]--; parents[child] == 0 {
				open = append(open, child)
			}
		})
	}
	for t := range seen {
		if !seen[t] {
			r.markOutdated(t)
		}
	}
	return nil
}

// markOutdated takes back that a task is done or has failed: its jobs do not say so, or have not
// been asked because what it needs is made anew.
func (r *runner) markOutdated(task int) {
	r.recordEvent(core.FlowEvent{Kind: core.TaskOutdated, Task: task}, wire.Entry{})
}

// recallTask finds what became of the tries of a task that count.
func (r *runner) recallTask(ctx context.Context, t int) error {
	x, failures := &r.state.Tasks[t], 0
	for try := x.Forgiven + 1; try <= maxTries; try++ {
		job, final, err := r.lookUpJob(ctx, "key:"+r.submitKey(t, try))
		if err != nil {
			return err
		}
		if job == nil {
			if failures == 0 {
				r.markOutdated(t)
			}
			return nil
		}
		x.try = try
		if try > x.Try { // the broker was killed before this was recorded
			r.recordEvent(core.FlowEvent{Kind: core.TaskSubmitted, Task: t, Job: job.ID, Try: try, Cluster: job.Cluster},
				wire.Entry{})
		}
		if job.ID == x.Job && !x.State.IsTerminal() {
			r.seeJob(t, job)
			r.seeCluster(t, job)
		}
		switch {
		case !final:
			x.isLive = true
			r.stepConductor(conduct.Input{Kind: conduct.Adopt, Task: t, Host: max(0, r.hostIndex(job.Cluster))})
			r.followJob(ctx, t, try, job.ID)
			return nil
		case job.State == core.Done && missingText(job) == "":
			r.taskSucceeded(t, job)
			return nil
		case r.Forgive:
			r.recordEvent(core.FlowEvent{Kind: core.TaskForgiven, Task: t, Try: try}, wire.Entry{})
		default:
			failures++
			if job.ID == x.Job && !x.Failed {
				r.tryFailed(t, job, r.endReason(ctx, t, job))
			}
			r.stepConductor(conduct.Input{Kind: conduct.Failed, Task: t})
		}
	}
	return nil
}

var errSeen = errors.New("it was seen")

// lookUpJob is a job as it is now, and whether it is over and its results are home; nil if
// there is none.
func (r *runner) lookUpJob(ctx context.Context, ref string) (job *api.Job, final bool, err error) {
	err = persist(ctx, func() error {
		err := r.Broker.WatchJob(ctx, ref, func(l *api.Live) error {
			job, final = &l.Job, l.Final
			return errSeen
		})
		if errors.Is(err, errSeen) {
			return nil
		}
		return err
	})
	if badinput.Is(err) {
		return nil, false, nil
	}
	return job, final, err
}
