package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// smallDisk is a folder that is a file system of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("godwit-test", dir, "tmpfs", 0, "size=32m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk leaves no room on the disk of a folder until the file that it returns is removed.
func fillDisk(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "filler")
	f, err := os.Create(file)
	must(t, err)
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else {
			must(t, err)
		}
	}
	return file
}

// What others write cannot keep a job from being cancelled.
func TestCommitsGoOnFromTheReserveWhenTheDiskIsFull(t *testing.T) {
	dir := smallDisk(t)
	s := opened(t, filepath.Join(dir, "store.db"))
	defer s.Close()
	must(t, s.CommitBatch(t.Context(), life(1, 1, 1)))
	must(t, s.Short())
	filler := fillDisk(t, dir)
	first, id := s.next, core.JobID(2)
	commit := func(jobs int) error {
		b := life(first, id, jobs)
		first, id = first+uint64(len(b.Events)), id+core.JobID(jobs)
		return s.CommitBatch(t.Context(), b)
	}
	for range 10 { // as many as may be cancelled at once
		if err := commit(1); err != nil {
			t.Fatalf("on a full disk: %v", err)
		}
	}
	if err := s.Short(); !errors.Is(err, store.ErrFull) {
		t.Errorf("on a full disk it is short because %v", err)
	}
	must(t, os.Remove(filler))
	if err := s.Short(); err != nil {
		t.Errorf("with room again it is short: %v", err)
	}
}
