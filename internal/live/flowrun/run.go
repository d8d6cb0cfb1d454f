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
	"github.com/godwit-hpc/godwit/internal/protocol/api"
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
	Tasks []Task
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

// A Task is what became of one.
type Task struct {
	ID       string
	Job      core.JobID // the last one; 0: it was never submitted
	Try      int
	Forgiven int // tries up to this one do not count: another is made
	Cluster  string
	State    core.State
	Started  time.Time
	Ended    time.Time
	Done     bool
	Failed   bool // for good
	Why      string
	isLive   bool // its job has not ended, as far as is known
}

// A Decision is something that was decided for a workflow, or that happened to it.
type Decision struct {
	At     time.Time
	Kind   string
	Choice string
	Why    string
	Inputs map[string]any
}

// A State is how far a run is.
type State struct {
	Flow      *flowfile.Flow
	DAG       *flow.DAG
	Tasks     []Task
	Count     conduct.Count
	Outlook   conduct.Outlook // in seconds after Began
	Began     time.Time
	Now       time.Time
	Notes     int     // how often it was planned
	Bound     float64 // no plan can be shorter, by the models as they were at the beginning
	First     conduct.Note
	Decisions []Decision // since See was called last
	Stopped   bool       // nothing more is started: Stop was closed
	Over      bool
	Hosts     []flow.Host
}

// runner is one run.
type runner struct {
	Options
	c        *conduct.Conductor
	state    State
	events   chan event
	ready    []conduct.Order
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
			*x = o.Tasks[t]
		}
		x.ID, x.Try = o.Flow.Tasks[t].ID, x.Forgiven // what was tried since is found by its keys
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
			r.decide("wait", "waiting for a cluster that is up and can run what is next", "", nil)
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
	r.state.Decisions = nil
}

// decide notes something that was decided.
func (r *runner) decide(kind, choice, why string, inputs map[string]any) {
	r.state.Decisions = append(r.state.Decisions,
		Decision{At: r.Clock(), Kind: kind, Choice: choice, Why: why, Inputs: inputs})
}

// maxPlanEntries is how many plans of a run are told each by itself.
const maxPlanEntries = 500

// stepConductor tells the conductor something and keeps what it wants done.
func (r *runner) stepConductor(in conduct.Input) {
	if r.Planning != nil {
		r.Planning <- struct{}{}
		defer func() { <-r.Planning }()
	}
	out := r.c.Step(r.secondsRun(), in)
	r.wake = out.Wake
	r.ready = append(r.ready, out.Orders...)
	if n := out.Note; n != nil {
		if r.state.Notes == 0 {
			r.state.First = *n
		}
		if r.state.Notes++; r.state.Notes <= maxPlanEntries {
			r.decide("plan", fmt.Sprintf("%d tasks planned, to end after %.3g s (%s)", n.Tasks, n.End, n.Heuristic), n.Why,
				map[string]any{"tasks": n.Tasks, "end_s": n.End, "before_s": n.Before, "heuristic": n.Heuristic})
		}
	}
	for _, t := range out.GaveUp {
		x := &r.state.Tasks[t]
		if !x.Failed {
			r.decide("failed", fmt.Sprintf("task %s failed", x.ID), x.Why, map[string]any{"job": x.Job, "tries": x.Try})
		}
		x.Failed = true
	}
}

// takeEvent takes in what became of a job.
func (r *runner) takeEvent(ctx context.Context, e event) {
	t := &r.state.Tasks[e.task]
	if e.try != t.Try || t.Done || t.Failed {
		return
	}
	if e.stays != "" {
		r.decide("stay", fmt.Sprintf("task %s stays on %s", t.ID, e.stays), e.err.Error(), nil)
		t.Cluster = e.stays
		r.stepConductor(conduct.Input{Kind: conduct.Moved, Task: e.task, Host: r.hostIndex(e.stays)})
		return
	}
	if e.err != nil {
		t.Why, t.isLive = e.err.Error(), false
		r.taskFailed(e.task)
		return
	}
	j := e.job
	began := t.Started.IsZero() && j.Started != nil
	t.State, t.Why = j.State, j.Why
	r.locateJob(e.task, j)
	if j.Started != nil {
		t.Started = j.Started.Time
	}
	if began {
		r.stepConductor(conduct.Input{Kind: conduct.Started, Task: e.task,
			At: max(1e-9, t.Started.Sub(r.state.Began).Seconds())})
	}
	if !e.end {
		if j.PredictedEnd != nil && j.State == core.Running {
			r.stepConductor(conduct.Input{Kind: conduct.Expect, Task: e.task, At: j.PredictedEnd.Sub(r.state.Began).Seconds()})
		}
		return
	}
	r.taskEnded(ctx, e.task, j)
}

// locateJob takes in where a job is. While it waits it may still be on its way to where
// it was sent; where it runs counts.
func (r *runner) locateJob(task int, j *api.Job) {
	t, h := &r.state.Tasks[task], r.hostIndex(j.Cluster)
	if j.Cluster == "" || j.State != core.Running && !j.State.IsTerminal() {
		return
	}
	if t.Cluster != j.Cluster && t.Cluster != "" {
		r.decide("move", fmt.Sprintf("task %s is on %s now", t.ID, j.Cluster), "its job was moved there from "+t.Cluster, nil)
	}
	t.Cluster = j.Cluster
	if h >= 0 && j.State == core.Running {
		r.stepConductor(conduct.Input{Kind: conduct.Moved, Task: task, Host: h})
	}
}

// taskEnded takes in that a job is over and its results are home.
func (r *runner) taskEnded(ctx context.Context, task int, j *api.Job) {
	t := &r.state.Tasks[task]
	t.isLive = false
	if j.Ended != nil {
		t.Ended = j.Ended.Time
	}
	why := r.endReason(ctx, task, j)
	if why != "" {
		t.Why = why
		if !r.leaving {
			r.taskFailed(task)
		}
		return
	}
	r.tellDone(task, j)
	r.taskSucceeded(task, j)
}

func (r *runner) tellDone(task int, j *api.Job) {
	t := &r.state.Tasks[task]
	text := fmt.Sprintf("task %s done on %s after %.3g s", t.ID, t.Cluster, t.Ended.Sub(t.Started).Seconds())
	r.decide("done", text, "", map[string]any{"job": t.Job, "try": t.Try, "cpu_s": j.CPUS, "wall_s": j.WallS})
	if j.Unreturned != "" {
		r.decide("results", fmt.Sprintf("task %s: results not copied back", t.ID), j.Unreturned, nil)
	}
}

// taskSucceeded takes in that a task is done.
func (r *runner) taskSucceeded(task int, j *api.Job) {
	t := &r.state.Tasks[task]
	t.Done, t.Why = true, ""
	in := conduct.Input{Kind: conduct.Ended, Task: task, Host: r.hostIndex(j.Cluster), Seconds: j.WallS}
	if in.Host < 0 {
		in.Seconds = 0 // on a cluster that is in no plan
	}
	if procs := float64(max(1, j.Procs)); j.WallS > 0 && j.CPUS > 0 {
		in.Share = min(1, j.CPUS/j.WallS/procs)
	}
	r.stepConductor(in)
}

// taskFailed takes in that a try of a task failed.
func (r *runner) taskFailed(task int) {
	t := &r.state.Tasks[task]
	r.stepConductor(conduct.Input{Kind: conduct.Failed, Task: task})
	if !t.Failed {
		r.decide("retry", fmt.Sprintf("task %s failed and is tried again", t.ID), t.Why,
			map[string]any{"job": t.Job, "try": t.Try})
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
