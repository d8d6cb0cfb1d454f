package runlog

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// stepLine is one Step of the engine as it is written.
type stepLine struct {
	At     core.Time    `json:"at"`
	In     core.Input   `json:"in"`
	Label  int64        `json:"label,omitempty"` // of a submitted job, where it is not its number
	Events []core.Event `json:"events,omitempty"`
	End    *endLine     `json:"end,omitempty"`
}

// endLine is the last line: without it the log is not whole.
type endLine struct {
	Steps  int64 `json:"steps"`
	Events int64 `json:"events"`
}

// Writer writes a log. It keeps its first error; Close returns it.
type Writer struct {
	buf   *bufio.Writer
	gz    *gzip.Writer
	json  *json.Encoder
	total endLine
	err   error
}

// NewWriter begins a log on w, compressed if so wanted.
func NewWriter(w io.Writer, compress bool, h Header) *Writer {
	l := &Writer{}
	if compress {
		l.gz = gzip.NewWriter(w)
		w = l.gz
	}
	l.buf = bufio.NewWriterSize(w, 1<<16)
	l.json = json.NewEncoder(l.buf)
	l.putLine(h.toLine())
	return l
}

// WriteStep adds one step of the engine; label is what the submitter calls a
// submitted job, 0 for all other inputs.
func (l *Writer) WriteStep(now core.Time, in *core.Input, events []core.Event, label int64) {
	if in.Kind == core.Submit && label == int64(in.Job) {
		label = 0
	}
	l.total.Steps++
	l.total.Events += int64(len(events))
	l.putLine(stepLine{At: now, In: *in, Label: label, Events: events})
}

func (l *Writer) putLine(line any) {
	if l.err == nil {
		l.err = l.json.Encode(line)
	}
}

// Close marks the log as whole and flushes it. It does not close what is
// below.
func (l *Writer) Close() error {
	l.putLine(struct {
		End endLine `json:"end"`
	}{l.total})
	if l.err == nil {
		l.err = l.buf.Flush()
	}
	if l.err == nil && l.gz != nil {
		l.err = l.gz.Close()
	}
	if l.err != nil {
		return fmt.Errorf("writing the log: %w", l.err)
	}
	return nil
}
