package runlog

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

// lines reads a log line by line.
type lines struct {
	name string
	in   *bufio.Reader
	n    int // lines so far
}

func openLines(r io.Reader, name string) (*lines, error) {
	l := &lines{name: name, in: bufio.NewReaderSize(r, 1<<16)}
	if magic, _ := l.in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(l.in)
		if err != nil {
			return nil, l.damagedLog(err)
		}
		l.in = bufio.NewReaderSize(z, 1<<16)
	}
	return l, nil
}

// decodeNext decodes the next line; at the end of the log the error is io.EOF. A
// line that does not end is one that broke off.
func (l *lines) decodeNext(into any) error {
	line, err := l.readLine()
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return l.badLine("", "a line of a log, written as JSON", tidyError(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l.badLine("", "one JSON object a line", nil)
	}
	return nil
}

func (l *lines) readLine() ([]byte, error) {
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
				return nil, l.badLine("", fmt.Sprintf("a line of at most %d MB", maxLine>>20), nil)
			}
			long = append(long, part...)
		case errors.Is(err, io.EOF) && len(long)+len(part) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			l.n++
			return nil, l.badLine("", "a whole line; the log breaks off here", nil)
		default:
			return nil, l.damagedLog(err)
		}
	}
}

// damagedLog sorts errors of reading: a file that is broken is the user's to
// mend.
func (l *lines) damagedLog(err error) error {
	return &badinput.Error{File: l.name, Want: fmt.Sprintf("a readable log; it is damaged after line %d", l.n), Err: err}
}

func (l *lines) badLine(value, want string, err error) error {
	return &badinput.Error{File: l.name, Line: l.n, Value: value, Want: want, Err: err}
}

// tidyError takes the decoder's prefix off its messages.
func tidyError(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return errors.New("it breaks off")
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}
