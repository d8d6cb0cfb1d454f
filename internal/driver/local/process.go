package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/driver/attemptdir"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// process is an agent's process at one attempt, ours or that of a broker before
// us. It is held by a pidfd, so that a number used again is never taken for it.
type process struct {
	pid   int
	fd    *os.File      // pidfd; nil on kernels without
	line  *os.File      // see wire.LineVariable; nil: it leaves when it is through
	since time.Time     // when we got to know it, or gave it the attempt
	nice  int           // that it has set for itself
	said  agentStderr   // what it says; taken away by whoever sees it die
	done  chan struct{} // closed once it is through, or dead (and reaped, if it is our child)

	at    *attempt    // nil: it rests. The driver's mu guards it
	tired *time.Timer // ends its rest

	mu      sync.Mutex
	struck  bool               // it was signalled, and gets no other attempt
	status  syscall.WaitStatus // valid once done is closed, if known
	cpu     time.Duration      // that it and what it waited for used
	known   bool
	through bool          // with its attempt; it lives on
	own     time.Duration // of cpu, that it used itself, where it is through
	counted time.Duration // used for attempts before
}

// command is how an agent is called.
type command struct {
	path string   // of the binary
	argv []string // without the folder, which comes last
	env  []string
}

// spawnAgent starts an agent on a folder: in a session of its own, so that what ends
// us does not end it, with its words going to a file.
func (c *command) spawnAgent(dir string, log, null *os.File, now time.Time) (*process, error) {
	argv := append(c.argv[:len(c.argv):len(c.argv)], dir)
	fd := -1
	attr := &syscall.ProcAttr{
		Dir:   "/",
		Env:   c.env,
		Files: []uintptr{null.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, PidFD: &fd},
	}
	line, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("a line to an agent: %w", err)
	}
	ours := os.NewFile(uintptr(line[0]), "line")
	attr.Env = append(c.env[:len(c.env):len(c.env)], wire.LineVariable+"="+strconv.Itoa(len(attr.Files)))
	attr.Files = append(attr.Files, uintptr(line[1]))
	pid, err := syscall.ForkExec(c.path, argv, attr)
	_ = syscall.Close(line[1])
	if err != nil {
		_ = ours.Close() // nothing was said
		return nil, fmt.Errorf("start %s: %w", c.path, err)
	}
	p := newProcess(pid, fd, now)
	if p.fd == nil {
		_ = ours.Close() // its death would not be noticed while it rests
		return p, nil
	}
	p.line = ours
	return p, nil
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

// errThrough says that the process is through with its attempt and rests.
var errThrough = errors.New("the process is free")

// awaitDeath returns when the process is dead; errThrough if it has no attempt any more,
// errStillAlive if it is forgotten before that. One goroutine calls it, once.
func (p *process) awaitDeath(forgotten <-chan struct{}) error {
	if p.line != nil {
		said, err := p.awaitThrough()
		switch {
		case errors.Is(err, os.ErrClosed):
			return errStillAlive
		case err == nil && p.markIdle(said):
			close(p.done)
			return errThrough
		}
		_ = p.line.Close() // it has died, or will
	}
	if p.fd == nil {
		return p.waitByNumber(forgotten)
	}
	raw, err := p.fd.SyscallConn()
	if err == nil {
		err = raw.Read(func(fd uintptr) bool { return isReadable(int(fd)) })
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		return errStillAlive
	case err != nil: // this kernel cannot wait for a pidfd
		return p.waitByNumber(forgotten)
	}
	p.reapStatus()
	_ = p.fd.Close()
	close(p.done)
	return nil
}

// hangUp ends listening when the process is dead: something that it started may
// hold its end of the line. It returns when it is dead or forgotten.
func (p *process) hangUp() {
	if raw, err := p.fd.SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool { return isReadable(int(fd)) }) // an error says that it is forgotten
	}
	_ = p.line.SetReadDeadline(time.Unix(1, 0)) // long ago
}

// awaitThrough waits for what an agent says on its line.
func (p *process) awaitThrough() (wire.Through, error) {
	packet := make([]byte, 80)
	n, err := p.line.Read(packet)
	if err != nil {
		return wire.Through{}, err
	}
	return wire.ParseThrough(packet[:n])
}

// markIdle notes that the process is through with its attempt; false if it was
// signalled meanwhile, and dies.
func (p *process) markIdle(said wire.Through) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.struck {
		return false
	}
	p.through, p.own, p.cpu = true, said.Own, said.Own+said.Children
	return true
}

// idleCopy is the same process, at rest.
func (p *process) idleCopy() *process {
	return &process{pid: p.pid, fd: p.fd, line: p.line, nice: p.nice, said: p.said, since: p.since,
		done: make(chan struct{}), counted: p.counted + p.cpu}
}

// stopWaiting ends waiting; the process lives on.
func (p *process) stopWaiting() {
	if p.line != nil {
		_ = p.line.Close()
	}
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
		if p.reapStatus() || syscall.Kill(p.pid, 0) != nil {
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

// reapStatus takes the exit status if the process is our child; others have none for
// us.
func (p *process) reapStatus() bool {
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
		p.cpu = max(0, time.Duration(used.Utime.Nano()+used.Stime.Nano())-p.counted)
		p.mu.Unlock()
		return true
	}
}

// exitStatus says how it ended, where that is known.
func (p *process) exitStatus() (syscall.WaitStatus, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.known
}

// cpuSpent is the CPU time that was used for an attempt that is over, 0 if that is
// not known, and the part of it that is also seen of the process because it lives.
func (p *process) cpuSpent() (all, seen time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cpu, p.own
}

func (p *process) isAlive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// sendSignal never reaches another process that got the same number, nor the same
// one at another attempt.
func (p *process) sendSignal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.through {
		return
	}
	p.struck = true
	if p.fd == nil {
		_ = syscall.Kill(p.pid, sig)
		return
	}
	raw, err := p.fd.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.PidfdSendSignal(int(fd), sig, nil, 0) })
	}
}

func isReadable(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(poll, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// agentOn is the process with this number if it is an agent on this folder: it has
// the lock's file open.
func agentOn(dir string, pid int, now time.Time) *process {
	if pid <= 1 {
		return nil
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return nil
	}
	// Looked at in this order: what is not dead now was not dead when its files
	// were looked at.
	if !hasOpen(pid, filepath.Join(dir, attemptdir.LockFile)) || err == nil && isReadable(fd) {
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

// hasOpen says whether a process has a file open.
func hasOpen(pid int, path string) bool {
	var want, got unix.Stat_t
	if unix.Stat(path, &want) != nil {
		return false
	}
	dir := "/proc/" + strconv.Itoa(pid) + "/fd"
	list, _ := os.ReadDir(dir) // none if it is gone
	for _, e := range list {
		if unix.Stat(filepath.Join(dir, e.Name()), &got) == nil && got.Ino == want.Ino && got.Dev == want.Dev {
			return true
		}
	}
	return false
}
