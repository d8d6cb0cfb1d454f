package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// reserve keeps room on the disk that only the store can use: blocks allocated behind
// the end of its files. When others fill the disk, commits go on from it, so that jobs
// can still be cancelled and end; whoever takes in new work asks Short first. A file
// beside the store that is removed when the disk is full would not do: whoever fills
// the disk takes what it frees.
type reserve struct {
	size  int64 // behind the end of each file; 0: the file system cannot allocate ahead
	files []*reservedFile
}

// reservedFile is a file with blocks behind its end. It stays open as long as SQLite
// has it open: closing it would drop SQLite's locks on it.
type reservedFile struct {
	path string
	f    *os.File
	end  int64 // allocated up to here
}

// Bounds of the reserve behind each file. What a cancel takes is some hundred kilobytes
// of the log, which are used again, and a few of the store itself.
const (
	minReserve = 1 << 20
	maxReserve = 16 << 20
	// reserveShare is the part of the disk that one reserve may take.
	reserveShare = 64
	// minFree is what has to be free besides for new work.
	minFree = 1 << 20
)

// newReserve plans the reserve for the files of a store; nothing is allocated yet.
func newReserve(path string) *reserve {
	var disk unix.Statfs_t
	if err := unix.Statfs(path, &disk); err != nil {
		return &reserve{}
	}
	total := int64(disk.Blocks) * disk.Bsize
	return &reserve{size: min(max(total/reserveShare, minReserve), maxReserve),
		files: []*reservedFile{{path: path}, {path: path + "-wal"}}}
}

// fill allocates what is missing: all of it at first, and again when half of it has
// been used. The error is ErrFull if the disk has no room for it.
func (r *reserve) fill() error {
	for _, file := range r.files {
		err := file.extend(r.size)
		switch {
		case err == nil:
		case errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT):
			return fmt.Errorf("%w: %w", store.ErrFull, err)
		case errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL):
			r.size = 0
			return nil
		default:
			return err
		}
		if r.size == 0 {
			return nil
		}
	}
	return nil
}

// extend sees to it that at least half of so many bytes are allocated behind the end.
func (f *reservedFile) extend(size int64) error {
	if f.f == nil {
		file, err := os.OpenFile(f.path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // nothing was written to it yet
		}
		if err != nil {
			return err
		}
		f.f = file
	}
	info, err := f.f.Stat()
	if err != nil || f.end-info.Size() >= size/2 {
		return err
	}
	if err := unix.Fallocate(int(f.f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), size); err != nil {
		return fmt.Errorf("allocating space for %s: %w", f.path, err)
	}
	f.end = info.Size() + size
	return nil
}

// close lets the files go; the blocks stay theirs.
func (r *reserve) close() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, f := range r.files {
		if f.f != nil {
			errs = append(errs, f.f.Close())
		}
	}
	return errors.Join(errs...)
}

// Short implements store.Reserved.
func (s *Store) Short() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.write == nil {
		return store.ErrClosed
	}
	if err := s.reserve.fill(); err != nil {
		return fmt.Errorf("store %s: %w", s.path, err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(s.path, &disk); err == nil && int64(disk.Bavail)*disk.Bsize < minFree {
		return fmt.Errorf("store %s: %w", s.path, store.ErrFull)
	}
	return nil
}

// emptyLog moves what the write-ahead log holds into the store, so that the next commit
// begins at the front of it, and reports whether it could.
func (s *Store) emptyLog(ctx context.Context) bool {
	var busy, pages, moved int
	row := s.write.QueryRowContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(PASSIVE)")
	return s.broken == nil && row.Scan(&busy, &pages, &moved) == nil && busy == 0 && moved == pages
}
