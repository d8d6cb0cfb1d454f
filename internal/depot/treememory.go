package depot

import (
	"bytes"
	"context"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"maps"
	"slices"
	"sync"
)

// treeMemory remembers the last large trees that passed, so that the next one
// can be sent as what differs, and so that not every chunk of it need be asked
// for.
type treeMemory struct {
	pages chunk.PageMemory

	mu    sync.Mutex
	trees []rememberedTree // the newest last
}

type rememberedTree struct {
	id    chunk.ID
	first string // path of its first entry, by which its like is recognised
	text  []byte
}

// A memory of no more trees, and bytes, than these.
const (
	rememberTrees = 4
	rememberBytes = 64 << 20
)

func (m *treeMemory) rememberTree(id chunk.ID, t *Tree, text []byte) {
	if len(text) <= treeDirect || len(text) > rememberBytes || len(t.Entries) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees = slices.DeleteFunc(m.trees, func(r rememberedTree) bool { return r.first == t.Entries[0].Path })
	m.trees = append(m.trees, rememberedTree{id, t.Entries[0].Path, bytes.Clone(text)})
	size := 0
	for i, r := range slices.Backward(m.trees) {
		if size += len(r.text); size > rememberBytes || len(m.trees)-i > rememberTrees {
			m.trees = slices.Clone(m.trees[i+1:])
			break
		}
	}
}

// findSimilar gives the last tree that may resemble one whose first entry is first.
func (m *treeMemory) findSimilar(first string) (rememberedTree, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Backward(m.trees) {
		if r.first == first {
			return r, true
		}
	}
	return rememberedTree{}, false
}

func (m *treeMemory) pushMemory() *treeMemory { return m }

// treeSink is a Sink, and a Source, that both sides' trees are remembered for.
type treeSink interface {
	pushMemory() *treeMemory
	// holdTree reports whether the tree and all its chunks are there. If so they
	// stay as if MissingChunks had been asked for each.
	holdTree(ctx context.Context, id chunk.Sum) (bool, error)
	// putPatch makes the tree want of the tree base and a patch, and reports
	// whether it could.
	putPatch(ctx context.Context, base, want chunk.Sum, patch []byte) (bool, error)
}

// holdTree is for treeSink.
func (s *Store) holdTree(ctx context.Context, id chunk.Sum) (bool, error) {
	text, ids, err := treeText(ctx, s, id.ToID())
	if err != nil {
		return false, notThere(err)
	}
	needed, err := textSums(text)
	if err != nil {
		return false, notThere(err)
	}
	gone, err := s.MissingSums(ctx, slices.AppendSeq(ids, maps.Keys(needed)))
	return err == nil && len(gone) == 0, err
}

// putPatch is for treeSink.
func (s *Store) putPatch(ctx context.Context, base, want chunk.Sum, patch []byte) (bool, error) {
	text, _, err := treeText(ctx, s, base.ToID())
	if err != nil {
		return false, notThere(err)
	}
	if text, err = patchTree(text, patch); err != nil {
		return false, err
	}
	chunks, err := textChunks(text)
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
