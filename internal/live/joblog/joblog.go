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

// maxSegments bounds the files of one log. Every gap between two writes begins a
// segment, and gaps are up to whoever writes; beyond this the oldest are dropped.
const maxSegments = 1024

// errOffset says that a write does not lie in the stream.
var errOffset = errors.New("a negative offset")

// Log is one stream in the files name.<offset of its first byte> of a folder. A
// stream that nobody wrote to has no file. At a time one Log writes a stream; it
// lists the files once and remembers them, so that the cost of a write does not
// grow with what was written before. Any number of others read.
type Log struct {
	dir, name string
	lim       Limits

	listed bool
	files  []segment // by offset, if listed; known to the writer alone
}

// Open is the log of a name in a folder; nothing is touched yet.
func Open(dir, name string, lim Limits) *Log {
	if lim.Segment <= 0 {
		lim.Segment = 16 << 20
	}
	return &Log{dir: dir, name: name, lim: lim}
}

// WriteAt writes data that begins at offset of the stream. Whatever lay behind
// that offset is gone: a program that went back to a checkpoint writes it anew.
func (l *Log) WriteAt(data []byte, offset int64) error {
	if offset < 0 {
		return errOffset
	}
	if err := l.TruncateAt(offset); err != nil {
		return err
	}
	for len(data) > 0 {
		n, err := l.writeSome(data, offset)
		if err != nil {
			l.listed = false // how much of it was written is for the files to say
			return err
		}
		data, offset = data[n:], offset+n
	}
	return nil
}

// writeSome appends to the last segment what fits there, or begins another. A gap
// (the bytes between were lost) begins another too.
func (l *Log) writeSome(data []byte, offset int64) (int64, error) {
	last := len(l.files) - 1
	if last < 0 || l.files[last].size >= l.lim.Segment || l.files[last].start+l.files[last].size != offset {
		if err := l.dropOldest(); err != nil {
			return 0, err
		}
		l.files = append(l.files, segment{start: offset})
		last = len(l.files) - 1
	}
	n := min(int64(len(data)), l.lim.Segment-l.files[last].size)
	if err := l.appendSegment(l.files[last].start, data[:n]); err != nil {
		return 0, err
	}
	l.files[last].size += n
	return n, nil
}

func (l *Log) appendSegment(start int64, data []byte) error {
	f, err := os.OpenFile(l.segmentPath(start), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(l.dir, 0o700); err == nil {
			f, err = os.OpenFile(l.segmentPath(start), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// TruncateAt drops whatever lies behind n.
func (l *Log) TruncateAt(n int64) error {
	if err := l.listFiles(); err != nil {
		return err
	}
	for len(l.files) > 0 {
		s := &l.files[len(l.files)-1]
		switch {
		case s.start+s.size <= n:
			return nil
		case s.start >= n:
			if err := os.Remove(l.segmentPath(s.start)); err != nil {
				l.listed = false
				return err
			}
			l.files = l.files[:len(l.files)-1]
		default:
			if err := os.Truncate(l.segmentPath(s.start), n-s.start); err != nil {
				l.listed = false
				return err
			}
			s.size = n - s.start
		}
	}
	return nil
}

// listFiles reads which files there are, once.
func (l *Log) listFiles() (err error) {
	if !l.listed {
		l.files, err = l.listSegments()
		l.listed = err == nil
	}
	return err
}

// Size is the offset behind the last byte.
func (l *Log) Size() (int64, error) {
	segments, err := l.listSegments()
	if err != nil || len(segments) == 0 {
		return 0, err
	}
	last := segments[len(segments)-1]
	return last.start + last.size, nil
}

// ReadAt reads from an offset on, io.EOF at the end. Where the bytes asked for
// have been dropped it goes on with the oldest there are; from says where that
// is.
func (l *Log) ReadAt(p []byte, offset int64) (n int, from int64, err error) {
	segments, err := l.listSegments()
	if err != nil {
		return 0, offset, err
	}
	for _, s := range segments {
		if offset >= s.start+s.size {
			continue
		}
		offset = max(offset, s.start)
		f, err := os.Open(l.segmentPath(s.start))
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

// dropOldest removes the oldest segments that are more than is to be kept.
func (l *Log) dropOldest() error {
	var kept int64
	first := 0
	for i := len(l.files) - 1; i >= 0; i-- {
		kept += l.files[i].size
		if l.lim.Keep > 0 && kept > l.lim.Keep || len(l.files)-i >= maxSegments {
			first = i + 1
			break
		}
	}
	for _, s := range l.files[:first] {
		if err := os.Remove(l.segmentPath(s.start)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	l.files = slices.Delete(l.files, 0, first)
	return nil
}

type segment struct{ start, size int64 }

// listSegments lists the files of the log by their offsets.
func (l *Log) listSegments() ([]segment, error) {
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

func (l *Log) segmentPath(start int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("%s.%012d", l.name, start))
}
