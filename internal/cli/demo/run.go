package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// point is what was predicted at one moment, in seconds since submission.
type point struct {
	at               float64
	early, mid, late float64 // predicted end: 5 %, 50 %, 95 %
}

// course follows one run of the program.
type course struct {
	bed     *testbed
	plan    *plan
	id      string
	run     Run
	counter *stepCounter

	mu  sync.Mutex // of what follows: several goroutines tell what happens
	say func(at float64, text string)
	job api.Job
}

// run runs the program with the competitors and tells what happens.
func (d *Demo) run(ctx context.Context, bed *testbed, prog *program, p *plan, name string, adapt jobfile.Adapt) (Run, error) {
	spec := bed.job(prog, p.steps, p.method)
	spec.Deadline, spec.Estimate, spec.Adapt = p.deadline, p.needs(), adapt
	id, err := bed.submitTo(ctx, p.start, &spec)
	if err != nil {
		return Run{}, err
	}
	c := &course{bed: bed, plan: p, id: fmt.Sprint(id), counter: newStepCounter(bed.clock),
		run: Run{Name: name, DeadlineS: p.deadline.Seconds()},
		say: func(at float64, text string) { d.say("  %5.1f s  %s\n", at, text) }}
	c.tell(0, fmt.Sprintf("submitted with a deadline of %.1f s", p.deadline.Seconds()))
	if err := c.follow(ctx); err != nil {
		return Run{}, errors.Join(err, bed.cancel(context.WithoutCancel(ctx), id))
	}
	return c.run, c.finish(ctx)
}

func (c *course) tell(at float64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.say(at, text)
}

// follow watches the job to its end while the competitors come and go.
func (c *course) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beside sync.WaitGroup
	beside.Go(func() {
		if _, err := c.bed.client.Logs(ctx, c.id, 1, 0, true, c.counter); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	})
	submitted := make(chan time.Time, 1)
	beside.Go(func() {
		select {
		case at := <-submitted:
			if err := c.compete(ctx, at); err != nil {
				cancel(err)
			}
		case <-ctx.Done():
		}
	})
	err := c.bed.client.Watch(ctx, c.id, func(l *api.Live) error {
		if l.Job.Submitted != nil {
			select {
			case submitted <- l.Job.Submitted.Time:
			default: // known already
			}
		}
		c.see(l)
		return nil
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	beside.Wait()
	return err
}

// compete starts the competitors where the job is when it has come far enough, and
// ends them at its deadline or with it.
func (c *course) compete(ctx context.Context, submitted time.Time) (err error) {
	select {
	case <-c.counter.reached(max(1, int(c.plan.loadAt*float64(c.plan.steps)))):
	case <-ctx.Done():
		return nil
	}
	c.mu.Lock()
	cluster := c.job.Cluster
	c.mu.Unlock()
	load, err := startCompetitors(c.bed.core[cluster], c.plan.competitors)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.stop()) }()
	c.run.loadAt = c.bed.clock.Since(submitted).Seconds()
	c.tell(c.run.loadAt, fmt.Sprintf("%d other programs start on the core of %s", c.plan.competitors, cluster))
	select {
	case <-time.After(c.plan.deadline - c.bed.clock.Since(submitted)):
	case <-ctx.Done():
		return nil
	}
	done := 100 * float64(c.counter.done()) / float64(c.plan.steps)
	c.tell(c.plan.deadline.Seconds(), fmt.Sprintf("deadline missed: %.0f %% done. The other programs end", done))
	return nil
}

// see takes in a state of the job and what was decided for it.
func (c *course) see(l *api.Live) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.job = l.Job
	for i := range l.News {
		n := &l.News[i]
		if n.Kind == "move" {
			c.run.moves = append(c.run.moves, n.SinceS)
		}
		if text := c.sentence(n); text != "" {
			c.say(n.SinceS, text)
		}
	}
	j := &l.Job
	if j.Submitted == nil || j.PredictedEnd == nil || j.Over() {
		return
	}
	c.run.points = append(c.run.points, point{at: c.bed.clock().Sub(j.Submitted.Time).Seconds(), early: secondsBetween(j.Submitted, j.EndEarly),
		mid: secondsBetween(j.Submitted, j.PredictedEnd), late: secondsBetween(j.Submitted, j.EndLate)})
}

// sentence tells a decision as a line of the story; "" if the story does not need it.
func (c *course) sentence(n *api.Decision) string {
	switch n.Kind {
	case "start":
		if len(c.run.moves) == 0 {
			return "running on " + c.job.Cluster
		}
		if c.plan.method == methodRestart {
			return "running on " + c.job.Cluster + ", from the beginning"
		}
		return "running on " + c.job.Cluster + ", continued from the checkpoint"
	case "predict":
		from, to, ok := inputPair(n.Inputs, "from", "to")
		if !ok {
			return ""
		}
		word := "dropped"
		if to > from {
			word = "rose"
		}
		return fmt.Sprintf("its CPU share %s from %.0f %% to %.0f %%", word, 100*from, 100*to)
	case "decide":
		return c.decision(n)
	case "checkpoint":
		bytes, frozen, ok := inputPair(n.Inputs, "bytes", "frozen_s")
		if !ok {
			break
		}
		return fmt.Sprintf("checkpoint written: %.1f MB, the program was stopped for %.2f s", bytes/1e6, frozen)
	case "lost", "stay":
	default:
		return ""
	}
	return n.Choice + ": " + n.Why
}

// decision tells why the job is migrated.
func (c *course) decision(n *api.Decision) string {
	if !strings.HasPrefix(n.Choice, "move") && !strings.HasPrefix(n.Choice, "migrate") {
		return n.Choice + ": " + n.Why
	}
	to := other(c.job.Cluster)
	stay, move, ok := inputPair(n.Inputs, "left_p50_s", to+"_left_p50_s")
	if !ok {
		return "decision: migrate to " + to
	}
	return fmt.Sprintf("predicted end on %s %.1f s, on %s %.1f s: migrate", c.job.Cluster, n.SinceS+stay, to, n.SinceS+move)
}

// inputPair looks up two numbers of a decision.
func inputPair(inputs map[string]any, a, b string) (x, y float64, ok bool) {
	x, okX := inputs[a].(float64)
	y, okY := inputs[b].(float64)
	return x, y, okX && okY
}

// finish reads what came of the job, whose life is over.
func (c *course) finish(ctx context.Context) error {
	j := &c.job
	c.run.TookS, c.run.Cluster, c.run.Migrations = secondsBetween(j.Submitted, j.Ended), j.Cluster, j.Migrations
	c.run.Met = j.DeadlineMet != nil && *j.DeadlineMet
	if j.State != core.Done {
		return fmt.Errorf("demo failed: job %s is %s: %s", c.id, j.State, j.Why)
	}
	var out bytes.Buffer
	if _, err := c.bed.client.Logs(ctx, c.id, 1, 0, false, &out); err != nil {
		return err
	}
	c.run.output = out.String()
	margin, word := c.run.DeadlineS-c.run.TookS, "before"
	if margin < 0 {
		margin, word = -margin, "after"
	}
	c.tell(c.run.TookS, fmt.Sprintf("completed on %s, %.1f s %s its deadline", c.run.Cluster, margin, word))
	return nil
}
