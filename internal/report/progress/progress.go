// Package progress shows how far a long piece of work has come: one line on a
// terminal that rewrites itself and is gone at the end. It says nothing in
// the first two seconds, and nothing at all where nobody watches. It must not
// know what the work is, and it starts no goroutine: it speaks only when told
// how far the work has come.
package progress

import (
	"io"
	"os"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
)

const (
	// patience is how long work may take before we show that it takes long.
	patience = 2 * time.Second
	// interval keeps the line readable and its cost out of every measurement.
	interval = 100 * time.Millisecond
	// width cuts the line so that it never wraps: a wrapped line cannot be
	// taken back.
	width = 79
)

// Line is one progress line. A nil Line is a disabled one, so that callers
// need no condition around their updates. It is not for concurrent use.
type Line struct {
	w     io.Writer
	now   clock.Clock
	label string
	unit  string
	total int64

	start time.Time
	last  time.Time // when the line was last written
	shown bool
}

// New starts a line on w for total units of work; total 0 means that the end
// is not known, and percentage and remaining time are left out. The unit is a
// plural: "jobs". New returns nil, the silent Line, when w is no terminal.
func New(w io.Writer, now clock.Clock, label, unit string, total int64) *Line {
	if !IsTerminal(w) {
		return nil
	}
	return startLine(w, now, label, unit, total)
}

func startLine(w io.Writer, now clock.Clock, label, unit string, total int64) *Line {
	return &Line{w: w, now: now, label: label, unit: unit, total: total, start: now()}
}

// IsTerminal reports whether w is a terminal that understands a line being
// rewritten.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	// The null device is a character device as well.
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

// Update says that done units are finished. It may be called as often as one
// likes; callers with millions of units should still call it every thousandth,
// because it reads the clock.
func (l *Line) Update(done int64) {
	if l == nil {
		return
	}
	now := l.now()
	elapsed := now.Sub(l.start)
	if elapsed < patience || now.Sub(l.last) < interval {
		return
	}
	l.last, l.shown = now, true
	// An error here means that the terminal went away; the work must go on.
	_, _ = io.WriteString(l.w, "\r\x1b[K"+fitWidth(l.lineText(done, elapsed)))
}

// ClearLine takes the line away. Calling it twice does no harm.
func (l *Line) ClearLine() {
	if l == nil || !l.shown {
		return
	}
	l.shown = false
	_, _ = io.WriteString(l.w, "\r\x1b[K")
}

// fitWidth cuts s to the width of a narrow terminal.
func fitWidth(s string) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	return string(r[:width-1]) + "…"
}
