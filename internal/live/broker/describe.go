package broker

import (
	"context"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// describeAgain is how often it is looked whether a job can run by now that could run on
// none of the clusters.
const describeAgain = 10 * time.Minute

// describeRetry is how long a job waits when it cannot be found out where it may run.
const describeRetry = time.Second

// describeJob finds out what is known by now of a job that nothing holds any longer, and
// tells the engine. The clusters may be others than when it was submitted.
func (b *Broker) describeJob(j *job, inputs []store.Input, command uint64) {
	if j.spec == nil { // it was cancelled before the last broker ended
		b.runUntilStopped(func(context.Context) { b.postToLoop(func(t *turn) { t.markSent(command); t.settleJob(j) }) })
		return
	}
	b.runUntilStopped(func(ctx context.Context) {
		ctx = j.asOwner(ctx)
		allowed, err := b.allowedClusters(ctx, j.spec)
		for err != nil && !badinput.Is(err) { // the history could not be read
			b.opt.Log.Warn("not known where a job may run", "job", j.rec.ID, "error", err)
			if !pauseContext(ctx, describeRetry) {
				return // the outbox remembers
			}
			allowed, err = b.allowedClusters(ctx, j.spec)
		}
		need, _ := b.estimateNeed(ctx, j.spec)
		bring := b.bringTimes(ctx, inputs)
		b.postToLoop(func(t *turn) {
			in := core.Input{Kind: core.Described, Job: j.rec.ID}
			j.nowhere = ""
			if err != nil {
				j.nowhere = oneLine(err)
			} else {
				in.Spec = t.coreJob(ownerOf(&j.rec), j.spec, allowed, need, bring)
				in.Spec.Deadline = j.rec.Deadline
			}
			t.markSent(command)
			t.settleJob(j)
			t.stepEngine(&in)
		})
	})
}

// enterUndescribed hands a job to the engine of which has to be found out what is
// known.
func (t *turn) enterUndescribed(j *job) {
	proto := t.coreJob(ownerOf(&j.rec), j.spec, nil, predict.Demand{}, nil)
	proto.Deadline = j.rec.Deadline
	t.enterEngine(j, &core.Input{Kind: core.Submit, Spec: proto, Undescribed: true}, map[targetKey]core.Target{})
}
