package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Pools of work items are carried out beside the loop, by package workpool: their workers are
// jobs like others. The loop keeps their records, as it alone writes to the store.

// ErrAttemptOver says that somebody speaks for an attempt that is over, or that never was.
var ErrAttemptOver = errors.New("this attempt is over")

// CheckAttempt says which attempt of a job of theirs it is whose mark somebody knows, if it is
// the present one and has not told its end.
func (b *Broker) CheckAttempt(ctx context.Context, id core.JobID, mark string) (core.Epoch, error) {
	var epoch core.Epoch
	var isPresent bool
	err := b.readLoop(ctx, func(writing *turn) bool {
		if writing.isWriting(id) {
			return false
		}
		j := b.jobs[id]
		if j == nil || !b.ownsJob(ctx, &j.rec) || mark == "" || j.rec.Mark != mark {
			return true
		}
		w, isLive := b.eng.FindJob(id)
		epoch, isPresent = j.rec.Epoch, isLive && w.Epoch == j.rec.Epoch && w.Parts > 0
		return true
	})
	switch {
	case err != nil:
		return 0, err
	case !isPresent:
		return 0, fmt.Errorf("job %d: %w", id, ErrAttemptOver)
	}
	return epoch, nil
}

// CommitPools makes records of pools durable.
func (b *Broker) CommitPools(ctx context.Context, pools []store.Pool, chunks []store.PoolChunk) error {
	// What cannot be written would be the end of the loop.
	if _, err := json.Marshal(pools); err != nil {
		return fmt.Errorf("a pool: %w", err)
	}
	return b.askLoop(ctx, func(t *turn) {
		t.batch.Pools = append(t.batch.Pools, pools...)
		t.batch.PoolChunks = append(t.batch.PoolChunks, chunks...)
	})
}
