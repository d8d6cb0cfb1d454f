package checkpointtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
)

func runsAsAsked(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "surroundings", "one", "two words", "")
	pl.startProgram("")
	if pl.run.RootPID() <= 0 {
		t.Errorf("the root is %d", pl.run.RootPID())
	}
	r := pl.awaitEnd()
	if r.Code != 0 || r.Signal != 0 || r.Saved || r.Lost || r.CPU <= 0 {
		t.Errorf("ended with %+v, stderr %q", r, pl.err.copyText())
	}
	out, inside := string(pl.out.copyText()), ""
	if n, err := fmt.Sscanf(out, "one|two words| yes %s\n", &inside); n != 1 || err != nil {
		t.Errorf("stdout %q, %v", out, err)
	}
	if filepath.Base(inside) != filepath.Base(pl.program.Dir) && f.Way != Transparent {
		t.Errorf("it runs in %s", inside)
	}
	if string(pl.err.copyText()) != "to stderr\n" {
		t.Errorf("stderr %q", pl.err.copyText())
	}
}

func tellsExitCodes(t *testing.T, f Fixture) {
	for _, c := range []struct {
		name string
		n    int
		want checkpoint.Result
	}{
		{"exit", 0, checkpoint.Result{}},
		{"exit", 7, checkpoint.Result{Code: 7}},
		{"exit", 255, checkpoint.Result{Code: 255}},
		{"signal", 2, checkpoint.Result{Code: 130, Signal: 2}},
		{"signal", 9, checkpoint.Result{Code: 137, Signal: 9}},
		{"signal", 15, checkpoint.Result{Code: 143, Signal: 15}},
	} {
		pl := newPlace(t, f, c.name, strconv.Itoa(c.n))
		pl.startProgram("")
		got := pl.awaitEnd()
		if c.n == int(syscall.SIGKILL) && f.Way == Transparent {
			got.Lost = false // a sandbox may not see whether that came from inside
		}
		if got.Code != c.want.Code || got.Signal != c.want.Signal || got.Saved || got.Lost {
			t.Errorf("%s %d: %+v", c.name, c.n, got)
		}
	}
}

func saysWhyNot(t *testing.T, f Fixture) {
	for _, c := range []struct {
		what string
		code int
		argv []string
		make func(dir string) error
	}{
		{"not in PATH", 127, []string{"no-such-program-anywhere"}, nil},
		{"no such file", 127, []string{"./missing"}, nil},
		{"not executable", 126, []string{"./plain"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "plain"), []byte("\x00\x01"), 0o644)
		}},
		{"a folder", 126, []string{"./folder"},
			func(dir string) error { return os.Mkdir(filepath.Join(dir, "folder"), 0o755) }},
		{"not a program", 126, []string{"./noise"}, func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "noise"), []byte("\x00\x01\x02\x03"), 0o755)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			pl := newPlace(t, f, "")
			pl.program.Argv = c.argv
			if c.make != nil {
				if err := c.make(pl.program.Dir); err != nil {
					t.Fatal(err)
				}
			}
			run, err := f.Method.StartProgram(context.Background(), pl.program, "")
			var launch *checkpoint.LaunchError
			if !errors.As(err, &launch) || launch.Code != c.code ||
				!strings.Contains(launch.Why, strings.TrimPrefix(c.argv[0], "./")) {
				t.Errorf("%v (%T), want code %d and the name of the program", err, err, c.code)
			}
			if run != nil && err == nil {
				pl.run = run
			}
		})
	}
}

// countingArgs are the arguments of the counting program.
func (f Fixture) countingArgs(steps int) []string {
	return []string{strconv.Itoa(steps), string(f.Way)}
}

// checkOutput lets a counting program end and checks its output.
func (pl *attemptFixture) checkOutput(steps int) {
	pl.t.Helper()
	if err := os.WriteFile(filepath.Join(pl.program.Dir, goFile), nil, 0o644); err != nil {
		pl.t.Fatal(err)
	}
	r := pl.awaitEnd()
	if r.Code != 0 || r.Saved || r.Lost {
		pl.t.Errorf("ended with %+v", r)
	}
	out, errs := expectedOutput(steps)
	pl.compareOutput("stdout", pl.out.copyText(), out)
	pl.compareOutput("stderr", pl.err.copyText(), errs)
	log, err := os.ReadFile(filepath.Join(pl.program.Dir, logFile))
	if err != nil {
		pl.t.Error(err)
	}
	if string(log) != out {
		pl.t.Errorf("the file has %d bytes, want %d%s", len(log), len(out), describeDifference(string(log), out))
	}
}

// compareOutput compares output. A program that goes on after saving itself may print
// again what it printed before it was stopped.
func (pl *attemptFixture) compareOutput(what string, got []byte, want string) {
	pl.t.Helper()
	text := string(got)
	if pl.fixture.Way == GoesOn {
		text = withoutRepeats(text, want)
	}
	if text != want {
		pl.t.Errorf("%s has %d bytes, want %d%s", what, len(text), len(want), describeDifference(text, want))
	}
}

// withoutRepeats leaves out lines that stand in the text before, as long as the
// text goes on from there as it should.
func withoutRepeats(got, want string) string {
	place := map[string]int{}
	for i, line := range strings.SplitAfter(want, "\n") {
		place[line] = i
	}
	var b strings.Builder
	next := 0
	for _, line := range strings.SplitAfter(got, "\n") {
		if i, ok := place[line]; ok && i < next {
			continue
		}
		next++
		b.WriteString(line)
	}
	return b.String()
}

func describeDifference(got, want string) string {
	n := 0
	for n < len(got) && n < len(want) && got[n] == want[n] {
		n++
	}
	return fmt.Sprintf("; from byte %d on %.80q, want %.80q", n, got[n:], want[n:])
}

func testUndisturbed(t *testing.T, f Fixture) {
	const steps = 150 // those that save themselves do so on the way
	pl := newPlace(t, f, "count", f.countingArgs(steps)...)
	pl.startProgram("")
	pl.checkOutput(steps)
	pl.nothingLeft()
}

func closedPipe(t *testing.T, f Fixture) {
	pl := newPlace(t, f, "write")
	pl.startProgram("")
	pl.awaitLines(3)
	// The write end must be the program's alone.
	pl.out.shutRead()
	r := pl.awaitEnd()
	if r.Signal != int(syscall.SIGPIPE) || r.Code != 128+int(syscall.SIGPIPE) {
		t.Errorf("ended with %+v, stderr %q", r, pl.err.copyText())
	}
	if bytes.Count(pl.err.copyText(), nil) > 1 {
		t.Errorf("stderr %q", pl.err.copyText())
	}
}

func forkBomb(t *testing.T, f Fixture) {
	const most = 30
	pl := newPlace(t, f, "bomb", "150")
	pl.program.Limits.Processes = most
	pl.startProgram("")
	pl.awaitLines(1)
	time.Sleep(300 * time.Millisecond)
	pl.run.KillProgram() // if it has not been ended already
	pl.awaitEnd()
	pl.nothingLeft()
}
