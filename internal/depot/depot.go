// Package depot keeps and moves the files of jobs: work folders, checkpoints,
// results. A file is cut into chunks where its content says so; a chunk is
// named by the BLAKE3 hash of its bytes, kept once, compressed, and checked
// whenever it is read. A folder is a tree of such names, itself kept under one
// ID. Store is a depot on disk, Client one behind HTTP, and PushFolder, FetchTree and
// TakeSnapshot do not know which of the two they speak to. The package knows
// folders, files and chunks; it must not know of jobs, brokers or checkpoints.
package depot

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// The words of chunk, tree and walk that everybody who uses a depot needs.
type (
	// ID is the name of a chunk or a tree.
	ID = chunk.ID
	// Source gives the plain bytes of chunks.
	Source = chunk.Source
	// Sink takes chunks.
	Sink = chunk.Sink
	// Tree is a folder.
	Tree = tree.Tree
	// Entry is a file, a folder or a symbolic link of a tree.
	Entry = tree.Entry
	// Limit bounds a folder; 0 is no limit.
	Limit = walk.Limit
)

// What a Source says of a chunk that it cannot give.
var (
	ErrMissing = chunk.ErrMissing
	ErrDamaged = chunk.ErrDamaged
	// ErrBadTree is a tree that no push made.
	ErrBadTree = tree.ErrBadTree
	// ErrTooLarge is a folder that holds more than its limit.
	ErrTooLarge = tree.ErrTooLarge
)

// LoadTree reads the tree id.
func LoadTree(ctx context.Context, from Source, id ID) (*Tree, error) {
	return tree.LoadTree(ctx, from, id)
}

// DiffTrees says what has to be removed, and then what written, to make b out of a.
func DiffTrees(a, b *Tree) (changed []Entry, removed []string) { return tree.DiffTrees(a, b) }

// Stats is what a push did.
type Stats struct {
	Bytes  int64 // of all files
	Moved  int64 // that had to be sent, compressed
	Chunks int   // of all files
	New    int   // chunks that had to be sent
	Files  int
	// Skipped are the paths of sockets, devices and pipes, which no tree holds.
	Skipped []string
}
