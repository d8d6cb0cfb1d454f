package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// SQLite takes a write-ahead log that was cut off for one whose end was never
// written, and goes on from an earlier commit without a word. Jobs that have ended
// would run again. A witness beside the store therefore says how many commits were
// acknowledged. It is written after each of them and not synced: after a loss of
// power it may say too little, which does no harm, but never too much.

// witness is that file: the number of commits and its checksum, 12 bytes.
type witness struct{ f *os.File }

func witnessPath(path string) string { return path + ".commits" }

func openWitness(path string, fresh bool) (*witness, error) {
	flags := os.O_CREATE | os.O_RDWR
	if fresh {
		flags |= os.O_TRUNC // what it says is of a store that was moved away
	}
	f, err := os.OpenFile(witnessPath(path), flags, 0o600)
	if err != nil {
		return nil, err
	}
	return &witness{f}, nil
}

// readCount is the number of commits; 0 if the file does not say.
func (w *witness) readCount() (uint64, error) {
	var text [12]byte
	if _, err := w.f.ReadAt(text[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, nil
		}
		return 0, err
	}
	if crc32.ChecksumIEEE(text[:8]) != binary.LittleEndian.Uint32(text[8:]) {
		return 0, nil // a loss of power while it was written
	}
	return binary.LittleEndian.Uint64(text[:8]), nil
}

// writeCount says that n commits were acknowledged.
func (w *witness) writeCount(n uint64) error {
	var text [12]byte
	binary.LittleEndian.PutUint64(text[:8], n)
	binary.LittleEndian.PutUint32(text[8:], crc32.ChecksumIEEE(text[:8]))
	_, err := w.f.WriteAt(text[:], 0)
	return err
}

func (w *witness) closeFile() error {
	if w == nil {
		return nil
	}
	return w.f.Close()
}

// checkWitness compares what the witness says with what the store has.
func (s *Store) checkWitness(ctx context.Context) error {
	if err := s.write.QueryRowContext(ctx, "SELECT coalesce(max(n), 0) FROM steps").Scan(&s.commits); err != nil {
		return err
	}
	said, err := s.witness.readCount()
	if err != nil || said <= s.commits {
		return err
	}
	return fmt.Errorf("%w: it has lost the last %d of %d commits, so jobs may have run or ended of which it does not "+
		"know; "+
		"put a newer copy in its place, or remove %s to go on with what it has", store.ErrDamaged, said-s.commits, said,
		witnessPath(s.path))
}
