package flowrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/flowfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
)

// Options say what to run.
type Options struct {
	Flow *flowfile.Flow
	ID   string // of the run; the keys of its jobs begin with it
	// Again says that the run was begun earlier.
	Again bool
	// Connect finds the broker, and starts one where none runs.
	Connect func(ctx context.Context) (*api.Client, error)
	// Send brings files of the flow's folder into the broker's depot and returns their
	// tree.
	Send    func(ctx context.Context, c *api.Client, dir string, files []string) (string, error)
	Clock   clock.Clock
	Route   func(from, to string) flow.Route // between clusters; nil: a guess
	Budget  func(best, bound float64) flow.Budget
	StopAll bool // when a task fails for good, nothing more is started
	Env     map[string]string
	// See is told when something changed, and now and then.
	See func(*State)
	// Patience is how long a broker may be away; 0: a minute.
	Patience time.Duration
}

// A Task is what became of one.
type Task struct {
	ID      string
	Job     core.JobID // the last one; 0: it was never submitted
	Try     int
	Cluster string
	State   core.State
	Started time.Time
	Ended   time.Time
	Done    bool
	Failed  bool // for good
	Why     string
	lost    bool // its job was cancelled by us
	// recalled: its job had ended when the run was gone on with, and its results may
	// not have been home then, or be gone since.
	recalled bool
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
	Notes   []conduct.Note
	Bound   float64 // no plan can be shorter, by the models as they were at the beginning
	First   conduct.Note
	News    []string // since See was called last
	Over    bool
	Hosts   []flow.Host
}

// runner is one run.
type runner struct {
	Options
	c       *conduct.Conductor
	client  *api.Client
	state   State
	events  chan event
	ready   []conduct.Order
	wake    float64
	leaving bool
	failure error // that keeps the run from being carried on
	looks   chan []api.Cluster
	looking bool // somebody asks how the clusters are

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

// Run carries the workflow out and returns how it ended. An error is something that
// kept it from being carried out; that tasks failed is in the state.
func Run(ctx context.Context, o Options) (*State, error) {
	if o.Patience == 0 {
		o.Patience = time.Minute
	}
	r := &runner{Options: o, events: make(chan event, 64), looks: make(chan []api.Cluster, 1)}
	r.state = State{Flow: o.Flow, Began: o.Clock(), Tasks: make([]Task, len(o.Flow.Tasks))}
	for t := range r.state.Tasks {
		r.state.Tasks[t].ID = o.Flow.Tasks[t].ID
	}
	if err := r.connectBroker(ctx); err != nil {
		return nil, err
	}
	defer func() { r.client.Close() }()
	if err := r.prepareConductor(ctx); err != nil {
		return nil, err
	}
	// Jobs are followed beyond an interruption: they are to be ended, and that is to
	// be seen.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if o.Again {
		if err := r.recallRun(ctx, inner); err != nil {
			return nil, err
		}
	}
	r.stepConductor(inner, conduct.Input{Kind: conduct.Begin})
	return &r.state, r.eventLoop(ctx, inner)
}

// eventLoop lets things happen until all is over.
func (r *runner) eventLoop(ctx, inner context.Context) error {
	const look = 2 * time.Second
	tick := time.NewTicker(look)
	defer tick.Stop()
	interrupted := ctx.Done()
	for !r.isOver() {
		r.showState()
		select {
		case e := <-r.events:
			r.takeEvent(inner, e)
		case <-tick.C:
			r.lookAround(inner)
		case list := <-r.looks:
			r.looking = false
			r.clustersChanged(inner, list)
		case <-r.wakeUp():
			r.stepConductor(inner, conduct.Input{Kind: conduct.Tick})
		case <-interrupted:
			interrupted = nil
			r.cancelAll(inner)
		}
		if err := r.submitAll(inner); err != nil {
			return err
		}
		if r.failure != nil {
			return r.failure
		}
	}
	r.state.Over = true
	r.showState()
	return ctx.Err()
}

// isOver tells whether nothing is left to wait for.
func (r *runner) isOver() bool {
	if !r.leaving {
		return r.c.IsOver()
	}
	return !slices.ContainsFunc(r.state.Tasks, func(t Task) bool { return t.Job != 0 && !t.Done && !t.Failed && !t.lost })
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
	if n := r.c.CountTasks(nil); n.Ready > 0 && n.Sent+n.Running == 0 && len(r.ready) == 0 {
		if !r.stranded {
			r.addNews("waiting for a cluster that is up and can run what is next")
		}
		r.stranded = true
	} else {
		r.stranded = false
	}
	r.state.Now = r.Clock()
	r.state.Count = r.c.CountTasks(nil)
	r.state.Outlook = r.c.Outlook(r.secondsRun())
	if r.See != nil {
		r.See(&r.state)
	}
	r.state.News = nil
}

func (r *runner) addNews(format string, args ...any) {
	r.state.News = append(r.state.News, fmt.Sprintf(format, args...))
}

// stepConductor tells the conductor something and keeps what it wants done.
func (r *runner) stepConductor(_ context.Context, in conduct.Input) {
	out := r.c.Step(r.secondsRun(), in)
	r.wake = out.Wake
	r.ready = append(r.ready, out.Orders...)
	if n := out.Note; n != nil {
		if len(r.state.Notes) == 0 {
			r.state.First = *n
		}
		r.state.Notes = append(r.state.Notes, *n)
	}
	for _, t := range out.GaveUp {
		r.state.Tasks[t].Failed = true
		r.addNews("task %s failed: %s", r.state.Tasks[t].ID, r.state.Tasks[t].Why)
	}
}

// takeEvent takes in what became of a job.
func (r *runner) takeEvent(ctx context.Context, e event) {
	t := &r.state.Tasks[e.task]
	if e.try != t.Try || t.Done || t.Failed {
		return
	}
	if e.stays != "" {
		r.addNews("task %s stays on %s: %s", t.ID, e.stays, e.err)
		t.Cluster = e.stays
		r.stepConductor(ctx, conduct.Input{Kind: conduct.Moved, Task: e.task, Host: r.hostIndex(e.stays)})
		return
	}
	if e.err != nil {
		t.Why = e.err.Error()
		if e.job == nil && !badinput.Is(e.err) { // nobody knows what became of it
			r.failure = fmt.Errorf("task %s: %w; what runs goes on, and so does the workflow when it is run again", t.ID, e.err)
			return
		}
		r.stepConductor(ctx, conduct.Input{Kind: conduct.Failed, Task: e.task})
		return
	}
	j := e.job
	began := t.Started.IsZero() && j.Started != nil
	t.State, t.Why = j.State, j.Why
	r.locateJob(ctx, e.task, j)
	if j.Started != nil {
		t.Started = j.Started.Time
	}
	if began {
		r.stepConductor(ctx, conduct.Input{Kind: conduct.Started, Task: e.task, At: max(1e-9, t.Started.Sub(r.state.Began).Seconds())})
	}
	if !e.end {
		if j.PredictedEnd != nil && j.State == core.Running {
			r.stepConductor(ctx, conduct.Input{Kind: conduct.Expect, Task: e.task, At: j.PredictedEnd.Sub(r.state.Began).Seconds()})
		}
		return
	}
	r.taskEnded(ctx, e.task, j)
}

// locateJob takes in where a job is. While it waits it may still be on its way to where
// it was sent; where it runs counts.
func (r *runner) locateJob(ctx context.Context, task int, j *api.Job) {
	t, h := &r.state.Tasks[task], r.hostIndex(j.Cluster)
	if j.Cluster == "" || j.State != core.Running && !j.State.IsTerminal() {
		return
	}
	if t.Cluster != j.Cluster && !t.recalled {
		r.addNews("task %s is on %s now", t.ID, j.Cluster)
	}
	t.Cluster = j.Cluster
	if h >= 0 && j.State == core.Running {
		r.stepConductor(ctx, conduct.Input{Kind: conduct.Moved, Task: task, Host: h})
	}
}

// taskEnded takes in that a job is over and its results are home.
func (r *runner) taskEnded(ctx context.Context, task int, j *api.Job) {
	t := &r.state.Tasks[task]
	if j.Ended != nil {
		t.Ended = j.Ended.Time
	}
	switch {
	case r.leaving:
		t.lost = true
		if j.State == core.Done && r.notMade(task, j) == "" {
			t.Done = true
		}
		return
	case j.State == core.Done:
		if file := r.notMade(task, j); file != "" {
			t.Why = "it ended with code 0 and did not make " + file
			if t.recalled { // it may have: then somebody removed it since
				r.addNews("task %s is run again: %s is gone", t.ID, file)
				r.stepConductor(ctx, conduct.Input{Kind: conduct.Lost, Task: task})
				return
			}
			break
		}
		t.Done = true
		in := conduct.Input{Kind: conduct.Ended, Task: task, Host: r.hostIndex(t.Cluster), Seconds: j.WallS}
		if in.Host < 0 {
			in.Seconds = 0 // on a cluster that came later, and is in no plan
		}
		if procs := float64(max(1, j.Procs)); j.WallS > 0 && j.CPUS > 0 {
			in.Share = min(1, j.CPUS/j.WallS/procs)
		}
		r.addNews("task %s done on %s after %.3g s", t.ID, t.Cluster, t.Ended.Sub(t.Started).Seconds())
		r.stepConductor(ctx, in)
		return
	case j.State == core.Cancelled && j.Started == nil:
		t.Why = "cancelled: " + j.Why
	}
	if j.State == core.Failed || j.State == core.Cancelled {
		if last := r.lastLines(ctx, j); last != "" {
			t.Why += ": " + last
		}
	}
	r.stepConductor(ctx, conduct.Input{Kind: conduct.Failed, Task: task})
	if !t.Failed {
		r.addNews("task %s failed and is tried again: %s", t.ID, t.Why)
	}
}

// notMade is an output of a task that its job did not make, or that is gone since; ""
// if there is none. Something of that name may lie in the folder all the same, from
// an earlier run.
func (r *runner) notMade(task int, j *api.Job) string {
	if len(j.MissingOutputs) > 0 {
		return j.MissingOutputs[0]
	}
	if j.Unreturned != "" {
		r.addNews("task %s: results not copied back: %s", r.state.Tasks[task].ID, j.Unreturned)
		return ""
	}
	return r.missingOutput(task)
}

// missingOutput is an output of a task that is not there; "" if all are.
func (r *runner) missingOutput(task int) string {
	for _, o := range r.Flow.Tasks[task].Outputs {
		if _, err := os.Lstat(filepath.Join(r.Flow.Dir, o.Name)); err != nil {
			return o.Name
		}
	}
	return ""
}

// cancelAll ends what runs, once.
func (r *runner) cancelAll(ctx context.Context) {
	r.leaving = true
	r.addNews("cancelling what runs … (press Ctrl-C again to quit without waiting)")
	for t := range r.state.Tasks {
		x := &r.state.Tasks[t]
		if x.Job == 0 || x.Done || x.Failed {
			continue
		}
		id, c := fmt.Sprint(x.Job), r.client
		go func() { _, _ = c.CancelJob(ctx, id) }() // its end is heard in any case
	}
}
