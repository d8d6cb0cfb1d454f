package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/demo/testbed"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// course follows one run of the program.
type course struct {
	bed     *bed
	plan    *plan
	id      string
	run     Run
	counter *stepCounter

	mu  sync.Mutex // of what follows: several goroutines tell what happens
	say func(at float64, text string)
	job api.Job
}

// runProgram runs the program with the competitors and tells what happens.
func (d *Demo) runProgram(ctx context.Context, b *bed, p *plan, name string, adapt jobfile.Adapt) (Run, error) {
	spec := b.newJob(p.steps, p.method)
	spec.Deadline, spec.Estimate, spec.Adapt = p.deadline, p.cpuNeeded(), adapt
	j, err := b.SubmitTo(ctx, p.start, &spec)
	if err != nil {
		return Run{}, err
	}
	c := &course{bed: b, plan: p, id: fmt.Sprint(j.ID), counter: newStepCounter(b.Clock),
		run: Run{Name: name, DeadlineS: p.deadline.Seconds()},
		say: func(at float64, text string) { d.sayLine("  %5.1f s  %s\n", at, text) }}
	c.tellAt(0, fmt.Sprintf("submitted with a deadline of %.1f s", p.deadline.Seconds()))
	if err := c.followJob(ctx); err != nil {
		return Run{}, errors.Join(err, b.CancelJob(context.WithoutCancel(ctx), j.ID))
	}
	return c.run, c.readOutcome(ctx)
}

func (c *course) tellAt(at float64, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.say(at, text)
}

// followJob watches the job to its end while the competitors come and go.
func (c *course) followJob(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var beside sync.WaitGroup
	beside.Go(func() {
		if _, err := c.bed.Client.CopyLogs(ctx, c.id, 1, 0, true, c.counter); err != nil && ctx.Err() == nil {
			cancel(err)
		}
	})
	submitted := make(chan time.Time, 1)
	beside.Go(func() {
		select {
		case at := <-submitted:
			if err := c.runCompetitors(ctx, at); err != nil {
				cancel(err)
			}
		case <-ctx.Done():
		}
	})
	err := c.bed.Client.WatchJob(ctx, c.id, func(l *api.Live) error {
		if l.Job.Submitted != nil {
			select {
			case submitted <- l.Job.Submitted.Time:
			default: // known already
			}
		}
		c.showState(l)
		return nil
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	beside.Wait()
	return err
}

// runCompetitors starts the competitors where the job is when it has come far enough, and
// ends them at its deadline or with it.
func (c *course) runCompetitors(ctx context.Context, submitted time.Time) (err error) {
	select {
	case <-c.counter.reachedStep(max(1, int(c.plan.loadAt*float64(c.plan.steps)))):
	case <-ctx.Done():
		return nil
	}
	c.mu.Lock()
	cluster := c.job.Cluster
	c.mu.Unlock()
	load, err := testbed.StartCompetitors(c.bed.Core[cluster], c.plan.competitors, competitorRaise)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, load.Stop()) }()
	at := c.bed.Clock.Since(submitted).Seconds()
	c.run.record.LoadAt = at
	c.tellAt(at, startOf(c.plan.competitors)+" on the core of "+cluster)
	if err := c.keepSlow(ctx, submitted, load); err != nil || ctx.Err() != nil {
		return err
	}
	done := 100 * float64(c.counter.stepsDone()) / float64(c.plan.steps)
	c.tellAt(c.plan.deadline.Seconds(), fmt.Sprintf("deadline missed: %.0f %% done. The other programs end", done))
	return nil
}

const (
	// paceInterval is how often it is looked whether the competitors still do what was
	// measured, over the last paceWindow of these intervals.
	paceInterval = time.Second
	paceWindow   = 2
	// paceTolerance is how many times faster than measured the program may be.
	paceTolerance = 1.4
)

// keepSlow waits until the deadline. Where the rest of the machine becomes idler, the
// same competitors slow the program down less: then more of them start, so that what
// was measured stays true.
func (c *course) keepSlow(ctx context.Context, submitted time.Time, load *testbed.Competitors) error {
	deadline := time.After(c.plan.deadline - c.bed.Clock.Since(submitted))
	tick := time.NewTicker(paceInterval)
	defer tick.Stop()
	seen := []pace{{c.bed.Clock(), c.counter.stepsDone()}}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-deadline:
			return nil
		case <-tick.C:
		}
		seen = append(seen, pace{c.bed.Clock(), c.counter.stepsDone()})
		if c.isMoving() || len(seen) <= paceWindow {
			continue
		}
		more := c.plan.missingCompetitors(seen[len(seen)-1-paceWindow], seen[len(seen)-1])
		if more == 0 {
			continue
		}
		if err := load.AddCompetitors(more); err != nil {
			return err
		}
		c.plan.competitors = load.Count()
		c.tellAt(c.bed.Clock.Since(submitted).Seconds(), fmt.Sprintf("this machine became idler: %d more start there", more))
		seen = seen[len(seen)-1:]
	}
}

// pace is how far the program was at one moment.
type pace struct {
	at   time.Time
	step int
}

// missingCompetitors is how many more competitors are needed for the program to be as slow as
// was measured.
func (p *plan) missingCompetitors(from, to pace) int {
	rate := float64(to.step-from.step) / to.at.Sub(from.at).Seconds()
	if rate <= paceTolerance*p.slowed {
		return 0
	}
	return min(p.competitors, maxCompetitors-p.competitors, int(math.Ceil(float64(p.competitors)*(rate/p.slowed-1))))
}

// isMoving says whether the job was migrated, or will be at once.
func (c *course) isMoving() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.run.record.Moves) > 0 || c.job.Cluster != c.plan.start
}

// startOf says that so many competitors start.
func startOf(n int) string {
	if n == 1 {
		return "another program starts"
	}
	return fmt.Sprintf("%d other programs start", n)
}

// showState takes in a state of the job and what was decided for it.
func (c *course) showState(l *api.Live) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.job = l.Job
	for i := range l.News {
		n := &l.News[i]
		if n.Kind == "move" {
			c.run.record.Moves = append(c.run.record.Moves, n.SinceS)
		}
		if text := c.storyLine(n); text != "" {
			c.say(n.SinceS, text)
		}
	}
	j := &l.Job
	if j.Submitted == nil || j.PredictedEnd == nil || j.IsOver() {
		return
	}
	c.run.record.Predictions = append(c.run.record.Predictions, testbed.Prediction{
		At: c.bed.Clock.Since(j.Submitted.Time).Seconds(), Early: testbed.SecondsBetween(j.Submitted, j.EndEarly),
		Mid: testbed.SecondsBetween(j.Submitted, j.PredictedEnd), Late: testbed.SecondsBetween(j.Submitted, j.EndLate)})
}

// storyLine tells a decision as a line of the story; "" if the story does not need it.
func (c *course) storyLine(n *api.Decision) string {
	switch n.Kind {
	case "start":
		if len(c.run.record.Moves) == 0 {
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
		return c.decisionText(n)
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

// decisionText tells why the job is migrated.
func (c *course) decisionText(n *api.Decision) string {
	if !strings.HasPrefix(n.Choice, "move") && !strings.HasPrefix(n.Choice, "migrate") {
		return n.Choice + ": " + n.Why
	}
	return n.Why + ": migrate"
}

// inputPair looks up two numbers of a decision.
func inputPair(inputs map[string]any, a, b string) (x, y float64, ok bool) {
	x, okX := inputs[a].(float64)
	y, okY := inputs[b].(float64)
	return x, y, okX && okY
}

// readOutcome reads what came of the job, whose life is over.
func (c *course) readOutcome(ctx context.Context) error {
	j := &c.job
	c.run.TookS, c.run.Cluster, c.run.Migrations = testbed.SecondsBetween(j.Submitted, j.Ended), j.Cluster, j.Migrations
	c.run.record.Name, c.run.record.Took, c.run.record.Deadline = c.run.Name, c.run.TookS, c.run.DeadlineS
	c.run.Met = j.DeadlineMet != nil && *j.DeadlineMet
	if j.State != core.Done {
		return fmt.Errorf("demo failed: job %s is %s: %s", c.id, j.State, j.Why)
	}
	var out bytes.Buffer
	if _, err := c.bed.Client.CopyLogs(ctx, c.id, 1, 0, false, &out); err != nil {
		return err
	}
	c.run.output = out.String()
	margin, word := c.run.DeadlineS-c.run.TookS, "before"
	if margin < 0 {
		margin, word = -margin, "after"
	}
	c.tellAt(c.run.TookS, fmt.Sprintf("completed on %s, %.1f s %s its deadline", c.run.Cluster, margin, word))
	return nil
}
