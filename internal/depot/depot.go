// Package depot keeps and moves the files of jobs: work folders, checkpoints,
// results. A file is cut into chunks where its content says so; a chunk is
// named by the BLAKE3 hash of its bytes, kept once, compressed, and checked
// whenever it is read. A folder is a tree of such names, itself kept under one
// ID. Store (package pack) is a depot on disk, Client (package httpdepot) one behind
// HTTP, and PushFolder, FetchTree and TakeSnapshot do not know which of the two they
// speak to. The package knows folders, files and chunks; it must not know of jobs,
// brokers or checkpoints.
package depot

import (
	"context"
	"net/http"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// The words of the packages below that everybody who uses a depot needs.
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
	// Store is a depot on disk.
	Store = pack.Store
	// Client is a depot behind HTTP.
	Client = httpdepot.Client
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

// Open opens the depot in dir, which it makes if need be.
func Open(dir string) (*Store, error) { return pack.Open(dir) }

// NewClient speaks, through h, to the handler of a depot that is mounted at baseURL.
func NewClient(h *http.Client, baseURL string) *Client { return httpdepot.NewClient(h, baseURL) }

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
