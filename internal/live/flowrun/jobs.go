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

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/follow"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
	"github.com/godwit-hpc/godwit/internal/sched/flow/conduct"
)

func (r *runner) connectBroker(ctx context.Context) error {
	c, err := r.Connect(ctx)
	if err != nil {
		return err
	}
	if r.client != nil {
		r.client.Close()
	}
	r.client = c
	return nil
}

// retryAway asks the broker until it answers, and gives up when it has been away for
// long.
func (r *runner) retryAway(ctx context.Context, ask func(c *api.Client) error) error {
	begin := r.Clock()
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := ask(r.client)
		var silent *api.SilentError // it was waited for already
		if err == nil || badinput.Is(err) || errors.As(err, &silent) || ctx.Err() != nil || r.Clock.Since(begin) > r.Patience {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		_ = r.connectBroker(ctx) // else the next question fails
	}
}

// Unknown is the way between two clusters of which nothing is known. Every file comes
// home and goes out again: a gigabit and a millisecond.
var Unknown = flow.Route{Latency: 1e-3, PerByte: 8e-9}

// prepareConductor asks which clusters there are and makes the conductor.
func (r *runner) prepareConductor(ctx context.Context) error {
	var list []api.Cluster
	if err := r.retryAway(ctx, func(c *api.Client) (err error) { list, err = c.ListClusters(ctx); return err }); err != nil {
		return err
	}
	for i, c := range list {
		r.state.Hosts = append(r.state.Hosts, flow.Host{Name: c.Name, Site: i, Class: i, Cores: max(1, c.Procs), Speed: max(0.01, cmp.Or(c.Speed, 1)), Down: c.State != "up"})
	}
	d, prior, err := BuildDAG(r.Flow, r.state.Hosts, r.earlierRuns(ctx))
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
		DAG: d, Hosts: r.state.Hosts, Sites: len(list), Route: route, Budget: r.Budget, Prior: prior, StopAll: r.StopAll, Movable: true,
		Retries: func(t int) int { return failureRetries(r.Flow.Tasks[t].Job) },
	})
	var nobody *flow.NobodyError
	if errors.As(err, &nobody) {
		t := &r.Flow.Tasks[nobody.Task]
		return &badinput.Error{Field: "task", Value: t.ID, Want: fmt.Sprintf("a cluster that has %d cores%s; there is none", t.Job.Min, amongText(t.Job.On))}
	}
	if err != nil {
		return err
	}
	r.state.Bound = flow.LowerBound(d, flow.NewGrid(r.state.Hosts, len(list), route))
	r.clustersChanged(ctx, list)
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
	list, err := r.client.EstimateCommands(ctx, &asked)
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
		var list []api.Cluster
		if c, err := r.Connect(soon); err == nil {
			list, _ = c.ListClusters(soon) // else as they were; who follows a job says if the broker stays away
			c.Close()
		}
		r.looks <- list
	}()
}

// clustersChanged tells the conductor what the clusters give to a task.
func (r *runner) clustersChanged(ctx context.Context, list []api.Cluster) {
	for _, c := range list {
		h := r.hostIndex(c.Name)
		if h < 0 {
			continue
		}
		r.stepConductor(ctx, conduct.Input{Kind: conduct.Changed, Host: h, Share: effectiveShare(c), Down: c.State != "up"})
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

func (r *runner) submitKey(task, try int) string {
	return fmt.Sprintf("%s/%s/%d", r.ID, r.Flow.Tasks[task].ID, try)
}

// maxTries bounds how many tries of a task are looked for.
const maxTries = 10_000

// recallRun finds what became of a run that was begun earlier. A task whose parents are
// not done was never submitted.
func (r *runner) recallRun(ctx, inner context.Context) error {
	parents := make([]int, len(r.state.Tasks))
	var open []int
	for t := range parents {
		r.state.DAG.EachParent(t, func(flow.Edge) { parents[t]++ })
		if parents[t] == 0 {
			open = append(open, t)
		}
	}
	for len(open) > 0 {
		t := open[0]
		open = open[1:]
		job, err := r.lastJob(ctx, t)
		if err != nil {
			return err
		}
		x := &r.state.Tasks[t]
		switch {
		case job == nil:
			continue
		case !job.IsOver() || job.State == core.Done && r.missingOutput(t) != "":
			// It runs, or its results are on their way home, or were removed.
			x.recalled = job.IsOver()
			if h := r.hostIndex(job.Cluster); h >= 0 {
				r.stepConductor(inner, conduct.Input{Kind: conduct.Adopt, Task: t, Host: h})
			} else {
				r.stepConductor(inner, conduct.Input{Kind: conduct.Adopt, Task: t})
			}
			x.Job = job.ID
			r.followJob(inner, t, x.Try, job.ID)
			continue
		case job.State != core.Done:
			continue // it is tried again, as another job
		}
		x.Job, x.Done, x.Cluster, x.State = job.ID, true, job.Cluster, job.State
		if job.Started != nil && job.Ended != nil {
			x.Started, x.Ended = job.Started.Time, job.Ended.Time
		}
		r.stepConductor(inner, conduct.Input{Kind: conduct.Ended, Task: t, Host: max(0, r.hostIndex(job.Cluster)), Seconds: job.WallS})
		r.state.DAG.EachChild(t, func(child int) {
			if parents[child]--; parents[child] == 0 {
				open = append(open, child)
			}
		})
	}
	return nil
}

// lastJob is the job of a task's last try; nil if it was never submitted.
func (r *runner) lastJob(ctx context.Context, t int) (*api.Job, error) {
	var found *api.Job
	for try := 1; try < maxTries; try++ {
		var job api.Job
		err := r.retryAway(ctx, func(c *api.Client) (err error) { job, err = c.GetJob(ctx, "key:"+r.submitKey(t, try)); return err })
		if badinput.Is(err) {
			break // there is none
		}
		if err != nil {
			return nil, err
		}
		found = &job
		r.state.Tasks[t].Try = try
	}
	return found, nil
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
	x.Try++
	x.Started, x.Ended, x.recalled = time.Time{}, time.Time{}, false
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
	job.Key = r.submitKey(o.Task, x.Try)
	job.RetryOn = slices.DeleteFunc(slices.Clone(job.RetryOn), func(s string) bool { return s == jobfile.RetryFailed })
	job.Env = maps.Clone(r.Env)
	if job.Env == nil {
		job.Env = map[string]string{}
	}
	maps.Copy(job.Env, task.Job.Env)
	job.Env["GODWIT_FLOW"], job.Env["GODWIT_TASK"] = r.Flow.Name, task.ID
	var id core.JobID
	err := r.retryAway(ctx, func(c *api.Client) error {
		work, err := r.Send(ctx, c, r.Flow.Dir, task.Inputs)
		if err != nil {
			return err
		}
		done, err := c.SubmitJob(ctx, &api.Submit{Job: job, Work: work, Made: r.madeInputs(o.Task)})
		if err == nil && len(done.IDs) == 1 {
			id = done.IDs[0]
		}
		return err
	})
	if badinput.Is(err) {
		r.takeEvent(ctx, event{task: o.Task, try: x.Try, err: err})
		return nil
	}
	if err != nil {
		return fmt.Errorf("submitting task %s: %w", task.ID, err)
	}
	x.Job, x.Cluster = id, job.StartOn
	r.followJob(ctx, o.Task, x.Try, id)
	return nil
}

// moveTask has the job of a task wait for another cluster: the one for which it waited is
// gone. A job that does not go stays the task's.
func (r *runner) moveTask(ctx context.Context, o conduct.Order) {
	x, to := &r.state.Tasks[o.Task], r.state.Hosts[o.Host].Name
	if to == x.Cluster { // which is back
		return
	}
	r.addNews("task %s is moved from %s to %s", x.ID, x.Cluster, to)
	from := x.Cluster
	x.Cluster = to
	e, id, c := event{task: o.Task, try: x.Try, stays: from}, fmt.Sprint(x.Job), r.client
	go func() {
		if _, e.err = c.MigrateJob(ctx, id, to); e.err == nil {
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
			if slices.ContainsFunc(r.Flow.Tasks[task].Inputs, func(in string) bool { return in == out.Name || strings.HasPrefix(in, out.Name+"/") }) {
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
	go func() {
		tell := func(e event) {
			e.task, e.try = task, try
			select {
			case r.events <- e:
			case <-ctx.Done():
			}
		}
		var told core.State
		var at string
		job, err := follow.JobToEnd(ctx, follow.Options{Connect: r.Connect, Job: fmt.Sprint(id), Patience: r.Patience, See: func(l *api.Live) {
			if l.Job.State != told || l.Job.Cluster != at || l.Job.PredictedEnd != nil {
				told, at = l.Job.State, l.Job.Cluster
				tell(event{job: &l.Job})
			}
		}})
		switch {
		case err != nil:
			tell(event{err: fmt.Errorf("job %d: %w", id, err)})
		case job != nil:
			tell(event{job: job, end: true})
		}
	}()
}

// lastLines is the end of what a job wrote.
func (r *runner) lastLines(ctx context.Context, j *api.Job) string {
	const most, few = 4 << 10, 3
	for _, stream := range []int{2, 1} {
		var out bytes.Buffer
		if _, err := r.client.CopyLogs(ctx, fmt.Sprint(j.ID), stream, 0, false, &tail{to: &out, most: most}); err != nil {
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
