package depot

import (
	"context"
	"fmt"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// copySynced is how many bytes a copy sends before it makes them durable, so that
// one that is cut off does not begin again.
const copySynced = 32 << 20

// CopyTree brings a tree from one depot into another, with all that it needs. What is
// there already, from an earlier copy that was cut off too, is not sent again.
// When it returns, all of it is durable. The figures of one that was cut off are
// of what came until then.
func CopyTree(ctx context.Context, from chunk.Source, id chunk.ID, to chunk.Sink) (*tree.Tree, Stats, error) {
	t, _, err := tree.LoadWithParts(ctx, from, id)
	if err != nil {
		return nil, Stats{}, err
	}
	p := &pusher{to: chunk.BlockSinkOf(to), seen: map[chunk.Sum]bool{}}
	if err := p.copyChunks(ctx, from, t, to); err != nil {
		return nil, p.stats, fmt.Errorf("copying tree %s: %w", id, err)
	}
	root, err := p.sendTree(ctx, t)
	if err == nil && root != id {
		err = fmt.Errorf("copying tree %s: it is not written as we would", id)
	}
	if err == nil {
		err = to.SyncChunks(ctx)
	}
	return t, p.stats, err
}

// copyChunks brings what the files of a tree hold.
func (p *pusher) copyChunks(ctx context.Context, from chunk.Source, t *tree.Tree, to chunk.Sink) error {
	var ids []chunk.Sum
	for i := range t.Entries {
		e := &t.Entries[i]
		p.stats.Bytes += e.Size
		p.stats.Chunks += len(e.Chunks)
		if e.Mode.IsRegular() {
			p.stats.Files++
		}
		for _, id := range e.ChunkSums() {
			if _, zero := id.IsZeros(); !zero {
				ids = append(ids, id)
			}
		}
	}
	ids = chunk.DistinctSums(ids)
	b := p.newBatch()
	synced := int64(0)
	for len(ids) > 0 {
		n := min(itemChunks/8, len(ids)) // about what a few batches hold
		gone, err := p.to.MissingSums(ctx, ids[:n])
		if err != nil {
			return err
		}
		var want []chunk.Sum
		for _, i := range gone {
			want = append(want, ids[i])
		}
		ids = ids[n:]
		if len(want) == 0 {
			continue
		}
		err = chunk.GetMany(ctx, from, want, func(id chunk.Sum, plain []byte) error { return b.AddChunk(ctx, id, plain) })
		if err == nil && p.stats.Moved-synced > copySynced {
			synced = p.stats.Moved
			err = to.SyncChunks(ctx)
		}
		if err != nil {
			return err
		}
	}
	return b.FlushMissing(ctx)
}

// HoldsTree says whether a depot has a tree and all that it needs. What it has stays
// for as long as a push may take.
func HoldsTree(ctx context.Context, s *Store, id chunk.ID) (bool, error) {
	root, err := chunk.ParseID(id)
	if err != nil {
		return false, err
	}
	return s.HoldTree(ctx, root)
}
