package tree

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// TreeMemory remembers the last large trees that passed, so that the next one
// can be sent as what differs, and so that not every chunk of it need be asked
// for.
type TreeMemory struct {
	Pages chunk.PageMemory

	mu    sync.Mutex
	trees []RememberedTree // the newest last
}

// RememberedTree is a tree that passed.
type RememberedTree struct {
	ID    chunk.ID
	first string // path of its first entry, by which its like is recognised
	Text  []byte
}

// A memory of no more trees, and bytes, than these.
const (
	rememberTrees = 4
	// MaxRemembered is how many bytes of texts are kept, and how large a text that is
	// made of a patch may be.
	MaxRemembered = 64 << 20
)

// RememberTree keeps a tree, with its text, if it is worth it.
func (m *TreeMemory) RememberTree(id chunk.ID, t *Tree, text []byte) {
	if len(text) <= MaxDirectTree || len(text) > MaxRemembered || len(t.Entries) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trees = slices.DeleteFunc(m.trees, func(r RememberedTree) bool { return r.first == t.Entries[0].Path })
	m.trees = append(m.trees, RememberedTree{id, t.Entries[0].Path, bytes.Clone(text)})
	size := 0
	for i, r := range slices.Backward(m.trees) {
		if size += len(r.Text); size > MaxRemembered || len(m.trees)-i > rememberTrees {
			m.trees = slices.Clone(m.trees[i+1:])
			break
		}
	}
}

// FindSimilar gives the last tree that may resemble one whose first entry is first.
func (m *TreeMemory) FindSimilar(first string) (RememberedTree, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Backward(m.trees) {
		if r.first == first {
			return r, true
		}
	}
	return RememberedTree{}, false
}

// TreeSink is a Sink, and a Source, that both sides' trees are remembered for.
type TreeSink interface {
	PushMemory() *TreeMemory
	// HoldTree reports whether the tree and all its chunks are there. If so they
	// stay as if MissingChunks had been asked for each.
	HoldTree(ctx context.Context, id chunk.Sum) (bool, error)
	// PutPatch makes the tree want of the tree base and a patch, and reports
	// whether it could.
	PutPatch(ctx context.Context, base, want chunk.Sum, patch []byte) (bool, error)
}
