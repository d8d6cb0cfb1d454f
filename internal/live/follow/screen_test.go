package follow

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// terminal is what a terminal shows after the bytes written to it: as much of one
// as the screen uses.
func terminal(written string) string {
	rows := []string{""}
	for len(written) > 0 {
		at := len(rows) - 1
		switch {
		case strings.HasPrefix(written, "\r\x1b[K"):
			rows[at], written = "", written[4:]
		case strings.HasPrefix(written, "\x1b[1A\x1b[K"):
			rows, written = rows[:at], written[7:]
			rows[at-1] = ""
		case written[0] == '\n':
			rows, written = append(rows, ""), written[1:]
		default:
			rows[at] += written[:1]
			written = written[1:]
		}
	}
	return strings.Join(rows, "\n")
}

func TestTheLinesStepAsideForTheOutputAndAreGoneAtTheEnd(t *testing.T) {
	var tty bytes.Buffer
	s := NewScreen(&tty)
	out := s.ShareWith(&tty)
	s.ShowLines([]string{"a", "b"})
	fmt.Fprint(out, "one\n")
	s.ShowLines([]string{"c", "d"})
	if got := terminal(tty.String()); got != "one\nc\nd" {
		t.Errorf("%q", got)
	}
	s.SayLine(&tty, "moved")
	fmt.Fprint(out, "tw")
	s.ShowLines([]string{"e"}) // not in the middle of a line
	if got := terminal(tty.String()); got != "one\nmoved\ntw" {
		t.Errorf("%q", got)
	}
	s.SayLine(&tty, "saved")
	fmt.Fprint(out, "o\nthree\n")
	s.ShowLines([]string{"e"})
	s.Close()
	if got := terminal(tty.String()); got != "one\nmoved\ntw\nsaved\no\nthree\n" {
		t.Errorf("%q", got)
	}
}

func TestWithoutATerminalThereAreNoLines(t *testing.T) {
	var out, msg bytes.Buffer
	s := NewScreen(nil)
	fmt.Fprint(s.ShareWith(&out), "one")
	s.ShowLines([]string{"a"})
	s.SayLine(&msg, "moved")
	s.Close()
	if out.String() != "one" || msg.String() != "moved\n" {
		t.Errorf("%q %q", out.String(), msg.String())
	}
}
