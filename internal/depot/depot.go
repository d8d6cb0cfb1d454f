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
	"errors"
)

// ID is the name of a chunk or a tree: 64 hexadecimal digits, the BLAKE3-256
// hash of the plain bytes; for a tree, of its canonical JSON. An ID of 48 zeros
// and a length stands for so many zero bytes, which nobody keeps or sends.
type ID string

// What a Source says of a chunk that it cannot give.
var (
	ErrMissing = errors.New("not in the depot")
	ErrDamaged = errors.New("damaged in the depot")
)

// Source gives the plain bytes of a chunk, verified against its ID, or an error
// that is ErrMissing or ErrDamaged.
type Source interface {
	GetChunk(ctx context.Context, id ID) ([]byte, error)
}

// Sink takes chunks. What MissingChunks does not name is there, and stays for a push
// that is under way; what was put is durable once SyncChunks has returned.
type Sink interface {
	MissingChunks(ctx context.Context, ids []ID) ([]ID, error)
	PutChunk(ctx context.Context, id ID, plain []byte) error
	SyncChunks(ctx context.Context) error
}

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
