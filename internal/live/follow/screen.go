package follow

import (
	"io"
	"strings"
	"sync"
)

// Screen shares a terminal between what a job writes and a few lines below it
// that say how it is doing, are rewritten in place, and are gone at the end.
type Screen struct {
	mu     sync.Mutex
	status io.Writer // the terminal; nil: no lines are shown
	shown  int       // lines that stand there now
	open   bool      // the job's last line on the terminal has no end yet
	lines  []string
	drawn  string // what stands there now
}

// NewScreen shows lines on a terminal; nil is one that shows none.
func NewScreen(status io.Writer) *Screen { return &Screen{status: status} }

// ShareWith wraps a writer to the same terminal: the lines step aside for what is
// written. Other writers need not be wrapped.
func (s *Screen) ShareWith(to io.Writer) io.Writer {
	if s.status == nil {
		return to
	}
	return &shared{s, to}
}

type shared struct {
	screen *Screen
	to     io.Writer
}

func (w *shared) Write(p []byte) (int, error) {
	s := w.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLines()
	n, err := w.to.Write(p)
	if n > 0 {
		s.open = p[n-1] != '\n'
	}
	return n, err
}

// ShowLines replaces the lines.
func (s *Screen) ShowLines(lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = lines
	s.drawLines()
}

// SayLine writes a line that stays.
func (s *Screen) SayLine(to io.Writer, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clearLines()
	if s.open && s.status != nil {
		line = "\n" + line
		s.open = false
	}
	_, _ = io.WriteString(to, line+"\n") // there is nobody else to tell
	s.drawLines()
}

// Close takes the lines away.
func (s *Screen) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = nil
	s.clearLines()
}

// drawLines writes the lines, unless the job is in the middle of one of its own.
func (s *Screen) drawLines() {
	if s.status == nil || s.open {
		return
	}
	text := strings.Join(s.lines, "\n")
	if s.shown == len(s.lines) && text == s.drawn {
		return
	}
	text, s.drawn = s.eraseText()+text, text
	s.shown = len(s.lines)
	_, _ = io.WriteString(s.status, text) // an error means that the terminal went away; the job goes on
}

func (s *Screen) clearLines() {
	if s.status == nil || s.shown == 0 {
		return
	}
	text := s.eraseText()
	s.shown = 0
	_, _ = io.WriteString(s.status, text)
}

// eraseText takes the cursor, which stands behind the last line, back to the
// beginning of the first, with nothing below it.
func (s *Screen) eraseText() string {
	if s.shown == 0 {
		return ""
	}
	text := "\r\x1b[K"
	for range s.shown - 1 {
		text += "\x1b[1A\x1b[K"
	}
	return text
}
