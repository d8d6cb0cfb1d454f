package checkpointtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"golang.org/x/sys/unix"
)

// attemptFixture is where a program runs: as an attempt's folder with its agent.
type attemptFixture struct {
	t       *testing.T
	fixture Fixture
	program *checkpoint.Program
	out     *stream
	err     *stream
	run     checkpoint.Run
}

// newPlace is a place with the suite's programs in its work folder.
func newPlace(t *testing.T, f Fixture, name string, args ...string) *attemptFixture {
	t.Helper()
	top := t.TempDir()
	// Whoever the program runs as must reach it.
	for dir := top; strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pl := &attemptFixture{t: t, fixture: f, out: newStream(t), err: newStream(t)}
	pl.program = &checkpoint.Program{
		Argv: append([]string{"./program", argument, name}, args...),
		// A test binary with the race detector waits a second before it ends.
		Env: []string{"PATH=/usr/bin:/bin", "SUITE=yes", "GORACE=atexit_sleep_ms=0"},
		Dir: filepath.Join(top, "work"), Scratch: filepath.Join(top, "scratch"),
		Stdout: pl.out.w, Stderr: pl.err.w,
		Mark: "suite-" + rand.Text(),
	}
	switch f.Way {
	case Ends, GoesOn:
		pl.program.Signal, pl.program.Files = "USR1", []string{stateFile}
	case Itself:
		pl.program.Files = []string{stateFile}
	}
	for _, dir := range []string{pl.program.Dir, pl.program.Scratch} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pl.program.Dir, "program"), self, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pl.cleanUp)
	return pl
}

// cleanUp ends what still runs, and fails if anything is left after that.
func (pl *attemptFixture) cleanUp() {
	if pl.run != nil {
		pl.run.KillProgram()
	}
	pl.nothingLeft()
	proctree.TreeOf(pl.program.Mark).Close()
	pl.out.closeStream()
	pl.err.closeStream()
}

func (pl *attemptFixture) nothingLeft() {
	pl.t.Helper()
	if pids, err := proctree.MarkedProcesses(pl.program.Mark); err != nil || len(pids) > 0 {
		pl.t.Errorf("left behind: %v, %v", pids, err)
	}
	if pl.run != nil && isAlive(pl.run.RootPID()) {
		pl.t.Errorf("process %d is left behind", pl.run.RootPID())
	}
}

// isAlive reports whether a process lives; one that nobody has waited for yet does
// not.
func isAlive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text[bytes.LastIndexByte(text, ')'):]), " ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// startProgram runs the program.
func (pl *attemptFixture) startProgram(image string) {
	pl.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), pl.fixture.Wait)
	defer cancel()
	run, err := pl.fixture.Method.StartProgram(ctx, pl.program, image)
	if err != nil {
		pl.t.Fatalf("start: %v", err)
	}
	pl.run = run
}

// awaitEnd waits for the end.
func (pl *attemptFixture) awaitEnd() checkpoint.Result {
	pl.t.Helper()
	select {
	case <-pl.run.Done():
	case <-time.After(pl.fixture.Wait):
		pl.t.Fatalf("the program does not end; it has written %d bytes", pl.out.textSize())
	}
	pl.out.drainAll()
	pl.err.drainAll()
	return pl.run.Result()
}

// saved is what a save leaves: image, work folder and output until then.
type saved struct {
	image, work string
	out, err    []byte
}

// saveProgram saves the program as an agent does.
func (pl *attemptFixture) saveProgram(stop bool, frozen func() error) (*saved, error) {
	pl.t.Helper()
	top := pl.t.TempDir()
	s := &saved{image: filepath.Join(top, "image"), work: filepath.Join(top, "work")}
	if err := os.Mkdir(s.image, 0o755); err != nil {
		pl.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), pl.fixture.Wait)
	defer cancel()
	calls := 0
	err := pl.run.SaveImage(ctx, s.image, stop, func() error {
		calls++
		s.out, s.err = pl.out.drainAll(), pl.err.drainAll()
		if err := copyTree(pl.program.Dir, s.work); err != nil {
			return err
		}
		if frozen != nil {
			return frozen()
		}
		return nil
	})
	if err == nil && calls != 1 {
		pl.t.Errorf("frozen was called %d times", calls)
	}
	return s, err
}

func (pl *attemptFixture) mustSave(stop bool) *saved {
	pl.t.Helper()
	s, err := pl.saveProgram(stop, nil)
	if err != nil {
		pl.t.Fatalf("save: %v", err)
	}
	return s
}

// continueElsewhere is another place in which a saved program runs on.
func (pl *attemptFixture) continueElsewhere(s *saved) *attemptFixture {
	pl.t.Helper()
	next := newPlace(pl.t, pl.fixture, "")
	next.program.Argv = pl.program.Argv
	if err := errors.Join(os.RemoveAll(next.program.Dir), copyTree(s.work, next.program.Dir)); err != nil {
		pl.t.Fatal(err)
	}
	next.out.setText(s.out)
	next.err.setText(s.err)
	next.startProgram(s.image)
	return next
}

// awaitLines waits until the program has printed so many lines.
func (pl *attemptFixture) awaitLines(lines int) {
	pl.t.Helper()
	pl.waitFor(fmt.Sprintf("%d lines", lines), func() bool { return pl.countLines() >= lines })
}

// awaitMoreLines waits until a program of so many steps as are usual has printed so many
// more lines, or all but the last, for which it waits to be let go.
func (pl *attemptFixture) awaitMoreLines(lines int) {
	pl.t.Helper()
	pl.awaitLines(min(pl.countLines()+lines, steps-1))
}

func lastBytes(text []byte) []byte { return text[max(0, len(text)-100):] }

func (pl *attemptFixture) countLines() int { return bytes.Count(pl.out.copyText(), []byte("\n")) }

func (pl *attemptFixture) waitFor(what string, ok func() bool) {
	pl.t.Helper()
	clocktest.PollLoop{Limit: pl.fixture.Wait, Pause: 2 * time.Millisecond}.WaitFor(pl.t, what, ok, func() string {
		return fmt.Sprintf("stdout ends in %q, stderr in %q", lastBytes(pl.out.copyText()), lastBytes(pl.err.copyText()))
	})
}

// copyTree copies a folder of files and folders, with times.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case !d.Type().IsRegular():
			return nil
		}
		r, err := os.Open(path)
		if err != nil {
			return err
		}
		defer r.Close() //nolint:errcheck // opened for reading
		w, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, info.Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(w, r)
		return errors.Join(err, w.Close(), os.Chtimes(target, info.ModTime(), info.ModTime()))
	})
}

// stream reads a pipe, as an agent does.
type stream struct {
	r    int // os.File would make it block
	w    *os.File
	gone chan struct{}

	mu   sync.Mutex
	text []byte
	shut bool
}

func newStream(t *testing.T) *stream {
	t.Helper()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	s := &stream{r: fds[0], w: os.NewFile(uintptr(fds[1]), "write"), gone: make(chan struct{})}
	go s.readLoop()
	return s
}

func (s *stream) readLoop() {
	defer close(s.gone)
	for s.readAvailable() {
		time.Sleep(time.Millisecond)
	}
}

// readAvailable reads what is there; false when the pipe is closed here.
func (s *stream) readAvailable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(s.r, buf)
		if n <= 0 || err != nil {
			return true
		}
		s.text = append(s.text, buf[:n]...)
	}
}

// drainAll reads all that was written so far and returns everything read.
func (s *stream) drainAll() []byte {
	s.readAvailable()
	return s.copyText()
}

func (s *stream) copyText() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.text)
}

func (s *stream) textSize() int { return len(s.copyText()) }

// setText is what was printed elsewhere before.
func (s *stream) setText(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = bytes.Clone(text)
}

// shutRead closes the end that is read from.
func (s *stream) shutRead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shut {
		s.shut = true
		unix.Close(s.r) //nolint:errcheck // only read from
	}
}

func (s *stream) closeStream() {
	s.shutRead()
	<-s.gone
	s.w.Close() //nolint:errcheck // never written to here
}
