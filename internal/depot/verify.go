package depot

import (
	"context"
	"fmt"
	"sync"
)

// Verify checks that every chunk of the tree id, and the tree itself, is there
// and sound. The error says what is ErrMissing or ErrDamaged.
func Verify(ctx context.Context, from Source, id ID) error {
	t, _, err := loadTree(ctx, from, id)
	if err != nil {
		return err
	}
	var ids []sum
	for _, e := range t.Entries {
		for _, c := range e.Chunks {
			s, err := parse(c)
			if err != nil {
				return err
			}
			if _, zero := s.isZeros(); !zero {
				ids = append(ids, s)
			}
		}
	}
	ids = distinct(ids)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	tasks := make(chan []sum)
	var wg sync.WaitGroup
	for range workers() {
		wg.Go(func() {
			for some := range tasks {
				if err := getMany(ctx, from, some, func(sum, []byte) error { return nil }); err != nil {
					cancel(fmt.Errorf("verifying tree %s: %w", id, err))
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
	return context.Cause(ctx)
}
