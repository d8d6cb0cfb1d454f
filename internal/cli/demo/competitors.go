package demo

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

// competitors are programs that compute on one core without asking the broker.
type competitors struct {
	commands []*exec.Cmd
	groups   []*cgroup.Group
}

// spin computes for as long as whoever started it lives.
const spin = `while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done`

// competitorNice is the priority of competitors: one gets nearly ten times the CPU time
// of an ordinary process.
const competitorNice = -10

// startCompetitors starts n of them. Each gets a session of its own, and a cgroup of
// its own beside those of jobs where jobs have some: where the kernel shares a core
// among sessions or groups rather than processes, each still counts as much as the job.
func startCompetitors(core, n int) (*competitors, error) {
	c := &competitors{}
	grouped := cgroup.Available().CPUs
	for i := range n {
		if err := c.start(core, i, grouped); err != nil {
			return nil, errors.Join(err, c.stop())
		}
	}
	return c, nil
}

func (c *competitors) start(core, i int, grouped bool) error {
	cmd := exec.Command("/bin/sh", "-c", spin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.commands = append(c.commands, cmd)
	if grouped {
		g, err := cgroup.Create(fmt.Sprintf("demo-%d-%d-%d", os.Getpid(), core, i), cgroup.Limits{CPUs: []int{core}})
		if err != nil {
			return err
		}
		c.groups = append(c.groups, g)
		if err := g.Add(cmd.Process.Pid); err != nil {
			return err
		}
	}
	favour(cmd.Process.Pid)
	var set unix.CPUSet
	set.Set(core)
	if err := unix.SchedSetaffinity(cmd.Process.Pid, &set); err != nil {
		return fmt.Errorf("pinning a process to core %d: %w", core, err)
	}
	return nil
}

// favour gives a process, and its session where the kernel shares cores among sessions,
// a higher priority. Where that is allowed (as root) a few competitors count as many,
// however busy the machine is; elsewhere more of them are started.
func favour(pid int) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, pid, competitorNice)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte(strconv.Itoa(competitorNice)), 0)
}

// stop ends them. Those that never began have nothing to end.
func (c *competitors) stop() error {
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
		err = errors.Join(err, g.Remove())
	}
	c.commands, c.groups = nil, nil
	return err
}
