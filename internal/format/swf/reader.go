package swf

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// Options says how a trace is read.
type Options struct {
	// Lenient skips records that are wrong, and counts them. A damaged file
	// (truncated gzip, no record at all) is an error nonetheless: what is
	// missing there is not known.
	Lenient bool
}

const (
	maxLine    = 64 << 10 // a line is never longer; the longest real ones have some hundred bytes
	maxReasons = 5        // faults that a lenient reader remembers

	// What a small file can make us use is bounded: real headers have a hundred lines,
	// and real traces are compressed five to ten times.
	maxHeader    = 1 << 20    // bytes of comments that are kept
	maxRecords   = 50_000_000 // of one trace
	maxExpansion = 100        // bytes of text for each byte of gzip, beyond the first maxFree
	maxFree      = 64 << 20
)

// Reader reads a trace record by record.
type Reader struct {
	name     string
	opts     Options
	lines    *bufio.Reader
	line     int
	comments int // bytes of the header
	packed   *counter
	unpacked int64 // bytes of text read from gzip
	header   Header
	seen     idSet
	read     int
	skipped  int
	reasons  []error
	err      error
}

// NewReader reads a trace, plain or compressed with gzip, from r; name is the
// file as the user knows it, for messages. It reads nothing yet.
func NewReader(r io.Reader, name string, opts Options) *Reader {
	return &Reader{name: name, opts: opts, lines: bufio.NewReaderSize(r, maxLine), seen: newSeen()}
}

// Header is what the comments read so far say; it is complete at io.EOF, and
// in a well-kept trace before the first record.
func (r *Reader) Header() *Header { return &r.header }

// Line is the number of the line that was read last, counted from 1.
func (r *Reader) Line() int { return r.line }

// SkippedRecords is how many records were wrong and left out, and what was wrong
// with the first of them. It is 0 unless the reader is lenient.
func (r *Reader) SkippedRecords() (n int, first []error) { return r.skipped, r.reasons }

// NextRecord is the next record. After the last one the error is io.EOF; any other
// error is a *badinput.Error, or a failure of the underlying reader, and
// ends the reading for good.
func (r *Reader) NextRecord() (Record, error) {
	if r.err == nil && r.line == 0 {
		r.err = r.openTrace()
	}
	for r.err == nil {
		line, err := r.nextLine()
		if err == nil && len(line) > 0 {
			var v [numFields]int64
			if err = r.parseLine(line, &v); err == nil {
				r.read++
				return recordFromNumbers(&v), nil
			}
		}
		r.err = r.forgiveBadRecord(err)
	}
	return Record{}, r.err
}

// openTrace looks at the first bytes for the marks of gzip and of UTF-8.
func (r *Reader) openTrace() error {
	if magic, _ := r.lines.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		r.packed = &counter{from: r.lines}
		z, err := gzip.NewReader(r.packed)
		if err != nil {
			return r.classifyFailure(err)
		}
		r.lines = bufio.NewReaderSize(z, maxLine)
	}
	if mark, _ := r.lines.Peek(3); string(mark) == "\ufeff" {
		_, _ = r.lines.Discard(3) // cannot fail, they were peeked at
	}
	return nil
}

// nextLine is the next line that is not a comment, without blanks around it;
// it may be empty.
func (r *Reader) nextLine() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 {
		err = nil // the last line lacks its end
	}
	if errors.Is(err, io.EOF) {
		return nil, r.atEnd()
	}
	r.line++
	if err := r.checkSize(len(line)); err != nil {
		return nil, err
	}
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, r.skipLongLine(line)
	}
	if err != nil {
		return nil, r.classifyFailure(err)
	}
	line = bytes.Trim(line, " \t\r\n")
	if len(line) > 0 && line[0] == ';' {
		if r.comments += len(line); r.comments > maxHeader {
			return nil, &badinput.Error{File: r.name, Want: fmt.Sprintf("at most %d bytes of comments", maxHeader)}
		}
		r.header.addLine(line)
		return nil, nil
	}
	return line, nil
}

// checkSize ends the reading of what no trace is.
func (r *Reader) checkSize(n int) error {
	if r.read >= maxRecords {
		return &badinput.Error{File: r.name, Want: fmt.Sprintf("at most %d records", maxRecords)}
	}
	if r.packed == nil {
		return nil
	}
	if r.unpacked += int64(n); r.unpacked > maxFree+maxExpansion*r.packed.read {
		return &badinput.Error{File: r.name,
			Want: fmt.Sprintf("gzip that expands at most %d-fold, as traces do", maxExpansion)}
	}
	return nil
}

// counter counts what is read.
type counter struct {
	from io.Reader
	read int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += int64(n)
	return n, err
}

func (r *Reader) parseLine(line []byte, v *[numFields]int64) error {
	if f := scanNumbers(line, v); f != nil {
		if bytes.IndexByte(line, 0) >= 0 {
			return r.badField("", f.value, "an SWF trace as text or gzip; this looks like a binary file")
		}
		return r.badField(f.field, f.value, f.want)
	}
	if !Status(v[10]).IsPartial() && !r.seen.addID(v[0]) {
		return r.badField(fields[0].name, fmt.Sprint(v[0]), "a number that no earlier record has")
	}
	return nil
}

// forgiveBadRecord lets a lenient reader go on after a bad record.
func (r *Reader) forgiveBadRecord(err error) error {
	var bad *badinput.Error
	if err == nil || !r.opts.Lenient || !errors.As(err, &bad) || bad.Line == 0 {
		return err
	}
	r.skipped++
	if len(r.reasons) < maxReasons {
		r.reasons = append(r.reasons, err)
	}
	return nil
}

func (r *Reader) skipLongLine(start []byte) error {
	value := string(start[:min(len(start), 100)])
	for {
		switch _, err := r.lines.ReadSlice('\n'); {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil || errors.Is(err, io.EOF):
			return r.badField("", value, fmt.Sprintf("a line of at most %d bytes", maxLine))
		default:
			return r.classifyFailure(err)
		}
	}
}

// atEnd tells an empty trace from one that has been read.
func (r *Reader) atEnd() error {
	if r.read > 0 {
		return io.EOF
	}
	want := "at least one job record; the file has none"
	if r.skipped > 0 {
		want = fmt.Sprintf("at least one valid job record; all %d are wrong, the first: %v", r.skipped, r.reasons[0])
	}
	return &badinput.Error{File: r.name, Want: want}
}

// classifyFailure sorts the errors of the reader below into damaged files, which are
// the user's to mend, and the rest. They have no line: they are not about a
// record and cannot be skipped.
func (r *Reader) classifyFailure(err error) error {
	var corrupt flate.CorruptInputError
	damaged := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) || errors.Is(err, io.EOF)
	if damaged {
		want := fmt.Sprintf("a complete gzip file; this one breaks off or is damaged after line %d", r.line)
		return &badinput.Error{File: r.name, Want: want, Err: err}
	}
	return fmt.Errorf("reading %s: %w", r.name, err)
}

func (r *Reader) badField(field, value, want string) error {
	return &badinput.Error{File: r.name, Line: r.line, Field: field, Value: value, Want: want}
}
