package local

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is an agent's process, ours or that of a broker before us. It is held
// by a pidfd, so that a number used again is never taken for it.
type process struct {
	pid   int
	fd    *os.File      // pidfd; nil on kernels without
	since time.Time     // when we got to know it
	said  words         // what it says; taken away by whoever sees it die
	done  chan struct{} // closed once it is dead (and reaped, if it is our child)

	mu     sync.Mutex
	status syscall.WaitStatus // valid once done is closed, if known
	cpu    time.Duration      // that it and what it waited for used
	known  bool
}

// command is how an agent is called.
type command struct {
	path string   // of the binary
	argv []string // without the folder, which comes last
	env  []string
}

// spawn starts an agent on a folder: in a session of its own, so that what ends
// us does not end it, with its words going to a file.
func (c *command) spawn(dir string, log, null *os.File, now time.Time) (*process, error) {
	argv := append(c.argv[:len(c.argv):len(c.argv)], dir)
	fd := -1
	pid, err := syscall.ForkExec(c.path, argv, &syscall.ProcAttr{
		Dir:   "/",
		Env:   c.env,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &fd},
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.path, err)
	}
	return newProcess(pid, fd, now), nil
}

func newProcess(pid, fd int, now time.Time) *process {
	p := &process{pid: pid, since: now, done: make(chan struct{})}
	if fd >= 0 {
		// Without blocking, so that waiting for many costs no threads.
		if err := syscall.SetNonblock(fd, true); err == nil {
			p.fd = os.NewFile(uintptr(fd), "pidfd")
		} else {
			_ = syscall.Close(fd)
		}
	}
	return p
}

// errStillAlive says that waiting ended before the process did.
var errStillAlive = errors.New("the process is still alive")

// wait returns when the process is dead; errStillAlive if it is forgotten
// before that. One goroutine calls it, once.
func (p *process) wait(forgotten <-chan struct{}) error {
	if p.fd == nil {
		return p.waitByNumber(forgotten)
	}
	raw, err := p.fd.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool { return readable(int(fd)) })
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		return errStillAlive
	case err != nil: // this kernel cannot wait for a pidfd
		return p.waitByNumber(forgotten)
	}
	p.reap()
	_ = p.fd.Close()
	close(p.done)
	return nil
}

// forget ends waiting; the process lives on.
func (p *process) forget() {
	if p.fd != nil {
		_ = p.fd.Close()
	}
	if p.said.File != nil {
		_ = p.said.Close()
	}
}

func (p *process) waitByNumber(forgotten <-chan struct{}) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if p.reap() || syscall.Kill(p.pid, 0) != nil {
			close(p.done)
			return nil
		}
		select {
		case <-tick.C:
		case <-forgotten:
			return errStillAlive
		}
	}
}

// reap takes the exit status if the process is our child; others have none for
// us.
func (p *process) reap() bool {
	var ws syscall.WaitStatus
	var used syscall.Rusage
	for {
		pid, err := syscall.Wait4(p.pid, &ws, syscall.WNOHANG, &used)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid != p.pid {
			return false
		}
		p.mu.Lock()
		p.status, p.known = ws, true
		p.cpu = time.Duration(used.Utime.Nano() + used.Stime.Nano())
		p.mu.Unlock()
		return true
	}
}

// end says how it ended, where that is known.
func (p *process) end() (syscall.WaitStatus, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.known
}

// spent is the CPU time of one that is dead, 0 if that is not known.
func (p *process) spent() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cpu
}

func (p *process) alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal never reaches another process that got the same number.
func (p *process) signal(sig syscall.Signal) {
	if p.fd == nil {
		_ = syscall.Kill(p.pid, sig)
		return
	}
	raw, err := p.fd.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	}
}

func readable(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// agentOn is the process with this number if it is an agent on this folder:
// the last word of its command line is the folder.
func agentOn(dir string, pid int, now time.Time) *process {
	if pid <= 1 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return nil
	}
	line, readErr := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	words := bytes.Split(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	// Looked at in this order: what is not dead now was not dead when its
	// command line was read.
	if readErr != nil || string(words[len(words)-1]) != dir || err == nil && readable(fd) {
		if err == nil {
			_ = unix.Close(fd)
		}
		return nil
	}
	if err != nil {
		fd = -1
	}
	return newProcess(pid, fd, now)
}
