package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// quotaPeriod is over how long a share of processor time is kept to. Short, so
// that a program does not stand still for a noticeable time; the kernel's
// default is 100 ms.
const quotaPeriod = 20 * time.Millisecond

// writeControl writes one control file.
func (f folder) writeControl(file, value string) error {
	w, err := os.OpenFile(filepath.Join(f.path, file), os.O_WRONLY, 0)
	if err == nil {
		_, err = w.WriteString(value)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return fmt.Errorf("setting %s of a cgroup to %s: %w", file, value, err)
	}
	return nil
}

func (f folder) readControl(file string) (string, error) {
	b, err := os.ReadFile(filepath.Join(f.path, file))
	return string(bytes.TrimSpace(b)), err
}

// setLimits sets those limits whose controllers the folder has.
func (f folder) setLimits(l Limits) error {
	for _, c := range f.has {
		var err error
		switch c {
		case "cpu":
			err = f.limitCPU(l.CPU)
		case "cpuset":
			err = f.limitCPUs(l.CPUs)
		case "memory":
			err = f.limitMemory(l.Memory)
		case "pids":
			if l.Pids > 0 {
				err = f.writeControl("pids.max", strconv.Itoa(l.Pids))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f folder) limitCPU(cpus float64) error {
	if cpus <= 0 {
		return nil
	}
	return f.setQuota(cpus)
}

// setQuota limits processor time to that of so many processors; 0 lifts the limit.
func (f folder) setQuota(cpus float64) error {
	period := int64(quotaPeriod / time.Microsecond)
	quota, every := "-1", strconv.FormatInt(period, 10)
	if f.v2 {
		quota = "max"
	}
	if cpus > 0 {
		quota = strconv.FormatInt(max(int64(math.Round(cpus*float64(period))), 1000), 10) // the kernel takes no less
	}
	if f.v2 {
		return f.writeControl("cpu.max", quota+" "+every)
	}
	// An existing quota may not fit the new period, nor the new quota the old
	// period, below a parent with a quota: lift it first.
	return errors.Join(
		f.writeControl("cpu.cfs_quota_us", "-1"),
		f.writeControl("cpu.cfs_period_us", every),
		f.writeControl("cpu.cfs_quota_us", quota))
}

func (f folder) limitCPUs(cpus []int) error {
	if len(cpus) > 0 {
		if err := f.writeControl("cpuset.cpus", cpuList(cpus)); err != nil {
			return err
		}
	}
	if f.v2 {
		return nil
	}
	// In version 1 nothing can join before both lists are filled.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		if now, err := f.readControl(file); err != nil || now != "" {
			continue
		}
		above, err := os.ReadFile(filepath.Join(filepath.Dir(f.path), file))
		if err != nil {
			return err
		}
		if err := f.writeControl(file, strings.TrimSpace(string(above))); err != nil {
			return err
		}
	}
	return nil
}

// cpuList writes processors as the kernel does.
func cpuList(cpus []int) string {
	var parts []string
	for _, c := range cpus {
		parts = append(parts, strconv.Itoa(c))
	}
	return strings.Join(parts, ",")
}

func (f folder) limitMemory(bytes int64) error {
	if bytes <= 0 {
		return nil
	}
	n := strconv.FormatInt(bytes, 10)
	if f.v2 {
		return errors.Join(f.writeControl("memory.max", n), ignoreMissing(f.writeControl("memory.swap.max", "0")))
	}
	// Memory with swap is never less than memory, so the order depends on what
	// was set before.
	if err := f.writeControl("memory.limit_in_bytes", n); err != nil {
		if err := ignoreMissing(f.writeControl("memory.memsw.limit_in_bytes", n)); err != nil {
			return err
		}
		return f.writeControl("memory.limit_in_bytes", n)
	}
	return ignoreMissing(f.writeControl("memory.memsw.limit_in_bytes", n))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// LimitPids replaces the limit on processes and threads, where the group has one.
func (g *Group) LimitPids(n int) error {
	for _, f := range g.folders {
		if slices.Contains(f.has, "pids") {
			if err := f.writeControl("pids.max", strconv.Itoa(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// AddProcess moves a process, with all its threads, into the group.
func (g *Group) AddProcess(pid int) error {
	for _, f := range g.folders {
		if err := f.writeControl("cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// AddProcessWithin moves a process into the group, and into a group of that name inside
// it by which it can be told from the rest and ended: only there, because what the group
// limits is shared among all that is in it.
func (g *Group) AddProcessWithin(name string, pid int) error {
	first, ok := g.processFolder()
	for _, f := range g.folders {
		if ok && f.path == first.path {
			f.path = filepath.Join(f.path, name)
			if err := os.Mkdir(f.path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		if err := f.writeControl("cgroup.procs", strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// UsedCPU is what all processes that ever were in the group have used.
func (g *Group) UsedCPU() (time.Duration, error) {
	for _, f := range g.folders {
		if slices.Contains(f.has, "cpuacct") && !f.v2 {
			return f.readUsage()
		}
	}
	for _, f := range g.folders {
		if f.v2 {
			text, err := f.readControl("cpu.stat")
			if err != nil {
				return 0, err
			}
			return parseCPUStat(text)
		}
	}
	return 0, errors.New("the cgroup does not measure CPU time")
}

// readUsage is the processor time that version 1 counts.
func (f folder) readUsage() (time.Duration, error) {
	text, err := f.readControl("cpuacct.usage")
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ns < 0 {
		return 0, fmt.Errorf("cpuacct.usage is %q, not a number", text)
	}
	return time.Duration(ns), nil
}

// parseCPUStat finds the total in cpu.stat of version 2.
func parseCPUStat(text string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "usage_usec "); ok {
			us, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil || us < 0 || us > int64(1<<63-1)/1000 {
				return 0, fmt.Errorf("cpu.stat has usage_usec %q, not a number", strings.TrimSpace(v))
			}
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, errors.New("cpu.stat has no usage_usec")
}

// isGone reports whether an error says that a cgroup, or a process, is no more.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH)
}
