package job

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/cli/term"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/report/progress"
)

const (
	// sendNoticeDelay is how long sending may take before it is shown.
	sendNoticeDelay = 2 * time.Second
	// sendInterval is how often the line is written anew.
	sendInterval = 200 * time.Millisecond
	// largeWorkdir is a size from which on the ignore file is worth a word.
	largeWorkdir = 1 << 30
)

// sending shows how far the working directory has been sent: on a terminal in a
// line that is kept up to date, elsewhere in one line with its size.
type sending struct {
	app      *app
	dir      string
	terminal bool
	begun    time.Time
	last     time.Time
	first    int64 // bytes that were there from the beginning
	shown    bool
}

func newSending(a *app, dir string) *sending {
	return &sending{app: a, dir: dir, terminal: progress.IsTerminal(a.Stderr), begun: a.Now(), first: -1}
}

// showProgress hears how many bytes of all are sent.
func (s *sending) showProgress(done, total int64) {
	now := s.app.Now()
	if s.first < 0 {
		s.first = done
	}
	if now.Sub(s.begun) < sendNoticeDelay || now.Sub(s.last) < sendInterval || !s.terminal && s.shown {
		return
	}
	if !s.shown && total >= largeWorkdir {
		s.app.SayLine(fmt.Sprintf("the working directory %s has %s; list in %s what need not be sent", s.dir,
			term.BytesText(total), ignoreFile))
	}
	s.last, s.shown = now, true
	text := sendingText(s.dir, done, total, float64(done-s.first)/now.Sub(s.begun).Seconds())
	if s.terminal {
		_, _ = fmt.Fprintf(s.app.Stderr, "\r\x1b[K%s", term.ShortenText("godwit: "+text, term.WidthOf(s.app.Stderr, 80)-1))
		return
	}
	s.app.SayLine(text)
}

func sendingText(dir string, done, total int64, rate float64) string {
	return fmt.Sprintf("sending %s: %s of %s, %s/s", dir, term.BytesText(done), term.BytesText(total),
		term.BytesText(int64(rate)))
}

// clearLine takes the line away.
func (s *sending) clearLine() {
	if s.terminal && s.shown {
		_, _ = fmt.Fprint(s.app.Stderr, "\r\x1b[K")
	}
}

// checkWorkdir refuses to send a home directory, or one of all users, that nobody
// asked for: it is where the command happened to be typed.
func (a *app) checkWorkdir(job *jobfile.Job) error {
	if job.Workdir == "" || job.WorkdirGiven {
		return nil
	}
	what := ""
	home, err := os.UserHomeDir()
	switch dir := filepath.Clean(job.Workdir); {
	case dir == "/":
		what = "the root directory"
	case err == nil && dir == filepath.Clean(home):
		what = "your home directory"
	case dir == "/tmp" || dir == "/var/tmp":
		what = "the directory of everybody's temporary files"
	default:
		return nil
	}
	return &badinput.Error{Field: "workdir", Value: job.Workdir,
		Problem: "this is " + what + ", which would be sent along; choose another with --workdir DIR, none with --workdir " +
			"none, or this one with --workdir ."}
}
