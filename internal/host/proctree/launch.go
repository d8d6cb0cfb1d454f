package proctree

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"golang.org/x/sys/unix"
)

// Spec is what to start, and in what surroundings.
type Spec struct {
	Argv   []string
	Env    []string // complete; the mark is added
	Dir    string
	Stdin  *os.File // nil: /dev/null
	Stdout *os.File // nil: /dev/null
	Stderr *os.File // nil: /dev/null
	CPUs   []int    // nil: any
	Nice   int      // added to our own
	// Limits are set for each process by itself, as setrlimit does: for what a
	// whole program uses see Cgroup. Processes counts all processes of the user, is
	// therefore set that much above what the user has now, and binds nobody
	// who is root. Memory is what a process may write to, not what it reserves.
	Limits checkpoint.Limits
	Cgroup *cgroup.Group // joined before the first instruction; nil: none
}

// Process is the first process of a program that was started.
type Process struct {
	Pid  int
	tree *Tree
	done chan struct{}
	exit Exit
}

// Exit is how a process ended.
type Exit struct {
	Code   int // exit code; 128 + n if signal n ended it
	Signal int
	CPU    time.Duration // of it and the children it waited for
}

// Done is closed when the process has ended; others of the tree may live on.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitStatus says how it ended; valid once Done is closed.
func (p *Process) ExitStatus() Exit { return p.exit }

// Start runs a program in a session of its own. It dies with this process. A
// program that cannot be executed gives a *checkpoint.LaunchError.
func (t *Tree) Start(s Spec) (*Process, error) {
	if err := BecomeSubreaper(); err != nil {
		return nil, err
	}
	path, err := findProgram(s.Argv, s.Env, s.Dir)
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Argv[0], err)
	}
	defer null.Close() //nolint:errcheck // nothing is ever written to it by us
	p := &Process{tree: t, done: make(chan struct{})}
	started := make(chan error)
	go p.runThread(&s, path, null, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// runThread starts the process and waits for it, on a thread of its own: the child
// inherits the thread's processors and niceness, and is killed when the
// thread dies, as it does with this process. The thread ends with the
// goroutine.
func (p *Process) runThread(s *Spec, path string, null *os.File, started chan<- error) {
	runtime.LockOSThread() // never unlocked
	if err := tuneThread(s); err != nil {
		started <- err
		return
	}
	err := p.forkProcess(s, path, null)
	started <- err
	if err != nil {
		return
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	forking.RLock()
	ws, cpu, ok := p.tree.reapMember(p.Pid)
	forking.RUnlock()
	p.exit = exitOf(ws, ok)
	p.exit.CPU = cpu
	close(p.done)
}

func exitOf(ws unix.WaitStatus, ok bool) Exit {
	switch {
	case !ok: // cannot be: nobody else waits for it
		return Exit{Code: 255}
	case ws.Signaled():
		return Exit{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	return Exit{Code: ws.ExitStatus()}
}

// tuneThread gives this thread what the child is to inherit.
func tuneThread(s *Spec) error {
	if len(s.CPUs) > 0 {
		var set unix.CPUSet
		for _, c := range s.CPUs {
			set.Set(c)
		}
		if err := unix.SchedSetaffinity(0, &set); err != nil {
			return fmt.Errorf("running on the cores %v: %w", s.CPUs, err)
		}
	}
	if s.Nice != 0 {
		tid := unix.Gettid()
		now, err := unix.Getpriority(unix.PRIO_PROCESS, tid) // the system call answers 20 - niceness
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, tid, 20-now+s.Nice)
		}
		if err != nil {
			return fmt.Errorf("setting the niceness %d: %w", s.Nice, err)
		}
	}
	return nil
}

// forkProcess starts the process and tells the tree.
func (p *Process) forkProcess(s *Spec, path string, null *os.File) error {
	fd := func(f *os.File) uintptr {
		if f == nil {
			return null.Fd()
		}
		return f.Fd()
	}
	attr := &syscall.ProcAttr{
		Dir:   s.Dir,
		Env:   withMark(s.Env, p.tree.mark),
		Files: []uintptr{fd(s.Stdin), fd(s.Stdout), fd(s.Stderr)},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	limited := s.Limits != checkpoint.Limits{}
	inside := openInside(s.Cgroup)
	if inside >= 0 {
		defer closeFD(inside)
	}
	hold := limited || s.Cgroup != nil && inside < 0
	attr.Sys.Ptrace, attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = hold, inside >= 0, inside
	forking.RLock()
	defer forking.RUnlock()
	argv := s.Argv
	pid, err := forkExec(path, argv, attr)
	if err != nil && inside >= 0 && !errors.Is(err, syscall.ENOEXEC) {
		// Perhaps nobody may be started inside. Then it is moved there.
		hold = true
		attr.Sys.Ptrace, attr.Sys.UseCgroupFD = true, false
		pid, err = forkExec(path, argv, attr)
	}
	if errors.Is(err, syscall.EPERM) && hold {
		// Perhaps nobody may trace here. Then the limits come a moment late.
		attr.Sys.Ptrace = false
		pid, err = forkExec(path, argv, attr)
	}
	if errors.Is(err, syscall.ENOEXEC) && isScript(path) {
		// A script without #!: shells run it with sh.
		argv = append([]string{"sh", path}, argv[1:]...)
		pid, err = forkExec("/bin/sh", argv, attr)
	}
	runtime.KeepAlive(s)
	if err != nil {
		return whyNot(s, path, err)
	}
	p.Pid = pid
	p.tree.addRoot(pid, waitedHere)
	if hold {
		return p.releaseTraced(s, attr.Sys.Ptrace)
	}
	return nil
}

// openInside opens the folder of a group in which a process can be started, which
// costs less than moving it there; -1 if there is none.
func openInside(g *cgroup.Group) int {
	if g == nil {
		return -1
	}
	path, ok := g.SingleFolder()
	if !ok {
		return -1
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// forkExec starts a program. One that was written a moment ago may still be
// open in a child that another thread is about to start: then it waits.
func forkExec(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	pause := time.Millisecond
	for {
		pid, err := syscall.ForkExec(path, argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || pause > 128*time.Millisecond {
			return pid, err
		}
		time.Sleep(pause)
		pause *= 2
	}
}

// releaseTraced sets limits for the process and lets it run. Traced, it stands before
// its first instruction.
func (p *Process) releaseTraced(s *Spec, traced bool) error {
	if traced {
		var ws unix.WaitStatus
		for {
			_, err := unix.Wait4(p.Pid, &ws, unix.WALL, nil)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil || !ws.Stopped() { // somebody has killed it
				p.forgetRoot()
				return fmt.Errorf("starting %s: it ended before it ran", s.Argv[0])
			}
			break
		}
	}
	err := setLimits(p.Pid, s.Limits)
	if err == nil && s.Cgroup != nil {
		err = s.Cgroup.AddProcess(p.Pid)
	}
	if err == nil && traced {
		err = unix.PtraceDetach(p.Pid)
	}
	if err != nil {
		syscall.Kill(p.Pid, syscall.SIGKILL) //nolint:errcheck // a child of ours that has not been waited for
		var info unix.Siginfo
		unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil) //nolint:errcheck // it was killed
		p.tree.reapMember(p.Pid)
		return fmt.Errorf("starting %s: %w", s.Argv[0], err)
	}
	return nil
}

// forgetRoot takes back what fork told the tree.
func (p *Process) forgetRoot() {
	p.tree.mu.Lock()
	defer p.tree.mu.Unlock()
	p.tree.removeRoot(p.Pid)
}

// setLimits sets the limits of a process.
func setLimits(pid int, l checkpoint.Limits) error {
	set := func(resource int, n int64, what string) error {
		if n <= 0 {
			return nil
		}
		var old unix.Rlimit
		err := unix.Prlimit(pid, resource, nil, &old)
		if err == nil {
			n := min(uint64(n), old.Max)
			err = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: n, Max: n}, nil)
		}
		if err != nil {
			return fmt.Errorf("limiting its %s: %w", what, err)
		}
		return nil
	}
	var processes int64
	if l.Processes > 0 && os.Geteuid() != 0 {
		processes = int64(l.Processes) + ourTasks()
	}
	return errors.Join(
		set(unix.RLIMIT_FSIZE, l.FileSize, "files"),
		set(unix.RLIMIT_DATA, l.Memory, "memory"),
		set(unix.RLIMIT_NPROC, processes, "processes"))
}

// ourTasks counts the threads of all processes of our user.
func ourTasks() int64 {
	var n int64
	var r reader
	for _, s := range r.allProcesses() {
		var st unix.Stat_t
		if unix.Stat(procPath(s.pid, ""), &st) == nil && int(st.Uid) == os.Getuid() {
			n += int64(s.threads)
		}
	}
	return n
}
