package cli

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/report/progress"
)

// logHandler is how a broker logs: on a terminal as lines for people, else as key=value.
func logHandler(w io.Writer, level slog.Level) slog.Handler {
	if progress.IsTerminal(w) {
		return &plainLog{to: w, level: level, lock: &sync.Mutex{}}
	}
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: level})
}

// plainLog writes a line such as
//
//	15:04:05  warning: no answer (cluster south, error: timed out)
type plainLog struct {
	to    io.Writer
	level slog.Level
	lock  *sync.Mutex
	known string // attributes that all lines have
	group string
}

func (l *plainLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

func (l *plainLog) Handle(_ context.Context, r slog.Record) error {
	var attrs strings.Builder
	attrs.WriteString(l.known)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&attrs, l.group, a)
		return true
	})
	line := r.Time.Format("15:04:05") + "  "
	switch {
	case r.Level >= slog.LevelError:
		line += "error: "
	case r.Level >= slog.LevelWarn:
		line += "warning: "
	case r.Level < slog.LevelInfo:
		line += "debug: "
	}
	line += term.OneLine(r.Message)
	if attrs.Len() > 0 {
		line += " (" + attrs.String()[2:] + ")"
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	_, err := io.WriteString(l.to, line+"\n")
	return err
}

// writeAttr adds ", name value" to a list.
func writeAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		for _, inner := range v.Group() {
			writeAttr(b, group+a.Key+".", inner)
		}
		return
	}
	b.WriteString(", " + group + a.Key)
	if a.Key == "error" {
		b.WriteString(":")
	}
	b.WriteString(" " + term.OneLine(v.String()))
}

func (l *plainLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(l.known)
	for _, a := range attrs {
		writeAttr(&b, l.group, a)
	}
	with := *l
	with.known = b.String()
	return &with
}

func (l *plainLog) WithGroup(name string) slog.Handler {
	with := *l
	with.group += name + "."
	return &with
}
