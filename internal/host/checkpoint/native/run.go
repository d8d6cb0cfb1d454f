package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"golang.org/x/sys/unix"
)

// run is a program that runs: one process after another if it ends to save
// itself.
type run struct {
	kind    kind
	options Options
	program *checkpoint.Program
	tree    *proctree.Tree
	group   *cgroup.Group
	spec    proctree.Spec
	files   named
	srs     srsFolder
	signal  syscall.Signal
	count   int           // of processes that we see to ourselves; 0: no limit
	before  time.Duration // what the tree had used when it began

	saving  sync.Mutex    // held by SaveImage
	killing chan struct{} // closed by KillProgram
	done    chan struct{}

	mu      sync.Mutex
	process *proctree.Process
	began   time.Time // of that process
	killed  bool      // by KillProgram
	saved   bool      // a SaveImage that stops has an image
	why     string    // what is to be said of its end
	habit   habit
	asked   *watch         // since it was signalled and may end for that reason
	waiting chan *standing // of a SaveImage that waits for the program to end
	still   *standing
	self    chan struct{} // nil: nobody wants to know
	result  checkpoint.Result
}

// standing is a program that has saved itself, has ended, and is to be
// continued or not.
type standing struct {
	taken   bool // somebody decides
	goesOn  chan bool
	resumed chan struct{} // closed when it runs on, or has ended
}

var (
	_ checkpoint.Run       = (*run)(nil)
	_ checkpoint.Suspender = (*run)(nil)
)

// SuspendProgram stops all processes of the program.
func (r *run) SuspendProgram(ctx context.Context) error { return r.tree.StopAll(ctx) }

// ContinueProgram lets them run on.
func (r *run) ContinueProgram() error {
	r.tree.ContinueAll()
	return nil
}

// startProcess starts the next process. The lock need not be held.
func (r *run) startProcess(argv []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return errEnded
	}
	spec := r.spec
	spec.Argv = argv
	if r.program.Stdin != "" {
		in, err := os.Open(filepath.Join(r.program.Dir, r.program.Stdin))
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }() // the program has its own
		spec.Stdin = in
	}
	p, err := r.tree.Start(spec)
	if err != nil {
		return err
	}
	r.process, r.began = p, r.options.Clock()
	return nil
}

// minLife is how long a process that saves itself must have run, so that one
// which does nothing else does not keep the machine busy.
const minLife = 50 * time.Millisecond

// attendProgram sees the program through to its end.
func (r *run) attendProgram() {
	for {
		exit, savedItself := r.awaitEnd()
		if !savedItself {
			r.recordResult(exit)
			return
		}
		st, goesOn := r.awaitDecision()
		if goesOn {
			select {
			case <-time.After(minLife - r.options.Clock.Since(r.began)):
			case <-r.killing:
			}
			if err := r.startProcess(r.restartCommand()); err != nil {
				r.notContinued(err)
				goesOn = false
			}
		}
		close(st.resumed)
		if !goesOn {
			r.recordResult(exit)
			return
		}
	}
}

// awaitEnd waits for the program to end: all of it, or its first process with the
// rest to be cleared away if it has saved itself.
func (r *run) awaitEnd() (exit proctree.Exit, savedItself bool) {
	<-r.process.Done()
	exit = r.process.ExitStatus()
	if r.savedItself(exit) {
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if r.tree.WaitEmpty(soon) != nil {
			r.endProcesses(-1)
		}
		return exit, true
	}
	_ = r.tree.WaitEmpty(context.Background()) // cannot fail
	return exit, r.savedItself(exit)
}

// savedItself reports whether the program has ended because it has saved itself.
func (r *run) savedItself(exit proctree.Exit) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed || r.saved {
		return false
	}
	switch r.kind {
	case bySRS:
		return r.srs.hasLeft()
	case byExit85:
		if exit.Code != SavedItself || exit.Signal != 0 {
			return false
		}
		if lacks := r.files.lackingFiles(r.files.observeFiles()); lacks != "" {
			r.why = fmt.Sprintf("it said, with exit code %d, that it had saved itself, but %s", SavedItself, lacks)
			return false
		}
		return true
	case bySignal:
		if r.asked == nil {
			return false
		}
		now := r.files.observeFiles()
		unwritten := r.files.unwrittenPatterns(r.asked.before, now, nil)
		lacks := r.files.lackingFiles(now)
		if lacks == "" && len(unwritten) < len(r.files.patterns) {
			r.asked, r.habit = nil, ends
			return true
		}
		if exit.Code != 0 {
			if lacks == "" {
				lacks = unwritten[0] + " was not written"
			}
			r.why = fmt.Sprintf("it ended after the signal %s, by which it was to save itself, but %s",
				unix.SignalName(r.signal), lacks)
		}
	}
	return false
}

// awaitDecision waits until it is decided whether a program that has saved itself goes
// on.
func (r *run) awaitDecision() (st *standing, goesOn bool) {
	st = &standing{goesOn: make(chan bool, 1), resumed: make(chan struct{})}
	r.mu.Lock()
	r.still = st
	switch {
	case r.waiting != nil:
		st.taken = true
		r.waiting <- st
		r.waiting = nil
	case r.self != nil:
		select {
		case r.self <- struct{}{}:
		default: // the last time was not noticed either
		}
	default:
		st.goesOn <- true
	}
	r.mu.Unlock()
	select {
	case goesOn = <-st.goesOn:
	case <-r.killing:
	}
	r.mu.Lock()
	r.still = nil
	r.mu.Unlock()
	return st, goesOn
}

// notContinued notes that a program which has saved itself could not be started
// again.
func (r *run) notContinued(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var launch *checkpoint.LaunchError
	switch {
	case r.killed:
	case errors.As(err, &launch):
		r.result = checkpoint.Result{Code: launch.Code, Why: "it has saved itself but could not be started again: " +
			launch.Why}
	default:
		r.result = checkpoint.Result{Lost: true, Why: "it has saved itself but could not be started again: " + err.Error()}
	}
}

// recordResult says how it ended, when nothing of it is left.
func (r *run) recordResult(exit proctree.Exit) {
	cpu := r.tree.ReadUsage().CPU - r.before
	r.mu.Lock()
	res := &r.result
	switch {
	case r.saved:
		*res = checkpoint.Result{Saved: true}
	case res.Why != "": // known already
	default:
		*res = checkpoint.Result{Code: exit.Code, Signal: exit.Signal, Why: r.why}
		if r.asked != nil && exit.Signal == int(r.signal) && !r.killed {
			// It had a handler, or it would not have been signalled: perhaps
			// that was somebody else's, before it was executed.
			res.Lost = true
			res.Why = fmt.Sprintf("it was ended by the signal %s, by which it was to save itself", unix.SignalName(r.signal))
		}
		if r.killed && res.Code == SavedItself && r.kind == byExit85 {
			*res = checkpoint.Result{Code: 128 + int(unix.SIGKILL), Signal: int(unix.SIGKILL), Why: r.why}
		}
	}
	res.CPU = cpu
	r.mu.Unlock()
	close(r.done)
}

// RootPID is the first process of the program; others may have taken its place
// when it has ended.
func (r *run) RootPID() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process.Pid
}

// Done is closed when nothing is left.
func (r *run) Done() <-chan struct{} { return r.done }

// Result is valid once Done is closed.
func (r *run) Result() checkpoint.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

// KillProgram ends the program.
func (r *run) KillProgram() {
	r.killWithReason("", r.options.Grace)
	<-r.done
}

// TerminateProgram lets the program end by itself, within a time of grace.
func (r *run) TerminateProgram(grace time.Duration) {
	if grace <= 0 {
		grace = -1
	}
	r.killWithReason("", grace)
	<-r.done
}

func (r *run) killWithReason(why string, grace time.Duration) {
	r.mu.Lock()
	if !r.killed {
		r.killed = true
		close(r.killing)
		if why != "" {
			r.why = why
		}
	}
	r.mu.Unlock()
	r.endProcesses(grace)
}

// endProcesses ends all processes there are, and does not return before.
func (r *run) endProcesses(grace time.Duration) {
	for r.tree.KillAll(context.Background(), grace) != nil {
		// One that is not ours to kill, as of a program that became another
		// user. It may end by itself.
		time.Sleep(time.Second)
		grace = -1
	}
}

// watchCount ends a program that has too many processes.
func (r *run) watchCount() {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-tick.C:
		}
		if n := r.tree.ReadUsage().Processes; n > r.count {
			r.killWithReason(fmt.Sprintf("it was ended because it had %d processes; its limit is %d", n, r.count), -1)
			return
		}
	}
}
