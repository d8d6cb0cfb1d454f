package pack

import (
	"context"
	"maps"
	"slices"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// HasTree reports whether the tree id is there, all that it is kept in included. It
// does not read what is in it.
func (s *Store) HasTree(ctx context.Context, id chunk.ID) (bool, error) {
	text, err := s.GetChunk(ctx, id)
	if err != nil {
		return false, tree.IgnoreAbsent(err)
	}
	parts, ok, err := tree.PartSums(text)
	if err != nil || !ok {
		return false, tree.IgnoreAbsent(err)
	}
	gone, err := s.MissingSums(ctx, parts)
	return err == nil && len(gone) == 0, err
}

// HoldTree is for TreeSink.
func (s *Store) HoldTree(ctx context.Context, id chunk.Sum) (bool, error) {
	text, ids, err := tree.ReadText(ctx, s, id.ToID())
	if err != nil {
		return false, tree.IgnoreAbsent(err)
	}
	needed, err := tree.TextSums(text)
	if err != nil {
		return false, tree.IgnoreAbsent(err)
	}
	gone, err := s.MissingSums(ctx, slices.AppendSeq(ids, maps.Keys(needed)))
	return err == nil && len(gone) == 0, err
}

// PutPatch is for TreeSink.
func (s *Store) PutPatch(ctx context.Context, base, want chunk.Sum, patch []byte) (bool, error) {
	text, _, err := tree.ReadText(ctx, s, base.ToID())
	if err != nil {
		return false, tree.IgnoreAbsent(err)
	}
	if text, err = tree.ApplyPatch(text, patch); err != nil {
		return false, err
	}
	chunks, err := tree.TextChunks(text)
	if err != nil || chunks[len(chunks)-1].ID != want {
		return false, err
	}
	seen := map[chunk.Sum]bool{}
	first := func(id chunk.Sum) bool {
		again := seen[id]
		seen[id] = true
		return !again
	}
	b := chunk.NewBatch(s, first, nil)
	for _, c := range chunks {
		if err := b.AddChunk(ctx, c.ID, c.Plain); err != nil {
			return false, err
		}
	}
	return true, b.FlushMissing(ctx)
}

// PushMemory is what the store remembers of trees that passed.
func (s *Store) PushMemory() *tree.TreeMemory { return &s.memory }
