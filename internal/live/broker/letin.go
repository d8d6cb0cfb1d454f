package broker

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
)

// letInRetry is how long a held job waits when it cannot be found out where it may
// run.
const letInRetry = time.Second

// letIn hands a held job to the engine; what is known of its program is looked
// up beside the loop.
func (t *turn) letIn(j *job) {
	j.held = false
	t.countIn(j)
	inputs := j.rec.Inputs
	t.after(func() {
		t.b.goBeside(func(ctx context.Context) { t.b.lookUpAndEnter(j.as(ctx), j, inputs) })
	})
}

// lookUpAndEnter hands a held job to the engine. The clusters may be others than when
// it was submitted: one that may run on none of them is held on.
func (b *Broker) lookUpAndEnter(ctx context.Context, j *job, inputs []store.Input) {
	allowed, err := b.allowed(ctx, j.spec)
	for err != nil && !badinput.Is(err) { // the history could not be read
		b.opt.Log.Warn("not known where a job may run", "job", j.rec.ID, "error", err)
		if !pause(ctx, letInRetry) {
			return
		}
		allowed, err = b.allowed(ctx, j.spec)
	}
	if err != nil {
		b.tell(func(t *turn) { t.holdOn(j, err) })
		return
	}
	need, _ := b.need(ctx, j.spec)
	bring := b.bringTimes(ctx, inputs)
	b.tell(func(t *turn) {
		if j.rec.State.Terminal() {
			return // cancelled meanwhile
		}
		proto := t.coreJob(ownerOf(&j.rec), j.spec, allowed, need, bring)
		proto.Deadline = j.rec.Deadline
		t.enter(j, proto)
	})
}

// holdOn keeps a job held that can run nowhere as the clusters are. It is let in when
// they change.
func (t *turn) holdOn(j *job, nowhere error) {
	if j.rec.State.Terminal() {
		return // cancelled meanwhile
	}
	j.held = true
	t.uncount(j)
	why := "no cluster can run it at present: " + oneLine(nowhere)
	if j.rec.Reason != why {
		j.rec.Reason = why
		t.explain(j, "held", "waiting for other clusters", why, nil)
		t.touch(j)
	}
}
