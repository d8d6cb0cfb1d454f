package depot

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// VerifyTree checks that every chunk of the tree id, and the tree itself, is there
// and sound. If something is not the error is ErrMissing or ErrDamaged, or both,
// and whatever is damaged counts as missing from then on.
func VerifyTree(ctx context.Context, from Source, id ID) error {
	t, _, err := loadTree(ctx, from, id)
	if err != nil {
		return err
	}
	var ids []sum
	for i := range t.Entries {
		ids = append(ids, t.Entries[i].chunkSums()...)
	}
	if err := verifyAll(ctx, from, distinctSums(ids)); err != nil {
		return fmt.Errorf("verifying tree %s: %w", id, err)
	}
	return nil
}

// verifyAll goes on after a chunk that is missing or damaged, so that a push
// that follows heals them all.
func verifyAll(ctx context.Context, from Source, ids []sum) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make(chan []sum)
	var wg sync.WaitGroup
	var mu sync.Mutex
	all := &absent{}
	for range workerCount() {
		wg.Go(func() {
			for some := range tasks {
				err := getMany(ctx, from, some, func(sum, []byte) error { return nil })
				var a *absent
				if errors.As(err, &a) {
					mu.Lock()
					all.missing = append(all.missing, a.missing...)
					all.damaged = append(all.damaged, a.damaged...)
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
	if len(all.missing)+len(all.damaged) > 0 {
		return all
	}
	return nil
}
