package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// What users do with their jobs while these live. The engine decides what follows; here is refused what has no effect,
// with the reason, and waited for until it has happened.

// steering is one thing that a user may do with a job.
type steering struct {
	past   string // "held"
	only   string // of which jobs it can be done
	isFor  func(w *engine.JobView) bool
	isDone func(w *engine.JobView) bool // there is nothing to do
	input  core.Input
}

func isRunning(w *engine.JobView) bool { return w.State == core.Running }

func isOnProcessors(w *engine.JobView) bool {
	return w.State == core.Running || w.State == core.Stopping || w.State == core.Stopped
}

// HoldJob keeps a job that does not run from being placed until it is released.
func (b *Broker) HoldJob(ctx context.Context, ref string) (string, error) {
	return b.steerJob(ctx, ref, &steering{past: "held", only: "jobs that do not run can be held (godwit requeue --hold " +
		"stops one that runs, godwit suspend halts it)",
		isFor:  func(w *engine.JobView) bool { return !isOnProcessors(w) },
		isDone: func(w *engine.JobView) bool { return w.HeldByUser },
		input:  core.Input{Kind: core.HoldJob}})
}

// ReleaseJob lets a job that was held be placed.
func (b *Broker) ReleaseJob(ctx context.Context, ref string) (string, error) {
	return b.steerJob(ctx, ref, &steering{past: "released", only: "jobs that were held can be released",
		isFor: func(w *engine.JobView) bool { return w.HeldByUser },
		input: core.Input{Kind: core.ReleaseJob}})
}

// RequeueJob has a job placed again, saved if it runs and can be; with hold it waits until it is released.
func (b *Broker) RequeueJob(ctx context.Context, ref string, how api.Requeue) (string, error) {
	s := &steering{past: "requeued", only: "jobs that run or were placed can be requeued",
		isFor: func(w *engine.JobView) bool { return w.State == core.Running || w.Parts > 0 && !isOnProcessors(w) },
		input: core.Input{Kind: core.RequeueJob, Hold: how.Hold}}
	if how.Hold {
		s.past = "requeued and held"
	}
	return b.steerJob(ctx, ref, s)
}

// SuspendJob stops the program of a job that runs; it keeps its processors.
func (b *Broker) SuspendJob(ctx context.Context, ref string) (string, error) {
	text, err := b.steerJob(ctx, ref, &steering{past: "suspended", isFor: isRunning,
		only:   "jobs that run can be suspended (godwit hold keeps others from starting)",
		isDone: func(w *engine.JobView) bool { return w.Suspended },
		input:  core.Input{Kind: core.SuspendJob}})
	if err != nil {
		return "", err
	}
	return b.awaitStill(ctx, ref, text)
}

// ResumeJob lets a job go on that was suspended.
func (b *Broker) ResumeJob(ctx context.Context, ref string) (string, error) {
	return b.steerJob(ctx, ref, &steering{past: "resumed", only: "suspended jobs can be resumed",
		isFor: func(w *engine.JobView) bool { return w.Suspended },
		input: core.Input{Kind: core.ContinueJob}})
}

// errSuspended refuses what a program has to do itself that stands still.
func errSuspended(j *job, what string) error {
	return fmt.Errorf("%s is suspended: godwit resume %d lets it go on, then it can be %s", j.shortName(), j.rec.ID, what)
}

// steerJob has the engine do something with a job.
func (b *Broker) steerJob(ctx context.Context, ref string, s *steering) (string, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return "", err
	}
	if j == nil || v.State.IsTerminal() {
		return "", &badinput.Error{Problem: fmt.Sprintf("job %s has ended: only %s", ref, s.only)}
	}
	var text string
	var refused error
	err = b.askLoop(ctx, func(t *turn) { text, refused = t.steer(j, s) })
	return text, errors.Join(err, refused)
}

// steer does so in the loop.
func (t *turn) steer(j *job, s *steering) (string, error) {
	w, live := t.enterForUser(j)
	switch {
	case !live:
		return "", &badinput.Error{Problem: fmt.Sprintf("%s has ended: only %s", j.shortName(), s.only)}
	case s.isDone != nil && s.isDone(&w):
		return fmt.Sprintf("%s is %s already", j.shortName(), s.past), nil
	case w.State == core.Stopping:
		return "", fmt.Errorf("%s is being stopped just now: try again when it has been", j.shortName())
	case !s.isFor(&w):
		return "", &badinput.Error{Problem: fmt.Sprintf("%s is %s: only %s", j.shortName(), situation(&w), s.only)}
	}
	in := s.input
	in.Job = j.rec.ID
	t.stepEngine(&in)
	return fmt.Sprintf("%s %s", j.shortName(), s.past), nil
}

// situation is what a job does, in a word or two.
func situation(w *engine.JobView) string {
	switch {
	case w.Suspended && w.State == core.Running:
		return "suspended"
	case w.State == core.Running:
		return "running"
	case w.HeldByUser:
		return "held"
	}
	return "waiting"
}

// enterForUser is a job as the engine has it. An element of an array whose turn has not come is handed to it.
func (t *turn) enterForUser(j *job) (engine.JobView, bool) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	if !live && !j.rec.State.IsTerminal() {
		t.enterUndescribed(j, map[targetKey]core.Target{})
		w, live = t.b.eng.FindJob(j.rec.ID)
	}
	return w, live
}

// stillTimeout is how long a user waits for the agent to say that a program stands still.
const stillTimeout = 15 * time.Second

// awaitStill waits until the agent has stopped the program of a job.
func (b *Broker) awaitStill(ctx context.Context, ref, text string) (string, error) {
	j, _, err := b.findJob(ctx, ref)
	if err != nil || j == nil {
		return text, err
	}
	late := time.NewTimer(stillTimeout)
	defer late.Stop()
	for {
		next := j.nextChange()
		var still, suspended bool
		var why string
		err := b.askLoop(ctx, func(t *turn) {
			w, _ := t.b.eng.FindJob(j.rec.ID)
			still, suspended, why = j.standsStill == j.rec.Epoch, w.Suspended, j.cannotSuspend
		})
		switch {
		case err != nil:
			return "", err
		case still && suspended:
			return text, nil
		case !suspended && why != "":
			return "", fmt.Errorf("%s cannot be suspended: %s", j.shortName(), why)
		case !suspended:
			return text, nil // somebody has it go on already, or it has ended
		}
		select {
		case <-next:
		case <-late.C:
			return text + "; its agent has not answered yet, and is told again when it is back", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// tellSuspended tells the agents of a job whether its program is to stand still.
func (t *turn) tellSuspended(j *job, links []*link) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	if !live || w.State != core.Running && w.State != core.Stopping {
		return
	}
	order := wire.Order{Kind: wire.Continue, Epoch: w.Epoch}
	if w.Suspended {
		order.Kind = wire.Suspend
	}
	for _, l := range links {
		l.sendOrder(order)
	}
}

// tellDeadline tells the agents of a job of its deadline.
func (t *turn) tellDeadline(j *job, links []*link) {
	for _, l := range links {
		l.sendOrder(wire.Order{Kind: wire.Inform, Epoch: j.rec.Epoch, By: j.rec.Deadline})
	}
}

// agentSuspended takes in that the program of a job stands still, or cannot be made to.
func (t *turn) agentSuspended(j *job, why string) {
	t.touchJob(j)
	if why == "" {
		j.standsStill = j.rec.Epoch
		return
	}
	j.cannotSuspend = why
	t.explainReport(j, "suspend", "runs on", "it cannot be suspended: "+why, nil)
	t.stepEngine(&core.Input{Kind: core.ContinueJob, Job: j.rec.ID})
}

// recordSteering explains what a user did with a job.
func (t *turn) recordSteering(j *job, ev *core.Event) {
	t.touchJob(j)
	why := ev.WhyText(t.b.clusterName(ev.Cluster))
	switch ev.Kind {
	case core.JobHeldByUser:
		t.explainJob(j, "hold", "not started until it is released", why, nil)
		if a := t.b.arrayOf(&j.rec); a != nil && !j.spec.Hold { // others of its array may wait in the queue instead
			t.uncountJob(j)
			t.fillQueue(a)
		}
	case core.JobReleasedByUser:
		t.explainJob(j, "release", "may start", why, nil)
		t.countIn(j)
	case core.JobSuspended:
		j.standsStill, j.cannotSuspend = 0, ""
		t.explainJob(j, "suspend", "halted on "+j.rec.Cluster, why, nil)
	case core.JobContinued:
		j.standsStill = 0
		t.explainJob(j, "resume", "goes on", why, nil)
	case core.JobUpdated:
		j.spec = j.rec.CurrentSpec()
		t.explainJob(j, "update", changeText(ev.Change), why, nil)
	}
}

// changeText says what was changed of a job.
func changeText(c *core.Change) string {
	var list []string
	if c.Deadline != nil {
		list = append(list, "deadline: "+momentOrNone(*c.Deadline))
	}
	if c.Begin != nil {
		list = append(list, "begin: "+momentOrNone(*c.Begin))
	}
	if c.Name != "" {
		list = append(list, "name: "+c.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Labels)) {
		if c.Labels[name] == "" {
			list = append(list, "label "+name+" removed")
		} else {
			list = append(list, "label: "+name+"="+c.Labels[name])
		}
	}
	if len(c.On) > 0 {
		list = append(list, "on: "+strings.Join(c.On, ", "))
	} else if c.Anywhere {
		list = append(list, "on: any cluster")
	}
	return strings.Join(list, "; ")
}

func momentOrNone(at core.Time) string {
	if at == 0 {
		return "none"
	}
	return time.Unix(0, int64(at)).UTC().Format("2006-01-02 15:04:05 UTC")
}

// UpdateJob changes what a job asks for.
func (b *Broker) UpdateJob(ctx context.Context, ref string, want api.Update) (string, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return "", err
	}
	if j == nil || v.State.IsTerminal() {
		return "", &badinput.Error{Problem: fmt.Sprintf("job %s has ended: only jobs that wait or run can be changed", ref)}
	}
	change, err := b.changeFor(ctx, v, &want)
	if err != nil {
		return "", err
	}
	var text string
	var refused error
	err = b.askLoop(ctx, func(t *turn) {
		if _, live := t.enterForUser(j); !live {
			refused = &badinput.Error{Problem: j.shortName() + " has ended: only jobs that wait or run can be changed"}
			return
		}
		if refused = t.checkChange(j, change); refused != nil {
			return
		}
		t.stepEngine(&core.Input{Kind: core.UpdateJob, Job: j.rec.ID, Change: change})
		text = j.shortName() + " updated: " + changeText(change)
		if w, live := t.b.eng.FindJob(j.rec.ID); live && isOnProcessors(&w) && len(change.On) > 0 &&
			!slices.Contains(change.On, j.rec.Cluster) {
			text += "; it runs on in " + j.rec.Cluster + " (godwit migrate moves it)"
		}
	})
	return text, errors.Join(err, refused)
}

// checkChange refuses what would make a job one that can run nowhere, or that cannot be changed any more.
func (t *turn) checkChange(j *job, c *core.Change) error {
	w, _ := t.b.eng.FindJob(j.rec.ID)
	if c.Begin != nil && w.Runs > 0 {
		return &badinput.Error{Field: "--begin", Problem: j.shortName() + " has started already"}
	}
	if labels := c.ChangeLabels(j.spec.Labels); len(c.Labels) > 0 {
		if err := jobfile.CheckLabels(labels); err != nil {
			return err
		}
	}
	if reason, ok := t.b.eng.EverFits(c.ApplyTo(w.Spec)); !ok && (c.Anywhere || len(c.On) > 0) {
		return &badinput.Error{Field: "--on", Value: strings.Join(c.On, ","), Problem: reason.String()}
	}
	return nil
}

// changeFor is what the engine is told of a change that a user wants.
func (b *Broker) changeFor(ctx context.Context, v *View, want *api.Update) (*core.Change, error) {
	c := &core.Change{Name: want.Name, Labels: want.Labels, On: want.On, Anywhere: want.Anywhere}
	if want.IsEmpty() {
		return nil, &badinput.Error{Problem: "nothing to change: name what is to be otherwise"}
	}
	for _, m := range []struct {
		field string
		want  *api.Time
		none  bool
		to    **core.Time
	}{{"--deadline", want.Deadline, want.NoDeadline, &c.Deadline}, {"--begin", want.Begin, want.BeginNow, &c.Begin}} {
		if m.none {
			*m.to = new(core.Time)
		}
		if m.want == nil {
			continue
		}
		at := core.Time(m.want.UnixNano())
		if at <= b.brokerTime() || m.none {
			return nil, &badinput.Error{Field: m.field, Value: m.want.Format(time.RFC3339), Want: "a moment to come, or none"}
		}
		*m.to = &at
	}
	for name, value := range want.Labels { // order-free: any complaint will do
		if _, _, err := jobfile.ParseLabel(name + "=" + value); err != nil {
			return nil, &badinput.Error{Field: "--label", Value: name + "=" + value, Want: err.Error()}
		}
	}
	return c, b.resolvePlaces(ctx, v, c)
}

// resolvePlaces finds the clusters where a job may run from now on, as it is found when it is submitted.
func (b *Broker) resolvePlaces(ctx context.Context, v *View, c *core.Change) error {
	if !c.Anywhere && len(c.On) == 0 {
		return nil
	}
	if c.Anywhere && len(c.On) > 0 {
		return &badinput.Error{Field: "--on", Want: "clusters, or any alone"}
	}
	was := v.CurrentSpec()
	if was == nil || len(was.Components) > 0 {
		return &badinput.Error{Field: "--on", Problem: "the job has several components, each of which says where it may run"}
	}
	for _, name := range c.On {
		if _, err := b.targetCluster("--on", name); err != nil {
			return err
		}
	}
	spec := *was
	spec.On = c.On
	places, err := b.componentPlaces(WithUser(ctx, ownerOf(&v.Job)), &spec, v.Inputs)
	if err != nil {
		return err
	}
	if c.Clusters = places[0].allowed; c.Clusters == nil {
		c.Anywhere = true
	}
	return nil
}
