// Package depot keeps and moves the files of jobs: work folders, checkpoints,
// results. A file is cut into chunks where its content says so; a chunk is
// named by the BLAKE3 hash of its bytes, kept once, compressed, and checked
// whenever it is read. A folder is a tree of such names, itself kept under one
// ID. Store is a depot on disk, Client one behind HTTP, and PushFolder, FetchTree and
// TakeSnapshot do not know which of the two they speak to. The package knows
// folders, files and chunks; it must not know of jobs, brokers or checkpoints.
package depot

import "github.com/godwit-hpc/godwit/internal/depot/chunk"

// The words of chunk that everybody who uses a depot needs.
type (
	// ID is the name of a chunk or a tree.
	ID = chunk.ID
	// Source gives the plain bytes of chunks.
	Source = chunk.Source
	// Sink takes chunks.
	Sink = chunk.Sink
)

// What a Source says of a chunk that it cannot give.
var (
	ErrMissing = chunk.ErrMissing
	ErrDamaged = chunk.ErrDamaged
)

// IDOf is the ID of a chunk with these plain bytes.
func IDOf(plain []byte) ID { return chunk.IDOf(plain) }

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
