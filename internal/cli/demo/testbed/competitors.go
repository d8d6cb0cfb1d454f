package testbed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// Competitors are programs that compute on one core without asking the broker.
type Competitors struct {
	core     int
	raise    int // by how much their priority is above that of this process
	commands []*exec.Cmd
	groups   []*cgroup.Group
}

// spin computes for as long as whoever started it lives.
const spin = `while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done`

// StartCompetitors starts n of them. Each gets a session of its own, as if n users had
// started them, and a cgroup of its own beside those of jobs where jobs have some:
// where the kernel shares a core among sessions or groups rather than processes, each
// still counts as much as a job. With raise their niceness is so much lower than that
// of this process, where that is allowed (as root): a few competitors count as many.
func StartCompetitors(core, n, raise int) (*Competitors, error) {
	c := &Competitors{core: core, raise: raise}
	if err := c.AddCompetitors(n); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// AddCompetitors starts more of them.
func (c *Competitors) AddCompetitors(n int) error {
	grouped := cgroup.ProbeAbility().CPUs
	for range n {
		if err := c.startOne(grouped); err != nil {
			return err
		}
	}
	return nil
}

// Count is how many there are.
func (c *Competitors) Count() int { return len(c.commands) }

func (c *Competitors) startOne(grouped bool) error {
	cmd := exec.Command("/bin/sh", "-c", spin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.commands = append(c.commands, cmd)
	pid := cmd.Process.Pid
	if grouped {
		g, err := cgroup.CreateGroup(fmt.Sprintf("competitor-%d", pid), cgroup.Limits{CPUs: []int{c.core}})
		if err != nil {
			return err
		}
		c.groups = append(c.groups, g)
		if err := g.AddProcess(pid); err != nil {
			return err
		}
	}
	if c.raise > 0 {
		raisePriority(pid, c.raise)
	}
	return PinProcess(pid, c.core)
}

// minNice is the lowest niceness, which is the highest priority.
const minNice = -20

// raisePriority gives a process, and its session where the kernel shares cores among
// sessions, a higher priority than this process has. It is not allowed to everybody.
func raisePriority(pid, raise int) {
	kernel, err := unix.Getpriority(unix.PRIO_PROCESS, 0) // the kernel tells 20 minus the niceness
	if err != nil {
		return
	}
	nice := max(minNice, 20-kernel-raise)
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, nice)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(-raise)), 0)
}

// PinProcess keeps a process on one core.
func PinProcess(pid, core int) error {
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		return fmt.Errorf("pinning a process to core %d: %w", core, err)
	}
	return nil
}

// Stop ends them. Those that never began have nothing to end.
func (c *Competitors) Stop() error {
	if c == nil {
		return nil
	}
	for _, cmd := range c.commands {
		_ = cmd.Process.Kill() // nothing else ends them
	}
	for _, cmd := range c.commands {
		_ = cmd.Wait() // it was killed
	}
	var err error
	for _, g := range c.groups {
		err = errors.Join(err, g.RemoveGroup())
	}
	c.commands, c.groups = nil, nil
	return err
}
