package depot

import "context"

// KeepTree adds a tree that was made of others, whose files the store holds already,
// and makes it durable.
func KeepTree(ctx context.Context, s *Store, t *Tree) (ID, error) {
	text, err := encodeTree(t)
	if err != nil {
		return "", err
	}
	chunks, err := textChunks(text)
	if err != nil {
		return "", err
	}
	for _, c := range chunks { // the root comes last: who has it has everything
		if err := s.PutChunk(ctx, c.id.toID(), c.plain); err != nil {
			return "", err
		}
	}
	return chunks[len(chunks)-1].id.toID(), s.SyncChunks(ctx)
}
