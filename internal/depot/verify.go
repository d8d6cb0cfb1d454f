package depot

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// VerifyTree checks that every chunk of the tree id, and the tree itself, is there
// and sound. If something is not the error is ErrMissing or ErrDamaged, or both,
// and whatever is damaged counts as missing from then on.
func VerifyTree(ctx context.Context, from chunk.Source, id chunk.ID) error {
	t, _, err := tree.LoadWithParts(ctx, from, id)
	if err != nil {
		return err
	}
	var ids []chunk.Sum
	for i := range t.Entries {
		ids = append(ids, t.Entries[i].ChunkSums()...)
	}
	if err := verifyAll(ctx, from, chunk.DistinctSums(ids)); err != nil {
		return fmt.Errorf("verifying tree %s: %w", id, err)
	}
	return nil
}

// verifyAll goes on after a chunk that is missing or damaged, so that a push
// that follows heals them all.
func verifyAll(ctx context.Context, from chunk.Source, ids []chunk.Sum) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make(chan []chunk.Sum)
	var wg sync.WaitGroup
	var mu sync.Mutex
	all := &chunk.AbsentError{}
	for range workerCount() {
		wg.Go(func() {
			for some := range tasks {
				err := chunk.GetMany(ctx, from, some, func(chunk.Sum, []byte) error { return nil })
				var a *chunk.AbsentError
				if errors.As(err, &a) {
					mu.Lock()
					all.Missing = append(all.Missing, a.Missing...)
					all.Damaged = append(all.Damaged, a.Damaged...)
					mu.Unlock()
				} else if err != nil {
					cancel(err)
				}
			}
		})
	}
	for len(ids) > 0 && ctx.Err() == nil {
		n := min(itemChunks, len(ids))
		tasks <- ids[:n]
		ids = ids[n:]
	}
	close(tasks)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if len(all.Missing)+len(all.Damaged) > 0 {
		return all
	}
	return nil
}
