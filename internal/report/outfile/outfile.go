// Package outfile writes files that are either complete or not there: what is
// written goes to a file beside the wanted one, which takes its name only when
// all of it is on disk. So a run that is interrupted or fails leaves an older
// file as it was and no half of a new one. It must not know what is written.
package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// File is a file being written. Either Commit or Discard ends it; Discard
// after Commit does nothing, so it can be deferred.
type File struct {
	f      *os.File
	path   string // that the user wants
	beside string // where it is written; empty if it is no regular file
}

// Create begins the file at path. That it cannot be written is a
// *badinput.Error, known before any work is done.
func Create(path string) (*File, error) {
	target, err := resolveLink(path)
	if err != nil {
		return nil, unwritableFile(path, err)
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return openSpecial(path, target, info)
	}
	beside := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.%d.partial", filepath.Base(target), os.Getpid()))
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, unwritableFile(path, err)
	}
	return &File{f, target, beside}, nil
}

// openSpecial opens what cannot be replaced by another file: a pipe, a device.
func openSpecial(path, target string, info fs.FileInfo) (*File, error) {
	if info.IsDir() {
		return nil, unwritableFile(path, errors.New("is a directory"))
	}
	f, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return nil, unwritableFile(path, err)
	}
	return &File{f: f, path: target}, nil
}

// resolveLink follows a symbolic link, so that it stays one.
func resolveLink(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return target, err
}

func unwritableFile(path string, err error) error {
	return badinput.UnwritableFile(path, err)
}

// Write adds to the file.
func (f *File) Write(p []byte) (int, error) {
	n, err := f.f.Write(p)
	if err != nil {
		return n, fmt.Errorf("writing %s: %w", f.path, err)
	}
	return n, nil
}

// Commit gives the complete file its name.
func (f *File) Commit() error {
	err := f.f.Close()
	if err == nil && f.beside != "" {
		err = os.Rename(f.beside, f.path)
	}
	f.beside = ""
	if err != nil {
		return fmt.Errorf("writing %s: %w", f.path, err)
	}
	return nil
}

// Discard throws away what was written, unless it has been committed.
func (f *File) Discard() {
	_ = f.f.Close() // closed already, or not wanted
	if f.beside != "" {
		_ = os.Remove(f.beside) // nothing better can be done about it
		f.beside = ""
	}
}

// WriteAll writes a whole file.
func WriteAll(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}
