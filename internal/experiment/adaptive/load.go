package adaptive

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Load is programs that compute on one processor without asking anybody.
type Load struct{ spinners []*exec.Cmd }

// spin computes for as long as whoever started it lives.
const spin = `while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done`

// StartLoad starts n of them, each in a session of its own, as if n users had:
// the kernel may share a processor among sessions rather than processes.
func StartLoad(cpu, n int) (*Load, error) {
	l := &Load{}
	for range n {
		c := exec.Command("/bin/sh", "-c", spin)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := c.Start(); err != nil {
			return nil, errors.Join(err, l.Stop())
		}
		l.spinners = append(l.spinners, c)
		if err := pin(c.Process.Pid, cpu); err != nil {
			return nil, errors.Join(err, l.Stop())
		}
	}
	return l, nil
}

// pin keeps a process on one processor.
func pin(pid, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		return fmt.Errorf("keeping a process on processor %d: %w", cpu, err)
	}
	return nil
}

// Stop ends them. A load that never began has nothing to end.
func (l *Load) Stop() error {
	if l == nil {
		return nil
	}
	for _, c := range l.spinners {
		_ = c.Process.Kill() // nothing else ends them
		_ = c.Wait()         // it was killed
	}
	l.spinners = nil
	return nil
}
