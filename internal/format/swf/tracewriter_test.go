package swf

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"time"
)

// Writer writes a trace that Reader reads back unchanged.
type Writer struct {
	out  *bufio.Writer
	line []byte
}

// NewWriter writes to w; nothing is certain to be there before Flush.
func NewWriter(w io.Writer) *Writer {
	return &Writer{out: bufio.NewWriterSize(w, 64<<10)}
}

// WriteHeader writes the comment lines.
func (w *Writer) WriteHeader(h *Header) error {
	for _, line := range h.Lines {
		if !strings.HasPrefix(line, ";") {
			line = "; " + line
		}
		line = strings.ReplaceAll(line, "\n", " ")
		if _, err := w.out.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// Write writes one record. Seconds have a fraction only if they need one.
func (w *Writer) Write(r *Record) error {
	b := w.line[:0]
	for i, n := range r.toNumbers() {
		if i > 0 {
			b = append(b, ' ')
		}
		if fields[i].kind == duration && n >= 0 {
			b = appendSeconds(b, n)
		} else {
			b = strconv.AppendInt(b, n, 10)
		}
	}
	w.line = append(b, '\n')
	_, err := w.out.Write(w.line)
	return err
}

// Flush writes what is still held back.
func (w *Writer) Flush() error { return w.out.Flush() }

func appendSeconds(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/int64(time.Second), 10)
	rest := ns % int64(time.Second)
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for scale := int64(time.Second) / 10; rest > 0; scale /= 10 {
		b = append(b, byte('0'+rest/scale))
		rest %= scale
	}
	return b
}

// toNumbers is the inverse of record.
func (r *Record) toNumbers() [numFields]int64 {
	return [numFields]int64{
		r.ID, int64(r.Submit), int64(r.Wait), int64(r.Run), int64(r.Allocated),
		int64(r.CPU), r.Memory, int64(r.RequestedProcs), int64(r.RequestedTime),
		r.RequestedMemory, int64(r.Status), int64(r.User), int64(r.Group),
		int64(r.App), int64(r.Queue), int64(r.Partition), r.Preceding, int64(r.Think),
	}
}

// AddEntry appends an entry and its line.
func (h *Header) AddEntry(key, value string) {
	h.addLine([]byte("; " + key + ": " + value))
}
