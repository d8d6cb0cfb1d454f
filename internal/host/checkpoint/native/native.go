// Package native is the checkpoint methods of programs that run as they are,
// without a sandbox, and save themselves if they can.
//
// signal: the program writes the named files when it gets a signal, and ends or
// goes on. The signal goes to the topmost processes that have a handler for it,
// once there are some: a program without one is not ended by being saved. The
// save is complete when the program has ended and the files are there, at least
// one of them written since the signal. If it goes on, every one of them must
// have been written since the signal, and none be open for writing (or, where a
// program keeps one open, none have changed for a second). A program should
// therefore write to another name and rename, and its last file last. Whether it is
// going to end or goes on cannot be seen at first: it is given some seconds to
// end, its first time, and if it ends within ten times that it is taken to have
// ended because it had saved itself, and is continued. What it did is
// remembered, also in images. One that is known to go on is stopped a fraction
// of a millisecond after it has written its files. What it prints between writing them and being
// stopped is printed again
// when it continues from them, and what it has not flushed is lost: only a
// program that ends after writing is continued to the byte.
//
// exit85: HTCondor's convention. The program writes its files whenever it likes
// and ends with exit code 85; they are taken and it is started again, in the
// same folder. If a signal is named, it is sent to ask for that (as HTCondor's
// checkpoint signal is); without one a save waits for the program. If no files
// are named the whole work folder is what the program saved.
//
// srs: the program has registered its data with SRS and writes them when the page of the program
// interface says so, each process a part; the map, written last, says that all is there. It ends
// then, if it is to stop, or stands still until the parts are taken. docs/program-protocol.md
// describes the files.
//
// restart: the program cannot be saved, only started again from the beginning.
//
// A program has ended when its last process has, daemons included; its exit
// code is that of its first. The package must not know of brokers, depots or
// predictions.
package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"golang.org/x/sys/unix"
)

// Options are how programs are treated, the same for all methods.
type Options struct {
	Grace    time.Duration // between SIGTERM and SIGKILL in KillProgram; 0: 5 s; negative: no SIGTERM
	Patience time.Duration // for a program to end after it has written its files, its first time; 0: 3 s
	Clock    clock.Clock   // nil: the machine's
}

type kind string

const (
	bySignal  kind = "signal"
	byExit85  kind = "exit85"
	bySRS     kind = "srs"
	byRestart kind = "restart"
)

// SavedItself is the exit code with which a program of method exit85 says that
// it has saved itself.
const SavedItself = 85

// SignalMethod is the method for programs that save themselves when signalled.
func SignalMethod(o Options) checkpoint.Method { return method{bySignal, o} }

// ExitMethod is the method for programs that save themselves when they like. Its
// runs are checkpoint.SelfSavers.
func ExitMethod(o Options) checkpoint.Method { return method{byExit85, o} }

// RestartMethod is the method for programs that cannot be saved.
func RestartMethod(o Options) checkpoint.Method { return method{byRestart, o} }

type method struct {
	kind    kind
	options Options
}

// Name is what job files call the method.
func (m method) Name() string { return string(m.kind) }

// StartProgram runs the program, from the beginning or from an image.
func (m method) StartProgram(ctx context.Context, p *checkpoint.Program, image string) (checkpoint.Run, error) {
	o := m.options
	if o.Clock == nil {
		o.Clock = clock.RealClock()
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 3 * time.Second
	}
	r := &run{kind: m.kind, options: o, program: p, tree: proctree.TreeOf(p.Mark),
		killing: make(chan struct{}), done: make(chan struct{})}
	if err := r.readSettings(); err != nil {
		return nil, err
	}
	switch r.signal {
	case unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT:
		r.habit = ends // nobody goes on after these
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv := p.Argv
	if image != "" {
		if m.kind == byRestart {
			return nil, fmt.Errorf("the method %s has no images", m.kind)
		}
		if m.kind != bySRS {
			saved, err := r.files.restoreImage(image, string(m.kind))
			if err != nil {
				return nil, err
			}
			r.habit = saved.Habit
		}
		argv = r.restartCommand()
	}
	if err := r.assignLimits(); err != nil {
		return nil, err
	}
	if m.kind == bySRS {
		if err := r.prepareSRS(image); err != nil {
			return nil, err
		}
	}
	r.before = r.tree.ReadUsage().CPU
	if err := r.startProcess(argv); err != nil {
		return nil, err
	}
	go r.attendProgram()
	if r.count > 0 {
		go r.watchCount()
	}
	if m.kind == byExit85 {
		return selfSaver{r}, nil
	}
	return r, nil
}

// readSettings reads what the job says of how the program saves itself.
func (r *run) readSettings() (err error) {
	if r.kind == byRestart || r.kind == bySRS {
		return nil
	}
	p := r.program
	if r.files, err = newNamed(p.Dir, p.Files); err != nil {
		return err
	}
	if r.kind == bySignal && (p.Signal == "" || len(p.Files) == 0) {
		return errors.New("to be saved by a signal, a program needs to be known by that signal and by the files it writes")
	}
	if p.Signal != "" {
		r.signal, err = parseSignal(p.Signal)
	}
	return err
}

// parseSignal reads USR1, SIGUSR1 or 10.
func parseSignal(s string) (syscall.Signal, error) {
	name := strings.ToUpper(s)
	sig := unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG"))
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n <= 64 {
		sig = syscall.Signal(n)
	}
	switch sig {
	case 0:
		return 0, fmt.Errorf("%q is not the name of a signal", s)
	case unix.SIGKILL, unix.SIGSTOP:
		return 0, fmt.Errorf("a program cannot do anything when it gets the signal %s", s)
	}
	return sig, nil
}

// habit is what a program does when it has saved itself at a signal.
type habit string

const (
	unknown habit = ""
	ends    habit = "ends"
	goesOn  habit = "goes on"
)

// patienceFor is how long a program is given to end after it has written its
// files, and probation how long one that did not may still do so.
func (r *run) patienceFor() (patience, probation time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch p := r.options.Patience; r.habit {
	case ends:
		return 10 * p, 10 * p
	case goesOn:
		return 0, 0
	default:
		return p, 10 * p
	}
}

// processMargin is added to a limit on processes that the kernel counts over
// all of a user's: others of the user come and go. Before it is reached we
// count ourselves.
const processMargin = 1000

// assignLimits decides who keeps which limit: the cgroup, the kernel for each
// process, or we.
func (r *run) assignLimits() error {
	p := r.program
	l := p.Limits
	if p.Cgroup != "" {
		g, err := cgroup.OpenGroup(p.Cgroup)
		if err != nil {
			return err
		}
		r.group = g
		if g.HasController("memory") {
			l.Memory = 0
		}
		if g.HasController("pids") {
			l.Processes = 0
		}
	}
	if l.Processes > 0 {
		r.count = l.Processes
		l.Processes += processMargin
	}
	r.spec = proctree.Spec{Env: p.Env, Dir: p.Dir, Stdout: p.Stdout, Stderr: p.Stderr, CPUs: p.CPUs, Limits: l,
		Cgroup: r.group}
	return nil
}

// restartCommand is the command that runs on from the saved files.
func (r *run) restartCommand() []string {
	if len(r.program.Restart) > 0 {
		return r.program.Restart
	}
	return r.program.Argv
}

// mustBeEmpty is for the folder of an image.
func mustBeEmpty(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("the folder for the image: %w", err)
	}
	if len(list) > 0 {
		return fmt.Errorf("the folder for the image, %s, is not empty", filepath.Base(dir))
	}
	return nil
}
