package userfiles

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// asideName is what the folders begin with in which files are gathered.
const asideName = "godwit-gather-"

// makeAside makes a folder for copies of a user's files, which done removes. Its
// maker holds a lock on it while it lives: those that nobody holds any more are of
// makers that were killed, and are removed first.
func makeAside() (dir string, done func(), err error) {
	clearAside()
	for {
		dir, err := os.MkdirTemp("", asideName)
		if err != nil {
			return "", nil, err
		}
		held, err := os.Open(dir)
		if err == nil {
			err = unix.Flock(int(held.Fd()), unix.LOCK_EX)
		}
		if err == nil && isStill(dir, held) {
			return dir, func() {
				_ = os.RemoveAll(dir) // what is left goes with the next
				_ = held.Close()      // only opened
			}, nil
		}
		if held != nil {
			_ = held.Close() // only opened
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(dir)
			return "", nil, err
		}
		// Somebody cleared it away before it was locked.
	}
}

// clearAside removes what killed makers left, as far as it belongs to this user.
func clearAside() {
	list, err := filepath.Glob(filepath.Join(os.TempDir(), asideName+"*"))
	if err != nil {
		return
	}
	for _, dir := range list {
		fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		held := os.NewFile(uintptr(fd), dir)
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && int(st.Uid) == os.Geteuid() && unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil &&
			isStill(dir, held) {
			_ = os.RemoveAll(dir) // what is left goes with the next
		}
		_ = held.Close() // only opened
	}
}

// isStill reports whether a folder that was opened is the one of that name.
func isStill(dir string, opened *os.File) bool {
	is, err := opened.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(dir)
	return err == nil && os.SameFile(is, named)
}
