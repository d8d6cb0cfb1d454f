package adaptive

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// Load is programs that compute on one processor without asking anybody.
type Load struct{ spinners []*exec.Cmd }

// StartLoad starts n of them.
func StartLoad(cpu, n int) (*Load, error) {
	l := &Load{}
	var set unix.CPUSet
	set.Set(cpu)
	for range n {
		c := exec.Command("/bin/sh", "-c", "while :; do :; done")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			return nil, errors.Join(err, l.Stop())
		}
		l.spinners = append(l.spinners, c)
		if err := unix.SchedSetaffinity(c.Process.Pid, &set); err != nil {
			return nil, errors.Join(err, l.Stop())
		}
	}
	return l, nil
}

// Stop ends them.
func (l *Load) Stop() error {
	for _, c := range l.spinners {
		_ = c.Process.Kill() // nothing else ends them
		_ = c.Wait()         // it was killed
	}
	l.spinners = nil
	return nil
}
