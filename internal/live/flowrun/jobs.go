package flowrun

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
)

// Bounds on how long a broker that cannot do something at present is left alone.
const (
	minRetryPause = 20 * time.Millisecond
	maxRetryPause = 5 * time.Second
)

// persist asks the broker until it does what it is asked, or says that this is wrong.
func persist(ctx context.Context, ask func() error) error {
	for pause := minRetryPause; ; pause = min(2*pause, maxRetryPause) {
		err := ask()
		if err == nil || badinput.Is(err) {
			return err
		}
		if !clock.SleepContext(ctx, pause) {
			return ctx.Err()
		}
	}
}

// Unknown is the way between two clusters of which nothing is known. Every file comes
// home and goes out again: a gigabit and a millisecond.
var Unknown = flow.Route{Latency: 1e-3, PerByte: 8e-9}

// prepareConductor asks which clusters there are and makes the conductor.
func (r *runner) prepareConductor(ctx context.Context) error {
	var list []api.Cluster
	if err := persist(ctx, func() (err error) { list, err = r.Broker.ListClusters(ctx); return err }); err != nil {
		return err
	}
	for i, c := range list {
		r.state.Hosts = append(r.state.Hosts,
			flow.Host{Name: c.Name, Site: i, Class: i, Cores: max(1, c.Procs), Speed: max(0.01, cmp.Or(c.Speed, 1)),
				Down: c.State != "up"})
	}
	known := r.earlierRuns(ctx)
	d, prior, err := BuildDAG(r.Flow, r.state.Hosts, known)
	if err != nil {
		return err
	}
	r.state.DAG = d
	route := func(from, to int) flow.Route {
		if r.Route != nil {
			return r.Route(r.state.Hosts[from].Name, r.state.Hosts[to].Name)
		}
		return Unknown
	}
	r.c, err = conduct.New(conduct.Config{
		DAG: d, Hosts: r.state.Hosts, Sites: len(list), Route: route, Budget: r.Budget, Prior: prior,
		Waiting: WaitingParts(r.Flow, r.state.Hosts, known), StopAll: r.StopAll, Movable: true,
		Retries: func(t int) int { return failureRetries(r.Flow.Tasks[t].Job) },
	})
	var nobody *flow.NobodyError
	if errors.As(err, &nobody) {
		t := &r.Flow.Tasks[nobody.Task]
		return &badinput.Error{Field: "task", Value: t.ID,
			Want: fmt.Sprintf("a cluster that has %d cores%s; there is none", t.Job.Min, amongText(t.Job.On))}
	}
	if err != nil {
		return err
	}
	r.state.Bound = flow.LowerBound(d, flow.NewGrid(r.state.Hosts, len(list), route))
	r.clustersChanged(list)
	return nil
}

// earlierRuns is how long the tasks took before, by the history of the broker; nil if
// it does not say. A plan can do without.
func (r *runner) earlierRuns(ctx context.Context) []api.Estimate {
	var asked api.Commands
	for i := range r.Flow.Tasks {
		j := r.Flow.Tasks[i].Job
		asked.Commands = append(asked.Commands, api.Command{Argv: j.Argv, Procs: max(1, j.Min)})
	}
	list, err := r.Broker.EstimateCommands(ctx, &asked)
	if err != nil || len(list) != len(asked.Commands) {
		return nil
	}
	return list
}

func amongText(on []string) string {
	if len(on) == 0 {
		return ""
	}
	return ", among " + strings.Join(on, ", ")
}

// failureRetries is how often a task is started again after a failure of its own.
func failureRetries(j *jobfile.Job) int {
	if slices.Contains(j.RetryOn, jobfile.RetryFailed) {
		return j.Retries
	}
	return 0
}

// lookAround asks how the clusters are, beside the loop: one of them may take its
// time to say.
func (r *runner) lookAround(ctx context.Context) {
	if r.looking {
		return
	}
	r.looking = true
	go func() {
		soon, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		list, err := r.Broker.ListClusters(soon)
		if err != nil {
			list = nil // as they were
		}
		r.looks <- list
	}()
}

// hasOtherClusters tells whether there are clusters that are in no plan, or some of the plan
// are not there any more.
func (r *runner) hasOtherClusters(list []api.Cluster) bool {
	if list == nil {
		return false // nobody knows
	}
	return len(list) != len(r.state.Hosts) || slices.ContainsFunc(list, func(c api.Cluster) bool {
		return r.hostIndex(c.Name) < 0
	})
}

// clustersChanged tells the conductor what the clusters give to a task.
func (r *runner) clustersChanged(list []api.Cluster) {
	for _, c := range list {
		if h := r.hostIndex(c.Name); h >= 0 {
			r.stepConductor(conduct.Input{Kind: conduct.Changed, Host: h, Share: effectiveShare(c), Down: c.State != "up"})
		}
	}
}

// effectiveShare is what a task would get that takes the place of one that runs: the cluster
// tells what one more would get, and ours count among those that are there.
func effectiveShare(c api.Cluster) float64 {
	if c.Running == 0 || c.Share <= 0 || c.Procs <= 0 {
		return c.Share
	}
	if rest := 1/c.Share - 1/float64(c.Procs); rest > 1 {
		return 1 / rest
	}
	return 1
}

func (r *runner) hostIndex(cluster string) int {
	return slices.IndexFunc(r.state.Hosts, func(h flow.Host) bool { return h.Name == cluster })
}

// submitAll carries out the orders.
func (r *runner) submitAll(ctx context.Context) error {
	for len(r.ready) > 0 && !r.leaving {
		o := r.ready[0]
		r.ready = r.ready[1:]
		if o.Move {
			r.moveTask(ctx, o)
			continue
		}
		if err := r.submitTask(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// submitTask hands in the job of a task. What is wrong with the task is told as its
// failure; an error is that the broker cannot be reached.
func (r *runner) submitTask(ctx context.Context, o conduct.Order) error {
	x, task := &r.state.Tasks[o.Task], &r.Flow.Tasks[o.Task]
	x.try++
	job := *task.Job
	job.Name = r.Flow.Name + "." + task.ID
	job.Workdir, job.Inputs = r.Flow.Dir, nil
	for _, out := range task.Outputs {
		job.Outputs = append(job.Outputs, out.Name)
	}
	if len(job.Outputs) == 0 {
		job.Outputs = []string{jobfile.NoOutputs} // none named would be all that changed
	}
	job.FixMoments(r.Clock())
	job.StartOn = r.state.Hosts[o.Host].Name
	job.Estimate = task.Estimate
	job.Key = r.submitKey(o.Task, x.try)
	job.RetryOn = slices.DeleteFunc(slices.Clone(job.RetryOn), func(s string) bool { return s == jobfile.RetryFailed })
	job.Env = maps.Clone(r.Env)
	if job.Env == nil {
		job.Env = map[string]string{}
	}
	maps.Copy(job.Env, task.Job.Env)
	job.Env["GODWIT_FLOW"], job.Env["GODWIT_TASK"] = r.Flow.Name, task.ID
	var id core.JobID
	err := persist(ctx, func() (err error) {
		if r.isStopping() {
			return nil
		}
		id, err = r.Broker.SubmitTask(ctx, &job, task.Inputs, r.madeInputs(o.Task))
		return err
	})
	if err == nil && id == 0 {
		return nil // it is to be cancelled, and the broker has not taken it
	}
	if badinput.Is(err) {
		r.takeEvent(ctx, event{task: o.Task, try: x.try, err: err})
		x.try-- // there is no job of that key, and who looks for keys expects no gap
		return nil
	}
	if err != nil {
		return fmt.Errorf("submitting task %s: %w", task.ID, err)
	}
	x.isLive = true
	r.recordEvent(core.FlowEvent{Kind: core.TaskSubmitted, Task: o.Task, Job: id, Try: x.try, Cluster: job.StartOn},
		wire.Entry{Kind: "start", Choice: fmt.Sprintf("task %s submitted as job %d, to start on %s", x.ID, id, job.StartOn),
			Why:    "what it waits for is done, and it is next there by the plan",
			Inputs: map[string]any{"job": id, "try": x.try}})
	r.followJob(ctx, o.Task, x.try, id)
	return nil
}

func (r *runner) isStopping() bool {
	select {
	case <-r.Stop:
		return true
	default:
		return false
	}
}

// moveTask has the job of a task wait for another cluster: the one for which it waited is
// gone. A job that does not go stays the task's.
func (r *runner) moveTask(ctx context.Context, o conduct.Order) {
	x, to := &r.state.Tasks[o.Task], r.state.Hosts[o.Host].Name
	if to == x.Cluster { // which is back
		return
	}
	from := x.Cluster
	r.recordEvent(core.FlowEvent{Kind: core.TaskMoved, Task: o.Task, Cluster: to}, wire.Entry{Kind: "move",
		Choice: fmt.Sprintf("task %s is moved from %s to %s", x.ID, from, to),
		Why:    from + " is down and the task does not run yet"})
	e, id := event{task: o.Task, try: x.try, stays: from}, fmt.Sprint(x.Job)
	go func() {
		if _, e.err = r.Broker.MigrateJob(ctx, id, to); e.err == nil {
			return // what becomes of it is told by who follows it
		}
		select {
		case r.events <- e:
		case <-ctx.Done():
		}
	}()
}

// madeInputs is where the inputs of a task come from that others made: from their jobs, not
// from the folder, where something else may lie by now.
func (r *runner) madeInputs(task int) []api.Made {
	var list []api.Made
	r.state.DAG.EachParent(task, func(e flow.Edge) {
		parent := e.From
		x, files := &r.state.Tasks[parent], []string(nil)
		for _, out := range r.Flow.Tasks[parent].Outputs {
			if slices.ContainsFunc(r.Flow.Tasks[task].Inputs,
				func(in string) bool { return in == out.Name || strings.HasPrefix(in, out.Name+"/") }) {
				files = append(files, out.Name)
			}
		}
		if x.Done && x.Job != 0 && len(files) > 0 {
			list = append(list, api.Made{Job: x.Job, Files: files})
		}
	})
	return list
}

// followJob tells what becomes of a job, beside the loop.
func (r *runner) followJob(ctx context.Context, task, try int, id core.JobID) {
	tell := func(e event) {
		e.task, e.try = task, try
		select {
		case r.events <- e:
		case <-ctx.Done():
		}
	}
	go func() {
		var told core.State
		var at string
		var last *api.Job
		err := persist(ctx, func() error {
			return r.Broker.WatchJob(ctx, fmt.Sprint(id), func(l *api.Live) error {
				switch {
				case l.Final:
					last = &l.Job
				case l.Job.State != told || l.Job.Cluster != at || l.Job.PredictedEnd != nil:
					told, at = l.Job.State, l.Job.Cluster
					tell(event{job: &l.Job})
				}
				return nil
			})
		})
		switch {
		case last != nil:
			tell(event{job: last, end: true})
		case err != nil && ctx.Err() == nil:
			tell(event{err: fmt.Errorf("job %d: %w", id, err)})
		}
	}()
}

// lastLines is the end of what a job wrote.
func (r *runner) lastLines(ctx context.Context, j *api.Job) string {
	const most, few = 4 << 10, 3
	for _, stream := range []int{2, 1} {
		var out bytes.Buffer
		if _, err := r.Broker.CopyLogs(ctx, fmt.Sprint(j.ID), stream, 0, false, &tail{to: &out, most: most}); err != nil {
			continue
		}
		if text := strings.TrimSpace(out.String()); text != "" {
			lines := strings.Split(text, "\n")
			return strings.Join(lines[max(0, len(lines)-few):], " | ")
		}
	}
	return ""
}

// tail keeps the end of what is written.
type tail struct {
	to   *bytes.Buffer
	most int
}

func (t *tail) Write(p []byte) (int, error) {
	t.to.Write(p)
	if over := t.to.Len() - t.most; over > 0 {
		t.to.Next(over)
	}
	return len(p), nil
}
