package poolwork

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The outcomes of a pool are written down one behind the other, in the order in which they were
// counted. Numbers are as in encoding/binary: item, exit code, flags, and the bytes of either
// stream behind their length.

const (
	flagCut     = 1 << iota // it wrote more than is kept
	flagLost                // it never ended: its workers were lost
	flagDropped             // what it wrote is not kept: the user's share of the disk is used up
	allFlags    = flagCut | flagLost | flagDropped
)

// Record is an outcome as it is written down.
type Record struct {
	Outcome
	Lost    bool
	Dropped bool
}

// ErrRecord says that what was read is no record.
var ErrRecord = errors.New("not an outcome of a pool")

// AppendRecord appends a record to buf.
func AppendRecord(buf []byte, r *Record) []byte {
	flags := uint64(0)
	for flag, is := range map[uint64]bool{flagCut: r.Cut, flagLost: r.Lost, flagDropped: r.Dropped} { // order-free: a sum
		if is {
			flags |= flag
		}
	}
	buf = binary.AppendUvarint(buf, uint64(r.Item))
	buf = binary.AppendUvarint(buf, uint64(r.Code))
	buf = binary.AppendUvarint(buf, flags)
	for _, stream := range [][]byte{r.Out, r.Err} {
		buf = append(binary.AppendUvarint(buf, uint64(len(stream))), stream...)
	}
	return buf
}

// ReadRecord reads a record and tells how long it is. At the end between two of them it returns
// io.EOF, within one io.ErrUnexpectedEOF.
func ReadRecord(in *bufio.Reader) (*Record, int64, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, 0, err
	}
	c := &countingReader{in: in}
	r := &Record{}
	flags := uint64(0)
	for _, field := range []struct {
		most uint64
		put  func(uint64)
	}{{MaxItems - 1, func(n uint64) { r.Item = int(n) }}, {255, func(n uint64) { r.Code = int(n) }},
		{allFlags, func(n uint64) { flags = n }}} {
		n, err := c.readNumber(field.most)
		if err != nil {
			return nil, 0, err
		}
		field.put(n)
	}
	r.Cut, r.Lost, r.Dropped = flags&flagCut != 0, flags&flagLost != 0, flags&flagDropped != 0
	for _, stream := range []*[]byte{&r.Out, &r.Err} {
		n, err := c.readNumber(MaxOutput)
		if err != nil {
			return nil, 0, err
		}
		if n == 0 {
			continue
		}
		*stream = make([]byte, n)
		if _, err := io.ReadFull(c, *stream); err != nil {
			return nil, 0, noEnd(err)
		}
	}
	return r, c.read, nil
}

type countingReader struct {
	in   *bufio.Reader
	read int64
}

func (c *countingReader) ReadByte() (byte, error) {
	b, err := c.in.ReadByte()
	if err == nil {
		c.read++
	}
	return b, err
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.read += int64(n)
	return n, err
}

func (c *countingReader) readNumber(most uint64) (uint64, error) {
	n, err := binary.ReadUvarint(c)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return 0, io.ErrUnexpectedEOF
	case err != nil || n > most:
		return 0, fmt.Errorf("%w: a number is %d, at most %d", ErrRecord, n, most)
	}
	return n, nil
}

// noEnd is an error within a record.
func noEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
