package flowrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
)

// Broker is what a run asks of the broker, on behalf of the owner of the workflow.
type Broker interface {
	ListClusters(ctx context.Context) ([]api.Cluster, error)
	EstimateCommands(ctx context.Context, c *api.Commands) ([]api.Estimate, error)
	// SubmitTask hands in a job that finds the inputs in its folder: those that other
	// jobs made as these left them, the others as they were when the workflow was
	// submitted. A key is taken once.
	SubmitTask(ctx context.Context, job *jobfile.Job, inputs []string, made []api.Made) (core.JobID, error)
	MigrateJob(ctx context.Context, id, to string) (api.Done, error)
	CancelJob(ctx context.Context, id string) (api.Job, error)
	// WatchJob tells how a job is until it is over; ref is its number, or key: and its key.
	// A badinput.Error says that there is none.
	WatchJob(ctx context.Context, ref string, see func(*api.Live) error) error
	CopyLogs(ctx context.Context, id string, stream int, offset int64, follow bool, to io.Writer) (int64, error)
}

// Options say what to run.
type Options struct {
	Flow   *flowfile.Flow
	ID     string // of the run; the keys of its jobs begin with it
	Broker Broker
	// Tasks is how they were when the run was last seen; nil: nothing is known.
	Tasks []store.FlowTask
	// Forgive says that whatever failed before is to be tried again: nothing is known of
	// Tasks because an earlier version ran them.
	Forgive bool
	Began   time.Time // when the workflow was submitted
	Clock   clock.Clock
	Route   func(from, to string) flow.Route // between clusters; nil: a guess
	Budget  func(best, bound float64) flow.Budget
	StopAll bool // when a task fails for good, nothing more is started
	Env     map[string]string
	// Stop, once closed, has the jobs that run cancelled and nothing more started.
	Stop <-chan struct{}
	// Planning is held while a plan may be made, so that many runs together use no more
	// processors than it has room; nil: nobody minds.
	Planning chan struct{}
	// See is told when something changed, and now and then.
	See func(*State)
}

// A Task is what became of one: what the events of the run give.
type Task struct {
	store.FlowTask
	ID     string
	try    int  // the last that was made or looked for
	isLive bool // its job has not ended, as far as is known
}

// A State is how far a run is.
type State struct {
	Flow    *flowfile.Flow
	DAG     *flow.DAG
	Tasks   []Task
	Count   conduct.Count
	Outlook conduct.Outlook // in seconds after Began
	Began   time.Time
	Now     time.Time
	Notes   int     // how often it was planned
	Bound   float64 // no plan can be shorter, by the models as they were at the beginning
	First   conduct.Note
	Events  []store.FlowEntry // since See was called last
	Stopped bool              // nothing more is started: Stop was closed
	Over    bool
	Hosts   []flow.Host
}

// runner is one run.
type runner struct {
	Options
	c        *conduct.Conductor
	state    State
	events   chan event
	ready    []conduct.Order
	plans    int // that were made since one was recorded
	wake     float64
	leaving  bool
	looks    chan []api.Cluster
	looking  bool // somebody asks how the clusters are
	stranded bool // no cluster is up that could run what is next
}

// event is what becomes of a job.
type event struct {
	task int
	try  int
	job  *api.Job // as it is; nil: it could not be submitted
	end  bool
	err  error
	// stays is the cluster of a job that was to be moved and was not, because of err.
	stays string
}

// ErrClustersChanged says that the broker has other clusters than when the run began: it is
// to be begun again, and finds its jobs.
var ErrClustersChanged = errors.New("the broker has other clusters now")

// Run carries the workflow out and returns how it ended. An error is something that
// kept it from being carried out; that tasks failed is in the state. When ctx ends it
// leaves everything as it is.
func Run(ctx context.Context, o Options) (*State, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // who follows jobs ends with it
	r, err := newRunner(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := r.recallRun(ctx); err != nil {
		return nil, err
	}
	select {
	case <-o.Stop:
		r.cancelAll(ctx)
	default:
		r.stepConductor(conduct.Input{Kind: conduct.Begin})
		if err := r.submitAll(ctx); err != nil {
			return nil, err
		}
	}
	return &r.state, r.eventLoop(ctx)
}

// CheckRunnable says why a workflow cannot be run on the clusters that there are; nil if it
// can.
func CheckRunnable(ctx context.Context, f *flowfile.Flow, b Broker) error {
	_, err := newRunner(ctx, Options{Flow: f, Broker: b, Clock: func() time.Time { return time.Time{} }})
	return err
}

func newRunner(ctx context.Context, o Options) (*runner, error) {
	r := &runner{Options: o, events: make(chan event, 64), looks: make(chan []api.Cluster, 1)}
	r.state = State{Flow: o.Flow, Began: o.Began, Tasks: make([]Task, len(o.Flow.Tasks))}
	for t := range r.state.Tasks {
		x := &r.state.Tasks[t]
		if t < len(o.Tasks) {
			x.FlowTask = o.Tasks[t]
		}
		x.ID, x.try = o.Flow.Tasks[t].ID, x.Forgiven // what was tried since is found by its keys
	}
	return r, r.prepareConductor(ctx)
}

// eventLoop lets things happen until all is over.
func (r *runner) eventLoop(ctx context.Context) error {
	const lookInterval = 2 * time.Second
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	stop := r.Stop
	if r.leaving {
		stop = nil
	}
	for !r.isOver() {
		r.showState()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-r.events:
			r.takeEvent(ctx, e)
		case <-tick.C:
			r.lookAround(ctx)
		case list := <-r.looks:
			r.looking = false
			if r.hasOtherClusters(list) {
				r.showState()
				return ErrClustersChanged
			}
			r.clustersChanged(list)
		case <-r.wakeUp():
			r.stepConductor(conduct.Input{Kind: conduct.Tick})
		case <-stop:
			stop = nil
			r.cancelAll(ctx)
		}
		if err := r.submitAll(ctx); err != nil {
			return err
		}
	}
	r.state.Over = true
	r.showState()
	return nil
}

// isOver tells whether nothing is left to wait for.
func (r *runner) isOver() bool {
	if !r.leaving {
		return r.c.IsOver()
	}
	return !slices.ContainsFunc(r.state.Tasks, func(t Task) bool { return t.isLive })
}

func (r *runner) secondsRun() float64 { return r.Clock.Since(r.state.Began).Seconds() }

func (r *runner) wakeUp() <-chan time.Time {
	if r.wake == 0 {
		return nil
	}
	return time.After(max(10*time.Millisecond, time.Duration((r.wake-r.secondsRun())*float64(time.Second))))
}

// showState shows how things are.
func (r *runner) showState() {
	r.state.Count = r.c.CountTasks(nil)
	if n := r.state.Count; n.Ready > 0 && n.Sent+n.Running == 0 && len(r.ready) == 0 && !r.leaving {
		if !r.stranded {
			r.recordEvent(core.FlowEvent{Kind: core.FlowStranded},
				wire.Entry{Kind: "wait", Choice: "waiting for a cluster that is up and can run what is next"})
		}
		r.stranded = true
	} else {
		r.stranded = false
	}
	r.state.Now = r.Clock()
	r.state.Outlook = r.c.Outlook(r.secondsRun())
	if r.See != nil {
		r.See(&r.state)
	}
	r.state.Events = nil
}

// recordEvent lets an event happen, told as the entry says; one that is not told and changes
// nothing has not happened.
func (r *runner) recordEvent(ev core.FlowEvent, told wire.Entry) {
	if ev.Kind.IsOfTask() {
		task := &r.state.Tasks[ev.Task].FlowTask
		before := *task
		if task.ApplyEvent(&ev); told.Kind == "" && *task == before {
			return
		}
	}
	told.At = recordTime(r.Clock())
	r.state.Events = append(r.state.Events, store.FlowEntry{Entry: told, Event: &ev})
}

// recordTime is a moment as records have it; 0: never.
func recordTime(t time.Time) core.Time {
	if t.IsZero() {
		return 0
	}
	return core.Time(t.UnixNano())
}

// jobTime is a moment of a job; 0: it has not come.
func jobTime(t *api.Time) core.Time {
	if t == nil {
		return 0
	}
	return recordTime(t.Time)
}

// After maxPlanEntries plans of a run only every planEntryStep-th is recorded, for all since.
const (
	maxPlanEntries = 500
	planEntryStep  = 100
)

// recordPlan records that the workflow was planned.
func (r *runner) recordPlan(n *conduct.Note) {
	if r.state.Notes == 0 {
		r.state.First = *n
	}
	r.state.Notes++
	if r.plans++; r.state.Notes > maxPlanEntries && r.plans < planEntryStep {
		return
	}
	ev := core.FlowEvent{Kind: core.FlowPlanned, N: r.plans, Seconds: n.End, Bound: r.state.Bound, Heuristic: n.Heuristic}
	r.plans = 0
	r.recordEvent(ev, wire.Entry{Kind: "plan",
		Choice: fmt.Sprintf("%d tasks planned, to end after %.3g s (%s)", n.Tasks, n.End, n.Heuristic), Why: n.Why,
		Inputs: map[string]any{"tasks": n.Tasks, "end_s": n.End, "before_s": n.Before, "heuristic": n.Heuristic}})
}

// stepConductor tells the conductor something and keeps what it wants done.
func (r *runner) stepConductor(in conduct.Input) {
	if r.Planning != nil {
		r.Planning <- struct{}{}
		defer func() { <-r.Planning }()
	}
	out := r.c.Step(r.secondsRun(), in)
	r.wake = out.Wake
	r.ready = append(r.ready, out.Orders...)
	if out.Note != nil {
		r.recordPlan(out.Note)
	}
	for _, t := range out.GaveUp {
		if x := &r.state.Tasks[t]; !x.Failed {
			r.recordEvent(core.FlowEvent{Kind: core.TaskGivenUp, Task: t}, wire.Entry{Kind: "failed",
				Choice: fmt.Sprintf("task %s failed", x.ID), Why: x.Why, Inputs: map[string]any{"job": x.Job, "tries": x.Try}})
		}
	}
}

// takeEvent takes in what became of a job.
func (r *runner) takeEvent(ctx context.Context, e event) {
	t := &r.state.Tasks[e.task]
	if e.try != t.try || t.Done || t.Failed {
		return
	}
	if e.stays != "" {
		r.recordEvent(core.FlowEvent{Kind: core.TaskMoved, Task: e.task, Cluster: e.stays}, wire.Entry{Kind: "stay",
			Choice: fmt.Sprintf("task %s stays on %s", t.ID, e.stays), Why: e.err.Error()})
		r.stepConductor(conduct.Input{Kind: conduct.Moved, Task: e.task, Host: r.hostIndex(e.stays)})
		return
	}
	if e.err != nil {
		t.isLive = false
		r.recordEvent(core.FlowEvent{Kind: core.TaskTryFailed, Task: e.task, Why: e.err.Error()}, wire.Entry{})
		r.taskFailed(e.task)
		return
	}
	j := e.job
	began := t.Started == 0 && j.Started != nil
	r.seeJob(e.task, j)
	r.locateJob(e.task, j)
	if began {
		r.stepConductor(conduct.Input{Kind: conduct.Started, Task: e.task,
			At: max(1e-9, j.Started.Sub(r.state.Began).Seconds())})
	}
	if !e.end {
		if j.PredictedEnd != nil && j.State == core.Running {
			r.stepConductor(conduct.Input{Kind: conduct.Expect, Task: e.task, At: j.PredictedEnd.Sub(r.state.Began).Seconds()})
		}
		return
	}
	r.taskEnded(ctx, e.task, j)
}

// seeJob takes in how a job is.
func (r *runner) seeJob(task int, j *api.Job) {
	r.recordEvent(core.FlowEvent{Kind: core.TaskSeen, Task: task, State: j.State, When: jobTime(j.Started), Why: j.Why},
		wire.Entry{})
}

// seeCluster takes in where a job is. While it waits it may still be on its way to where
// it was sent; where it runs counts.
func (r *runner) seeCluster(task int, j *api.Job) {
	t := &r.state.Tasks[task]
	if j.Cluster == "" || j.Cluster == t.Cluster || j.State != core.Running && !j.State.IsTerminal() {
		return
	}
	var told wire.Entry
	if t.Cluster != "" {
		told = wire.Entry{Kind: "move", Choice: fmt.Sprintf("task %s is on %s now", t.ID, j.Cluster),
			Why: "its job was moved there from " + t.Cluster}
	}
	r.recordEvent(core.FlowEvent{Kind: core.TaskMoved, Task: task, Cluster: j.Cluster}, told)
}

// locateJob takes in where a job runs, and tells the conductor.
func (r *runner) locateJob(task int, j *api.Job) {
	r.seeCluster(task, j)
	h := r.hostIndex(j.Cluster)
	if h >= 0 && j.State == core.Running {
		r.stepConductor(conduct.Input{Kind: conduct.Moved, Task: task, Host: h})
	}
}

// taskEnded takes in that a job is over and its results are home.
func (r *runner) taskEnded(ctx context.Context, task int, j *api.Job) {
	t := &r.state.Tasks[task]
	t.isLive = false
	if why := r.endReason(ctx, task, j); why != "" {
		r.tryFailed(task, j, why)
		if !r.leaving {
			r.taskFailed(task)
		}
		return
	}
	r.taskSucceeded(task, j)
}

// tryFailed records that the job of a task has ended and why it did not do what it is for.
func (r *runner) tryFailed(task int, j *api.Job, why string) {
	r.recordEvent(core.FlowEvent{Kind: core.TaskTryFailed, Task: task, State: j.State, When: jobTime(j.Ended), Why: why},
		wire.Entry{})
}

// taskSucceeded takes in that a task is done, and records it unless that is known.
func (r *runner) taskSucceeded(task int, j *api.Job) {
	if t := &r.state.Tasks[task]; !t.Done {
		r.recordEvent(core.FlowEvent{Kind: core.TaskSucceeded, Task: task, State: j.State, When: jobTime(j.Ended)},
			wire.Entry{Kind: "done", Choice: fmt.Sprintf("task %s done on %s after %.3g s", t.ID, t.Cluster,
				jobTime(j.Ended).Sub(t.Started).Seconds()),
				Inputs: map[string]any{"job": t.Job, "try": t.Try, "cpu_s": j.CPUS, "wall_s": j.WallS}})
		if j.Unreturned != "" {
			r.recordEvent(core.FlowEvent{Kind: core.TaskNoted, Task: task}, wire.Entry{Kind: "results",
				Choice: fmt.Sprintf("task %s: results not copied back", t.ID), Why: j.Unreturned})
		}
	}
	in := conduct.Input{Kind: conduct.Ended, Task: task, Host: r.hostIndex(j.Cluster), Seconds: j.WallS}
	if in.Host < 0 {
		in.Seconds = 0 // on a cluster that is in no plan
	}
	in.Waiting = min(j.WaitingS, j.WallS)
	if procs, ran := float64(max(1, j.Procs)), j.WallS-in.Waiting; ran > 0 && j.CPUS > 0 {
		in.Share = min(1, j.CPUS/ran/procs)
	}
	r.stepConductor(in)
}

// taskFailed takes in that a try of a task failed.
func (r *runner) taskFailed(task int) {
	t := &r.state.Tasks[task]
	r.stepConductor(conduct.Input{Kind: conduct.Failed, Task: task})
	if !t.Failed {
		r.recordEvent(core.FlowEvent{Kind: core.TaskNoted, Task: task}, wire.Entry{Kind: "retry",
			Choice: fmt.Sprintf("task %s failed and is tried again", t.ID), Why: t.Why,
			Inputs: map[string]any{"job": t.Job, "try": t.try}})
	}
}

// endReason is why a job that has ended did not do what its task is for; "": it did.
func (r *runner) endReason(ctx context.Context, task int, j *api.Job) string {
	switch {
	case j.State == core.Done:
		return missingText(j)
	case j.State == core.Cancelled && j.Started == nil:
		return "cancelled: " + j.Why
	}
	why := j.Why
	if last := r.lastLines(ctx, j); last != "" {
		why += ": " + last
	}
	if why == "" {
		why = fmt.Sprintf("its job ended as %s", j.State)
	}
	return why
}

// missingText says which output a job that went well did not make; "" if there is none.
func missingText(j *api.Job) string {
	if len(j.MissingOutputs) == 0 {
		return ""
	}
	return "it ended with code 0 and did not make " + j.MissingOutputs[0]
}

// cancelAll ends what runs, once.
func (r *runner) cancelAll(ctx context.Context) {
	r.leaving, r.state.Stopped, r.ready = true, true, nil
	for t := range r.state.Tasks {
		x := &r.state.Tasks[t]
		if !x.isLive {
			continue
		}
		id := fmt.Sprint(x.Job)
		go func() { _, _ = r.Broker.CancelJob(ctx, id) }() // its end is heard in any case
	}
}
