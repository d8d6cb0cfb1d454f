package measure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Placeholder is what stands for the size in a command.
const Placeholder = "{n}"

// Program is a command whose arguments contain the size.
type Program struct {
	Argv []string
	Dir  string // where it runs; "": here
	// Slowness is how much longer than in its best moments a CPU needs for the same
	// work just now, above 0; nil: nobody can tell.
	Slowness func(cpu int) (float64, error)
}

// commandAt is the command for one size.
func (p Program) commandAt(size float64) []string {
	argv := make([]string, len(p.Argv))
	for i, a := range p.Argv {
		argv[i] = strings.ReplaceAll(a, Placeholder, strconv.FormatFloat(size, 'f', -1, 64))
	}
	return argv
}

// FailedError is a program that did not end well, so that its counts mean
// nothing.
type FailedError struct {
	Argv []string
	How  string // "exit code 3"
	Last string // the last lines that it wrote
}

func (e *FailedError) Error() string {
	s := fmt.Sprintf("%s failed: %s", strings.Join(e.Argv, " "), e.How)
	if e.Last != "" {
		s += "\n" + e.Last
	}
	return s
}

// tail keeps the end of what is written to it.
type tail struct{ kept []byte }

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if n := len(t.kept); n > 2*tailBytes {
		t.kept = append(t.kept[:0], t.kept[n-tailBytes:]...)
	}
	return len(p), nil
}

// lastLines are the last lines that were written.
func (t *tail) lastLines(n int) string {
	all := bytes.Split(bytes.TrimSpace(t.kept), []byte("\n"))
	return strings.ToValidUTF8(string(bytes.Join(all[max(0, len(all)-n):], []byte("\n"))), "?")
}

// native is what one undisturbed run of a program used.
type native struct {
	cpu    time.Duration
	faults int64 // pages that it touched for the first time
}

// runCommand runs a command to its end. start, if given, starts it in place of Start.
// Whoever started it is named as argv in errors.
func runCommand(ctx context.Context, argv, named []string, dir string, start func(*exec.Cmd) error) (native, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...) // the user's own program
	out := new(tail)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	// Children are ended with it, and it ends with us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(cmd); err != nil {
		return native{}, &FailedError{Argv: named, How: err.Error()}
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return native{}, context.Cause(ctx)
	}
	if err != nil {
		return native{}, &FailedError{Argv: named, How: exitReason(err), Last: out.lastLines(5)}
	}
	used, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if used == nil {
		return native{}, errors.New("this system does not tell what a process used")
	}
	return native{cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), faults: used.Minflt}, nil
}

func exitReason(err error) string {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return err.Error()
	}
	if s, ok := e.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return "killed by " + unix.SignalName(s.Signal())
	}
	return "exit code " + strconv.Itoa(e.ExitCode())
}

// isInstalled says whether a command is installed.
func isInstalled(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// makeScratch makes a folder for the files of one run.
func makeScratch() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "godwit-measure-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}
