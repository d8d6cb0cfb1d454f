package buildcache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// Cache is a folder of results. Each is a folder named by its key, which appears
// when it is whole; KEY.lock is held by who builds it.
type Cache struct{ Dir string }

// Result is one result, and the right to make it. Others that want it wait until
// ReleaseLock, or until the process ends, however it does.
type Result struct {
	dir   string
	lock  *os.File
	Ready bool // it is there
}

// maxUnusedAge results are removed after this long.
const maxUnusedAge = 30 * 24 * time.Hour

// TakeResult waits until nobody else has the result, and takes it. waits is called once
// if somebody has.
func (c Cache) TakeResult(ctx context.Context, key string, waits func()) (*Result, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	told := false
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		lock, err := lockFile(filepath.Join(c.Dir, key+lockSuffix))
		if err == nil {
			r := &Result{dir: filepath.Join(c.Dir, key), lock: lock}
			_, err = os.Stat(r.dir)
			r.Ready = err == nil
			return r, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, err
		}
		if !told {
			waits()
			told = true
		}
		if !clock.SleepContext(ctx, pause) {
			return nil, context.Cause(ctx)
		}
	}
}

const lockSuffix = ".lock"

// lockFile locks a file that it makes if it is missing, without waiting.
func lockFile(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			_ = f.Close() // it was not taken
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
		is, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(is, there) {
			return f, nil
		}
		_ = f.Close() // it was removed, see RemoveOld; others take the new one
	}
}

// ReleaseLock lets others have it.
func (r *Result) ReleaseLock() { _ = r.lock.Close() }

// Files within a result.
const (
	filesDir = "files"
	logFile  = "log"
)

// PlaceFiles copies the files of a result that is Ready into a folder, each in place of
// what stands there. It is used at this time: see RemoveOld.
func (r *Result) PlaceFiles(dir string, at time.Time) error {
	from := filepath.Join(r.dir, filesDir)
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyTo(path, filepath.Join(dir, rel))
	})
	if err != nil {
		return fmt.Errorf("bringing what was built before: %w", err)
	}
	_ = os.Chtimes(r.dir, at, at) // it is removed sooner then
	return nil
}

// KeepFiles makes these files of a folder the result. Until all of it is there nobody
// finds any of it.
func (r *Result) KeepFiles(dir string, files []string, log []byte) (err error) {
	part := r.dir + ".part"
	if err := os.RemoveAll(part); err != nil { // of one that was killed
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(part) // it may be what fills the disk
			err = fmt.Errorf("keeping what was built: %w", err)
		}
	}()
	if err := os.MkdirAll(filepath.Join(part, filesDir), 0o700); err != nil {
		return err
	}
	for _, f := range files {
		if err := copyTo(filepath.Join(dir, f), filepath.Join(part, filesDir, f)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(part, logFile), log, 0o600); err != nil {
		return err
	}
	if err := syncTree(part); err != nil { // else a power cut may leave it ready, and empty
		return err
	}
	if err := os.Rename(part, r.dir); err != nil {
		return err
	}
	r.Ready = true
	return nil
}

// syncTree brings a folder and all in it to the disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		err = f.Sync()
		if e.IsDir() {
			err = nil // not every file system can, and most need not
		}
		return errors.Join(err, f.Close())
	})
}

// copyTo copies a file or a link; what stood at its place is there until the new
// one is whole.
func copyTo(from, to string) (err error) {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	beside := to + ".godwit-part"
	defer func() {
		if err != nil {
			_ = os.Remove(beside)
		}
	}()
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err == nil {
			_ = os.Remove(beside) // of one that was killed
			err = os.Symlink(target, beside)
		}
		if err != nil {
			return err
		}
		return os.Rename(beside, to)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a link", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // opened for reading
	out, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if e := out.Chmod(info.Mode().Perm()); err == nil {
		err = e
	}
	if e := out.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(beside, to)
}

// RemoveOld removes results that nobody used for long, what was left half made, and
// their locks.
func (c Cache) RemoveOld(at time.Time) {
	list, _ := os.ReadDir(c.Dir) // what cannot be read stays
	for _, e := range list {
		info, err := e.Info()
		isLock := strings.HasSuffix(e.Name(), lockSuffix)
		if err != nil || !e.IsDir() && !isLock || at.Sub(info.ModTime()) < maxUnusedAge {
			continue
		}
		key, _, _ := strings.Cut(e.Name(), ".")
		r, err := c.TakeResult(stoppedContext(), key, func() {})
		if err != nil {
			continue // in use
		}
		if e.IsDir() {
			_ = os.RemoveAll(filepath.Join(c.Dir, e.Name()))
		}
		_ = os.Remove(r.lock.Name()) // whoever gets it after us makes a new one
		r.ReleaseLock()
	}
}

// stoppedContext is a context that waits for nothing.
func stoppedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
