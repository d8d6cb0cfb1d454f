package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// exitTimeout is how long a supervisor that was asked to end its program is given
// before it is killed with it. It needs a few milliseconds.
const exitTimeout = 3 * time.Second

// stopTries is how often, a millisecond apart, it is looked whether a supervisor has stopped: a thread may be in a call
// that cannot be interrupted.
const stopTries = 1000

// run is a program in a sandbox.
type run struct {
	cmd    *exec.Cmd
	line   *line
	cell   cell
	sums   sums
	meter  meter
	saving sync.Mutex // held by SaveImage and whatever else moves the state of GPUs

	vacated bool // the program has left its GPUs; under saving

	started chan message // running or failed
	exited  chan struct{}
	done    chan struct{}

	mu     sync.Mutex
	parts  []process   // the sandbox's processes besides the supervisor
	ended  *endedEvent // what the supervisor said in the end
	killed bool        // by KillProgram
	saved  bool        // a SaveImage that stops has an image
	lost   string      // why it was ended though the program is not at fault, "" if it was not
	result checkpoint.Result
}

var _ checkpoint.Run = (*run)(nil)

func newRun(cmd *exec.Cmd, l *line, c cell) *run {
	return &run{
		cmd: cmd, line: l, cell: c,
		started: make(chan message, 1), exited: make(chan struct{}), done: make(chan struct{}),
	}
}

// startSupervisor starts the supervisor from a thread that lives as long as it does: it
// dies with that thread.
func (r *run) startSupervisor(cpus []int) error {
	begun := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := startOn(r.cmd, cpus)
		begun <- err
		if err != nil {
			return
		}
		_ = r.cmd.Wait() // how it ended stands in ProcessState
		close(r.exited)
		// Not unlocked: the thread ends with the goroutine.
	}()
	if err := <-begun; err != nil {
		return err
	}
	r.meter.root = r.cmd.Process.Pid
	go r.line.readMessages(r.handleMessage)
	go r.attendSupervisor()
	return nil
}

// handleMessage takes what the supervisor says without being asked.
func (r *run) handleMessage(m message) {
	r.mu.Lock()
	if m.Running != nil {
		r.parts = []process{identifyProcess(m.Running.Sentry), identifyProcess(m.Running.Gofer)}
	}
	if m.Ended != nil {
		r.ended = m.Ended
	}
	r.mu.Unlock()
	if m.Running != nil || m.Failed != "" {
		select {
		case r.started <- m:
		default: // said twice: the first counts
		}
	}
}

// awaitStart waits until the program runs or it is known that it never will.
func (r *run) awaitStart(ctx context.Context) error {
	var m message
	select {
	case <-ctx.Done():
		return ctx.Err()
	case m = <-r.started:
	case <-r.done:
		select {
		case m = <-r.started:
		default:
			return &startError{said: r.lastWords()}
		}
	}
	if m.Failed != "" {
		return &startError{said: m.Failed}
	}
	return nil
}

// attendSupervisor watches the processor time while the program runs, and when the
// supervisor has ended sees to it that nothing is left.
func (r *run) attendSupervisor() {
	tick := time.NewTicker(meterInterval)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
			r.meter.readUsage()
		case <-r.exited:
			running = false
		}
	}
	<-r.line.closed
	_ = r.line.conn.Close() // the other end is gone
	r.mu.Lock()
	parts := append(r.meter.seenProcesses(), r.parts...)
	r.mu.Unlock()
	for _, p := range parts {
		p.awaitEnd()
	}
	words := r.lastWords()
	r.cell.removeFolders()
	r.mu.Lock()
	r.result = r.judgeEnding(words)
	r.mu.Unlock()
	close(r.done)
}

// judgeEnding says how it ended. The lock is held.
func (r *run) judgeEnding(words string) checkpoint.Result {
	state := r.cmd.ProcessState
	res := checkpoint.Result{CPU: max(r.meter.totalTime(), state.UserTime()+state.SystemTime())}
	if r.ended != nil {
		res.CPU = max(res.CPU, r.ended.CPU)
	}
	switch {
	case r.saved:
		res.Saved = true
	case r.lost != "":
		res.Lost, res.Why = true, r.lost
	case r.ended != nil && !r.ended.Lost:
		status := syscall.WaitStatus(r.ended.Status)
		res.Code = status.ExitStatus()
		if status.Signaled() {
			res.Signal = int(status.Signal())
			res.Code = 128 + res.Signal
		}
	case r.killed:
		res.Signal = int(syscall.SIGKILL)
		res.Code = 128 + res.Signal
	case r.ended != nil:
		res.Lost, res.Why = true, r.ended.Why
	default:
		res.Lost, res.Why = true, "the supervisor of the sandbox was ended: "+state.String()
		if words != "" {
			res.Why += ": " + words
		}
	}
	return res
}

// RootPID is the supervisor: the sandbox's processes, and those in which gVisor
// runs the program's code, are its descendants.
func (r *run) RootPID() int { return r.cmd.Process.Pid }

// Done is closed when nothing is left.
func (r *run) Done() <-chan struct{} { return r.done }

// Result is valid once Done is closed.
func (r *run) Result() checkpoint.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.result
}

// KillProgram ends the program with its sandbox.
func (r *run) KillProgram() {
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	r.endProgram()
}

// TerminateProgram lets the program end by itself, within a time of grace.
func (r *run) TerminateProgram(grace time.Duration) {
	r.mu.Lock()
	r.killed = true
	r.mu.Unlock()
	if grace > 0 {
		timeout := time.NewTimer(grace)
		defer timeout.Stop()
		asked := make(chan error, 1)
		go func() {
			_, err := r.line.sendAndWait(order{Do: "terminate"})
			asked <- err
		}()
		for waits := true; waits; {
			select {
			case <-r.done:
				return
			case err := <-asked:
				waits = err == nil // else it has ended, or cannot be signalled
			case <-timeout.C:
				waits = false
			}
		}
	}
	r.endProgram()
}

// endProgram has the supervisor end the program, or else ends both, and returns when
// nothing is left.
func (r *run) endProgram() {
	r.meter.readUsage()
	asked := make(chan struct{})
	go func() {
		_, _ = r.line.sendAndWait(order{Do: "stop"}) // whether it worked is seen below
		close(asked)
	}()
	timeout := time.NewTimer(exitTimeout)
	defer timeout.Stop()
	select {
	case <-r.done:
	case <-timeout.C:
		r.stopSupervisor()
		r.meter.readUsage()
		for _, p := range r.meter.seenProcesses() {
			p.kill()
		}
	}
	_ = r.cmd.Process.Kill() // an error says that it has ended
	<-r.done
	<-asked
}

// stopSupervisor has a supervisor that is about to be killed start no more processes, so that all that it has started
// can be found and waited for.
func (r *run) stopSupervisor() {
	if r.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return // it has ended
	}
	runs := func(t proctable.Process) bool { return t.State != 'T' && !t.IsDead() }
	for range stopTries {
		threads, err := proctable.ThreadsOf(r.cmd.Process.Pid)
		if err != nil || !slices.ContainsFunc(threads, runs) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// SaveImage writes an image of the program into the empty folder dir.
//
// gVisor can save a program that stands still and leave it so. That is used for
// every save, whether the program is to run on or not: a save that fails, as
// when the disk is full, then never costs the program.
func (r *run) SaveImage(ctx context.Context, dir string, stop bool, frozen func() error) error {
	r.saving.Lock()
	defer r.saving.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := mustBeEmpty(dir); err != nil {
		return err
	}
	select {
	case <-r.done:
		return errEnded
	default:
	}
	if err := r.leaveGPUs(); err != nil {
		return err
	}
	err := r.saveStill(ctx, dir, frozen)
	if err == nil && stop {
		r.mu.Lock()
		r.saved = true
		r.mu.Unlock()
		r.endProgram()
		return nil
	}
	if _, failed := r.line.sendAndWait(order{Do: "resume"}); failed != nil && err == nil {
		err = fmt.Errorf("letting the program run on: %w", r.orEnded(failed))
	}
	if failed := r.enterGPUs(); failed != nil {
		r.loseProgram(failed)
		err = failed
	}
	if err != nil {
		emptyFolder(dir)
		return err
	}
	return nil
}

// saveStill stops the program for a moment and makes the image.
func (r *run) saveStill(ctx context.Context, dir string, frozen func() error) error {
	if _, err := r.line.sendAndWait(order{Do: "pause"}); err != nil {
		return fmt.Errorf("stopping the program for a moment: %w", r.orEnded(err))
	}
	return r.writeImage(ctx, dir, frozen)
}

// writeImage makes the image while the program stands still.
func (r *run) writeImage(ctx context.Context, dir string, frozen func() error) error {
	if err := frozen(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	names, err := r.line.sendAndWait(order{Do: "files"})
	if err != nil {
		return fmt.Errorf("asking which files the program uses: %w", r.orEnded(err))
	}
	if _, err := r.line.sendAndWait(order{Do: "save", Dir: dir}); err != nil {
		return fmt.Errorf("saving the program: %w", r.orEnded(err))
	}
	rec := r.cell.record
	if names.Files != nil {
		if rec.Used, err = r.sums.usedFiles(*names.Files); err != nil {
			return fmt.Errorf("looking at the files the program uses: %w", err)
		}
	}
	if rec.Sizes, err = imageSizes(dir); err != nil {
		return fmt.Errorf("looking at the image: %w", err)
	}
	if err := rec.writeRecord(dir); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return ctx.Err()
}

// errEnded is what SaveImage says of a program that has ended.
var errEnded = errors.New("the program has ended")

// orEnded is errEnded if the sandbox is gone, else the error itself.
func (r *run) orEnded(err error) error {
	if errors.Is(err, errGone) {
		return errEnded
	}
	return err
}
