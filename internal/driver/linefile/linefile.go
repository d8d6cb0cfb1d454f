// Package linefile is a file that grows by whole lines. A line that could not be
// written whole, as when the disk is full, is taken back, so that it does not
// become the beginning of the next one. It must not know what the lines say.
package linefile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// File is one that this process alone writes. It is not for several goroutines at
// a time.
type File struct {
	file *os.File
	end  int64 // of the last whole line
	torn bool  // something may follow it
}

// Open opens a file that ends with a whole line, or makes an empty one.
func Open(path string) (*File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &File{file: file, end: info.Size()}, nil
}

// ReplaceFile opens a file after putting these lines in place of what it said. A crash,
// also of the machine, leaves the one or the other.
func ReplaceFile(path string, lines []byte) (*File, error) {
	if err := writeBeside(path, lines); err != nil {
		return nil, err
	}
	return Open(path)
}

func writeBeside(path string, lines []byte) error {
	beside := path + ".new"
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(beside, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) { // not every file system can
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// AppendLine adds a line, which ends with its newline. After a mistake nothing of it
// will be read.
func (f *File) AppendLine(line string) error { return f.addLine(line, func() error { return nil }) }

// AppendSafely is AppendLine, and the line outlasts a crash of the machine.
func (f *File) AppendSafely(line string) error { return f.addLine(line, f.file.Sync) }

func (f *File) addLine(line string, settle func() error) error {
	if err := f.truncateTorn(); err != nil {
		return err
	}
	f.torn = true
	_, err := f.file.WriteString(line)
	if err == nil {
		err = settle()
	}
	if err != nil {
		_ = f.truncateTorn() // else nothing is added before it can be
		return err
	}
	f.end += int64(len(line))
	f.torn = false
	return nil
}

// truncateTorn takes back what follows the last whole line.
func (f *File) truncateTorn() error {
	if !f.torn {
		return nil
	}
	err := f.file.Truncate(f.end)
	f.torn = err != nil
	return err
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
