// Package joblog keeps what a program wrote: one stream of bytes, cut into
// segments so that the oldest can be dropped, written at given offsets so that
// what arrives twice is there once, and followed by whoever reads. It must not
// know whose bytes they are.
package joblog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Limits bound a log.
type Limits struct {
	Segment int64 // bytes of one file; 0: 16 MiB
	Keep    int64 // bytes kept; the oldest segments beyond are dropped; 0: all
}

// Log is one stream in the files name.<offset of its first byte> of a folder. A
// stream that nobody wrote to has no file.
type Log struct {
	dir, name string
	lim       Limits
}

// Open is the log of a name in a folder; nothing is touched yet.
func Open(dir, name string, lim Limits) *Log {
	if lim.Segment <= 0 {
		lim.Segment = 16 << 20
	}
	return &Log{dir, name, lim}
}

// WriteAt writes data that begins at offset of the stream. Whatever lay behind
// that offset is gone: a program that went back to a checkpoint writes it anew.
func (l *Log) WriteAt(data []byte, offset int64) error {
	if err := l.Truncate(offset); err != nil {
		return err
	}
	for len(data) > 0 {
		start, size, err := l.last()
		if err != nil {
			return err
		}
		if start < 0 || size >= l.lim.Segment || start+size != offset {
			// A gap (the bytes between were lost) begins a new segment too.
			start, size = offset, 0
			if err := l.drop(); err != nil {
				return err
			}
		}
		n := min(int64(len(data)), l.lim.Segment-size)
		if err := l.append(start, data[:n]); err != nil {
			return err
		}
		data, offset = data[n:], offset+n
	}
	return nil
}

func (l *Log) append(start int64, data []byte) error {
	f, err := os.OpenFile(l.path(start), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(l.dir, 0o700); err == nil {
			f, err = os.OpenFile(l.path(start), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// Truncate drops whatever lies behind n.
func (l *Log) Truncate(n int64) error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	for _, s := range slices.Backward(segments) {
		if s.start+s.size <= n {
			break
		}
		if s.start >= n {
			err = os.Remove(l.path(s.start))
		} else {
			err = os.Truncate(l.path(s.start), n-s.start)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Size is the offset behind the last byte.
func (l *Log) Size() (int64, error) {
	start, size, err := l.last()
	return max(0, start+size), err
}

// ReadAt reads from an offset on, io.EOF at the end. Where the bytes asked for
// have been dropped it goes on with the oldest there are; from says where that
// is.
func (l *Log) ReadAt(p []byte, offset int64) (n int, from int64, err error) {
	segments, err := l.segments()
	if err != nil {
		return 0, offset, err
	}
	for _, s := range segments {
		if offset >= s.start+s.size {
			continue
		}
		offset = max(offset, s.start)
		f, err := os.Open(l.path(s.start))
		if err != nil {
			return 0, offset, err
		}
		n, err := f.ReadAt(p[:min(int64(len(p)), s.start+s.size-offset)], offset-s.start)
		_ = f.Close()
		if n > 0 {
			err = nil
		}
		return n, offset, err
	}
	return 0, offset, io.EOF
}

// drop removes the oldest segments that are more than is to be kept.
func (l *Log) drop() error {
	if l.lim.Keep <= 0 {
		return nil
	}
	segments, err := l.segments()
	if err != nil {
		return err
	}
	var kept int64
	for _, s := range slices.Backward(segments) {
		if kept += s.size; kept > l.lim.Keep {
			if err := os.Remove(l.path(s.start)); err != nil {
				return err
			}
		}
	}
	return nil
}

type segment struct{ start, size int64 }

// last is the newest segment; start is -1 if there is none.
func (l *Log) last() (start, size int64, err error) {
	segments, err := l.segments()
	if err != nil || len(segments) == 0 {
		return -1, 0, err
	}
	s := segments[len(segments)-1]
	return s.start, s.size, nil
}

// segments lists the files of the log by their offsets.
func (l *Log) segments() ([]segment, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []segment
	for _, e := range entries {
		text, ours := strings.CutPrefix(e.Name(), l.name+".")
		start, err := strconv.ParseInt(text, 10, 64)
		if !ours || err != nil || start < 0 {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // dropped meanwhile
		}
		list = append(list, segment{start, info.Size()})
	}
	slices.SortFunc(list, func(a, b segment) int { return int(min(1, max(-1, a.start-b.start))) })
	return list, nil
}

func (l *Log) path(start int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%s.%012d", l.name, start))
}
