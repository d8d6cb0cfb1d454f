package broker

import (
	"context"
	"errors"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// DefaultGrace is the time between SIGTERM and SIGKILL for a job that is
// cancelled, as Slurm's KillWait.
const DefaultGrace = 30 * time.Second

// CancelJob ends a job: its program gets SIGTERM, and SIGKILL after its time of
// grace, and what it wrote is brought home. It returns when all of that is done, or
// when the files cannot be brought home at present.
func (b *Broker) CancelJob(ctx context.Context, ref string) (*View, error) {
	return b.cancelJob(ctx, ref, false)
}

// CancelNow ends a job without a time of grace, and, if its program was told to end
// before, without waiting for its files either.
func (b *Broker) CancelNow(ctx context.Context, ref string) (*View, error) {
	return b.cancelJob(ctx, ref, true)
}

func (b *Broker) cancelJob(ctx context.Context, ref string, now bool) (*View, error) {
	ctx, done := b.untilDiskFull(ctx)
	defer done(nil)
	v, err := b.cancelAndWait(ctx, ref, now)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return v, err
}

func (b *Broker) cancelAndWait(ctx context.Context, ref string, now bool) (*View, error) {
	j, v, err := b.findJob(ctx, ref)
	if err != nil || j == nil {
		return v, err
	}
	if !v.State.IsTerminal() {
		if err := b.askLoop(ctx, func(t *turn) { t.cancelInEngine(j, now) }); err != nil {
			return nil, err
		}
	}
	for {
		next := j.nextChange()
		if v, err = b.viewOf(ctx, j); err != nil {
			return nil, err
		}
		// Nothing of it runs any more, and its files are home or have to wait.
		if v.State.IsTerminal() && j.line.isIdle() && (v.Over || v.Unreturned != "") {
			return v, nil
		}
		select {
		case <-next:
		case <-time.After(20 * time.Millisecond): // the line says nothing when it is idle
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.ctx.Done():
			return nil, ErrStopped
		}
	}
}

// cancelInEngine tells the engine that a job is to end.
func (t *turn) cancelInEngine(j *job, now bool) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	switch {
	case j.rec.State.IsTerminal():
		return
	case !live: // an element of an array whose turn has not come
		t.enterUndescribed(j, map[targetKey]core.Target{})
		if w, live = t.b.eng.FindJob(j.rec.ID); !live {
			return
		}
	}
	// An agent that is away while its program runs is told when it is back.
	runs := w.State == core.Running || w.State == core.Stopping
	in := &core.Input{Kind: core.Cancel, Job: j.rec.ID, Grace: t.b.gracePeriod(j), Immediate: now,
		Attended: len(j.links) > 0 || runs && !now}
	if now {
		in.Grace = 0
	}
	t.stepEngine(in)
}

// gracePeriod is the time between SIGTERM and SIGKILL for a job.
func (b *Broker) gracePeriod(j *job) time.Duration {
	switch {
	case j.spec.Grace != nil:
		return *j.spec.Grace
	case b.opt.Grace != nil:
		return *b.opt.Grace
	}
	return DefaultGrace
}

// graceLeft is what is left of a time of grace, of a job that is given up at a moment.
func (t *turn) graceLeft(giveUpAt core.Time) time.Duration {
	if giveUpAt == core.Never || giveUpAt == 0 {
		return 0 // it has ended, or had no limit to begin with
	}
	return max(0, giveUpAt.Sub(t.now)-t.b.opt.Engine.CollectGrace)
}

// untilDiskFull is a context that ends when nothing can be decided because the disk
// is full, with that as its cause: who asks wants to know.
func (b *Broker) untilDiskFull(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	b.runUntilStopped(func(ending context.Context) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ending.Done():
				return
			case <-time.After(2 * diskRetryInterval):
				if err := b.StuckReason(); err != nil {
					cancel(err)
				}
			}
		}
	})
	return ctx, cancel
}
