// Package jsonlines reads files that hold one JSON object a line, plain or gzip, and says which
// line is wrong. It does not know what the lines mean.
package jsonlines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// maxLine bounds a line: the header of the largest grid is far below it.
const maxLine = 64 << 20

// Reader reads a log line by line.
type Reader struct {
	name string
	in   *bufio.Reader
	n    int // lines so far
}

// Open begins to read; name is the file as the user knows it. What is wrong with it is a
// *badinput.Error.
func Open(r io.Reader, name string) (*Reader, error) {
	l := &Reader{name: name, in: bufio.NewReaderSize(r, 1<<16)}
	if magic, _ := l.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(l.in)
		if err != nil {
			return nil, l.damagedLog(err)
		}
		l.in = bufio.NewReaderSize(z, 1<<16)
	}
	return l, nil
}

// Name is the file as the user knows it.
func (l *Reader) Name() string { return l.name }

// LineCount is how many lines have been read.
func (l *Reader) LineCount() int { return l.n }

// DecodeNext decodes the next line; at the end of the log the error is io.EOF. A
// line that does not end is one that broke off.
func (l *Reader) DecodeNext(into any) error {
	line, err := l.readLine()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return l.BadLine("", "a line of a log, written as JSON", tidyError(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l.BadLine("", "one JSON object a line", nil)
	}
	return nil
}

func (l *Reader) readLine() ([]byte, error) {
	var long []byte
	for {
		part, err := l.in.ReadSlice('\n')
		switch {
		case err == nil && long == nil:
			l.n++
			return part, nil
		case err == nil:
			l.n++
			return append(long, part...), nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(long)+len(part) > maxLine {
				l.n++
				return nil, l.BadLine("", fmt.Sprintf("a line of at most %d MB", maxLine>>20), nil)
			}
			long = append(long, part...)
		case errors.Is(err, io.EOF) && len(long)+len(part) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			l.n++
			return nil, l.BadLine("", "a whole line; the log breaks off here", nil)
		default:
			return nil, l.damagedLog(err)
		}
	}
}

// damagedLog sorts errors of reading: a file that is broken is the user's to
// mend.
func (l *Reader) damagedLog(err error) error {
	return &badinput.Error{File: l.name, Want: fmt.Sprintf("a readable log; it is damaged after line %d", l.n), Err: err}
}

// BadLine is an error about the line that was read last.
func (l *Reader) BadLine(value, want string, err error) error {
	return &badinput.Error{File: l.name, Line: l.n, Value: value, Want: want, Err: err}
}

// tidyError takes the decoder's prefix off its messages.
func tidyError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it breaks off")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
