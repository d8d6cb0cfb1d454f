package depot

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// KeepTree adds a tree that was made of others, whose files the store holds already,
// and makes it durable.
func KeepTree(ctx context.Context, s *Store, t *tree.Tree) (chunk.ID, error) {
	text, err := tree.EncodeTree(t)
	if err != nil {
		return "", err
	}
	chunks, err := tree.TextChunks(text)
	if err != nil {
		return "", err
	}
	for _, c := range chunks { // the root comes last: who has it has everything
		if err := s.PutChunk(ctx, c.ID.ToID(), c.Plain); err != nil {
			return "", err
		}
	}
	return chunks[len(chunks)-1].ID.ToID(), s.SyncChunks(ctx)
}
