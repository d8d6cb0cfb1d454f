// Package sendfolder makes folders that look as what is to be sent with a job or a workflow,
// by hard links where the file system allows. It must not know where they are sent.
package sendfolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is a folder that looks as what is to be sent. It is locked while it is
// used: who is killed leaves it, and the next to send from there removes it.
type Folder struct {
	Dir  string
	lock *os.File // nil: folders cannot be locked there
}

// sendPrefix begins the names of such folders that this host made: elsewhere its
// locks may not be seen.
func sendPrefix() string {
	host, _ := os.Hostname() // without one all are as one
	return ".godwit-send-" + host + "+"
}

// NewFolder makes a folder within another, so that files can be linked into it, or
// where there is always room for one.
func NewFolder(near string) (*Folder, error) {
	s, err := sendFolderIn(near)
	if err != nil {
		s, err = sendFolderIn(os.TempDir())
	}
	return s, err
}

func sendFolderIn(parent string) (*Folder, error) {
	removeLeft(parent)
	for {
		dir, err := os.MkdirTemp(parent, sendPrefix())
		if err != nil {
			return nil, err
		}
		lock, err := lockFolder(dir)
		// Another may have found it before it was locked, and removes it.
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, fs.ErrNotExist) {
			return &Folder{dir, lock}, nil
		}
	}
}

// RemoveFolder removes the folder. What is left harms nobody.
func (s *Folder) RemoveFolder() {
	_ = os.RemoveAll(s.Dir)
	if s.lock != nil {
		_ = s.lock.Close()
	}
}

// removeLeft removes what those left in a folder that were killed.
func removeLeft(parent string) {
	entries, _ := os.ReadDir(parent) // what cannot be seen stays
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), sendPrefix()) || !isOurFolder(e) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if lock, err := lockFolder(dir); err == nil {
			(&Folder{dir, lock}).RemoveFolder()
		}
	}
}

func isOurFolder(e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return info.IsDir() && ok && int(stat.Uid) == os.Geteuid()
}

// lockFolder locks a folder, unless another has, or has removed it.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	is, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := os.Lstat(dir); err != nil || !os.SameFile(is, there) {
		return nil, errors.Join(fs.ErrNotExist, f.Close())
	}
	return f, nil
}
