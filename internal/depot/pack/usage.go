package pack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// Usage is what a store takes on disk.
type Usage struct {
	Bytes  int64 // of all packs
	Unused int64 // of these, what CollectGarbage would free, about
	Chunks int   // that nothing needs
}

// DiskUsage says what the store takes on disk, and how much of it CollectGarbage would free
// for the same roots and age. Nothing is changed.
func (s *Store) DiskUsage(ctx context.Context, roots []chunk.ID, olderThan time.Duration) (Usage, error) {
	var u Usage
	live, err := s.reachableChunks(ctx, roots, &Collected{})
	if err != nil {
		return u, err
	}
	if err := s.SyncChunks(ctx); err != nil {
		return u, err
	}
	names, err := s.listPacks()
	if err != nil {
		return u, fmt.Errorf("looking through the depot: %w", err)
	}
	w := sweeper{s: s, live: live, olderThan: olderThan}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return u, err
		}
		st, err := os.Stat(packPath(s.dir, n))
		if errors.Is(err, fs.ErrNotExist) {
			continue // collected meanwhile
		}
		if err != nil {
			return u, err
		}
		u.Bytes += st.Size()
		v, err := w.inspectPack(n)
		if err != nil {
			return u, fmt.Errorf("looking at pack %s: %w", n, err)
		}
		if v != nil && (len(v.kept) == 0 || v.worthIt()) {
			u.Unused += max(0, v.size-v.lives)
			u.Chunks += v.dead
		}
	}
	return u, nil
}
