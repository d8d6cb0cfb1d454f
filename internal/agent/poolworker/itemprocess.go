package poolworker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock"
)

// exitInterval is how often it is looked whether a program has ended that is silent, or whose output somebody else
// holds open. Most end by closing it.
const exitInterval = 100 * time.Millisecond

// itemProcess is a program that runs for an item. Package os/exec costs about twice as much for a program that does
// nothing: it has a goroutine for each pipe and the poller wait for them; here one thread waits for all.
type itemProcess struct {
	mu  sync.Mutex
	pid int // 0: it does not run, or no longer
}

// runProgram runs a program to its end, and returns how it ended. Its output goes to two buffers.
func (c *command) runProgram(ctx context.Context, path string, args, env []string,
	out, errs *limitedBuffer) (unix.WaitStatus, error) {
	if c.null == nil {
		var err error
		if c.null, err = os.Open(os.DevNull); err != nil {
			return 0, err
		}
	}
	pipes, err := newPipePair()
	if err != nil {
		return 0, err
	}
	defer pipes.close()
	pid, err := syscall.ForkExec(path, args, &syscall.ProcAttr{Env: env,
		Files: []uintptr{c.null.Fd(), uintptr(pipes.write[0]), uintptr(pipes.write[1])}})
	if err != nil {
		return 0, &os.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	p := &itemProcess{pid: pid}
	defer context.AfterFunc(ctx, p.endInTime)()
	pipes.closeWrite()
	pipes.readUntilEnd(p, [2]*limitedBuffer{out, errs}, c.clock)
	return p.reap()
}

// endInTime asks the program to end, and kills it if it has not after a while.
func (p *itemProcess) endInTime() {
	p.signal(unix.SIGTERM)
	time.AfterFunc(endGrace, func() { p.signal(unix.SIGKILL) })
}

func (p *itemProcess) signal(s unix.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid > 0 {
		_ = unix.Kill(p.pid, s) // it may have ended
	}
}

// hasEnded reports whether the program has, and leaves it to be reaped.
func (p *itemProcess) hasEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD) || errors.Is(err, unix.ECHILD)
}

// reap waits for the end. Only then its number may become another's, so nobody may signal it any more.
func (p *itemProcess) reap() (status unix.WaitStatus, err error) {
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		_, err = unix.Wait4(p.pid, &status, 0, nil)
	}
	p.pid = 0
	return status, err
}

// pipePair is what a program writes its output and its messages to; -1: closed.
type pipePair struct{ read, write [2]int }

func newPipePair() (*pipePair, error) {
	pair := &pipePair{read: [2]int{-1, -1}, write: [2]int{-1, -1}}
	for i := range pair.read {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			pair.close()
			return nil, os.NewSyscallError("pipe2", err)
		}
		pair.read[i], pair.write[i] = ends[0], ends[1]
	}
	return pair, nil
}

func closeEnd(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}

func (pair *pipePair) closeWrite() {
	for i := range pair.write {
		closeEnd(&pair.write[i])
	}
}

func (pair *pipePair) close() {
	pair.closeWrite()
	for i := range pair.read {
		closeEnd(&pair.read[i])
	}
}

// readUntilEnd reads until nobody can write any more, or the program has ended and whoever it started has had endGrace
// to do so too.
func (pair *pipePair) readUntilEnd(p *itemProcess, to [2]*limitedBuffer, now clock.Clock) {
	var chunk [4096]byte
	var ended time.Time
	for pair.read[0] >= 0 || pair.read[1] >= 0 {
		fds := [2]unix.PollFd{{Fd: int32(pair.read[0]), Events: unix.POLLIN}, {Fd: int32(pair.read[1]), Events: unix.POLLIN}}
		n, err := unix.Poll(fds[:], int(exitInterval.Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return
		}
		if ended.IsZero() && n == 0 && p.hasEnded() {
			ended = now()
		}
		if !ended.IsZero() && now.Since(ended) > endGrace {
			return
		}
		for i := range fds {
			if fds[i].Revents != 0 {
				pair.readSome(i, to[i], chunk[:])
			}
		}
	}
}

func (pair *pipePair) readSome(i int, to *limitedBuffer, chunk []byte) {
	n, err := unix.Read(pair.read[i], chunk)
	switch {
	case n > 0:
		_, _ = to.Write(chunk[:n]) // never fails
	case !errors.Is(err, unix.EINTR):
		closeEnd(&pair.read[i])
	}
}

// findProgram is where a program is; one found once stays there.
func (c *command) findProgram(name string) (string, error) {
	if name == c.name && c.path != "" {
		return c.path, nil
	}
	path := name
	if !strings.Contains(name, "/") {
		var err error
		if path, err = exec.LookPath(name); err != nil {
			return "", err
		}
	}
	c.name, c.path = name, path
	return path, nil
}
