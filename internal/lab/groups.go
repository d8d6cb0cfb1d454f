package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// groupPrefix begins the name of every lab's cgroups.
const groupPrefix = "gwlab-"

// groups is the cgroups of one lab: in each hierarchy a folder for the lab, in
// it one for each host. Other than those of package cgroup they hang at the top
// of the hierarchies and not below the cgroup of whoever made them: a lab is
// removed by another process, perhaps in another cgroup, that knows no more
// than its name.
type groups struct {
	name  string // with the prefix
	trees []tree
}

// tree is a hierarchy.
type tree struct {
	top string // where it is mounted
	v2  bool
	has []string // controllers that our groups have
}

// neededControllers are the controllers that a lab is made with.
var neededControllers = []string{"cpu", "cpuacct", "cpuset", "memory", "freezer"}

// groupName is the name of a lab's cgroups. Labs of the same name in different
// folders do not meet.
func groupName(base, lab string) string {
	if base == defaultBase {
		return groupPrefix + lab
	}
	sum := sha256.Sum256([]byte(base))
	return groupPrefix + lab + "-" + hex.EncodeToString(sum[:4])
}

// labForGroup is the lab in a folder whose cgroups have a name; "" if they are not of
// one there. What may be that of a lab in another folder is taken for that.
func labForGroup(base, group string) string {
	name, ok := strings.CutPrefix(group, groupPrefix)
	if !ok {
		return ""
	}
	if base != defaultBase {
		name, _ = strings.CutSuffix(name, groupName(base, "")[len(groupPrefix):])
	} else if i := strings.LastIndexByte(name, '-'); i >= 0 && len(name)-i == 9 &&
		strings.Trim(name[i+1:], "0123456789abcdef") == "" {
		return ""
	}
	if groupName(base, name) != group {
		return ""
	}
	return name
}

// groupedLabs is the names of labs in a folder that have cgroups.
func groupedLabs(base string) ([]string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range parseTrees(string(mounts)) {
		entries, _ := os.ReadDir(t.top) // who may not look there has not made any
		for _, e := range entries {
			if name := labForGroup(base, e.Name()); name != "" {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// findGroups looks where the cgroups of a lab are, or would be.
func findGroups(base, lab string) (*groups, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	g := &groups{name: groupName(base, lab), trees: parseTrees(string(data))}
	if len(g.trees) == 0 {
		return nil, errors.New("no cgroups are mounted here")
	}
	return g, nil
}

// parseTrees finds the hierarchies in /proc/self/mountinfo, each once. Version
// 2 comes first: there, a group can be ended and frozen as a whole.
func parseTrees(text string) []tree {
	var list []tree
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " - ")
		where, what := strings.Fields(left), strings.Fields(right)
		if !ok || len(where) < 5 || len(what) < 3 || strings.Contains(where[4], `\`) {
			continue
		}
		t := tree{top: where[4]}
		switch what[0] {
		case "cgroup2":
			t.v2 = true
			if down, err := os.ReadFile(filepath.Join(t.top, "cgroup.controllers")); err == nil {
				t.has = strings.Fields(string(down))
			}
		case "cgroup":
			t.has = strings.Split(what[2], ",")
		default:
			continue
		}
		t.has = slices.DeleteFunc(t.has, func(c string) bool { return !slices.Contains(neededControllers, c) })
		key := strings.Join(t.has, ",")
		if t.v2 {
			key = "2"
		}
		if key != "" && !seen[key] {
			seen[key] = true
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b tree) int {
		switch {
		case a.v2 == b.v2:
			return 0
		case a.v2:
			return -1
		}
		return 1
	})
	return list
}

func (g *groups) groupPath(t tree, parts ...string) string {
	return filepath.Join(append([]string{t.top, g.name}, parts...)...)
}

// makeGroups makes the lab's own groups, in which those of hosts will be.
func (g *groups) makeGroups() error {
	for _, t := range g.trees {
		if err := os.Mkdir(g.groupPath(t), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the lab's cgroups: %w", err)
		}
		if t.v2 && len(t.has) > 0 {
			// Handed down one by one: what is missing is told by who needs it.
			for _, c := range t.has {
				_ = writeControl(filepath.Join(t.top, "cgroup.subtree_control"), "+"+c)
				_ = writeControl(g.groupPath(t, "cgroup.subtree_control"), "+"+c)
			}
		}
		if err := fillCPUSet(t, g.groupPath(t)); err != nil {
			return err
		}
		// The grid goes first: what else happens on the machine is noise.
		if slices.Contains(t.has, "cpu") {
			file, most := "cpu.shares", "32768"
			if t.v2 {
				file, most = "cpu.weight", "10000"
			}
			if err := writeControl(g.groupPath(t, file), most); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillCPUSet gives a group of version 1 the processors and memory of the one
// above: nothing can join it before.
func fillCPUSet(t tree, dir string) error {
	if t.v2 || !slices.Contains(t.has, "cpuset") {
		return nil
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		above, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
		if err != nil {
			return err
		}
		if err := writeControl(filepath.Join(dir, file), strings.TrimSpace(string(above))); err != nil {
			return err
		}
	}
	return nil
}

// limits of a host.
type limits struct {
	cpus   float64 // 0: none
	pin    int     // -1: to no processor
	memory int64
}

// addHost makes the groups of a host, or sets their limits.
func (g *groups) addHost(host string, l limits) error {
	for _, t := range g.trees {
		dir := g.groupPath(t, host)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			err = fillCPUSet(t, dir)
		} else if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("making the cgroups of %s: %w", host, err)
		}
		if l.pin >= 0 && slices.Contains(t.has, "cpuset") {
			if err := writeControl(filepath.Join(dir, "cpuset.cpus"), strconv.Itoa(l.pin)); err != nil {
				return err
			}
		}
		if l.memory > 0 && slices.Contains(t.has, "memory") {
			if err := limitMemory(t, dir, strconv.FormatInt(l.memory, 10)); err != nil {
				return err
			}
		}
	}
	return g.setQuota(host, l.cpus)
}

// limitMemory leaves no way out into swap space, where kernels count that.
func limitMemory(t tree, dir, bytes string) error {
	file, withSwap, most := "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes
	if t.v2 {
		file, withSwap, most = "memory.max", "memory.swap.max", "0"
	}
	err := writeControl(filepath.Join(dir, file), bytes)
	_ = writeControl(filepath.Join(dir, withSwap), most)
	return err
}

// period is over how long a quota is kept to: short, so that a program does not
// stand still for a noticeable time.
const period = 20 * time.Millisecond

// usualWeight is that of a host with one processor's worth of time.
const usualWeight = 1024

// setQuota gives a host its part of the processors, and the same part in
// proportion to other hosts when there is not enough for all.
func (g *groups) setQuota(host string, cpus float64) error {
	t, ok := g.treeWith("cpu")
	if !ok {
		return errors.New("this system has no cgroups that limit CPU time")
	}
	every := int64(period / time.Microsecond)
	weight := usualWeight * max(cpus, 1)
	if cpus > 0 {
		weight = usualWeight * cpus
	}
	quota := "-1"
	if t.v2 {
		quota = "max"
	}
	if cpus > 0 {
		quota = strconv.FormatInt(max(int64(math.Round(cpus*float64(every))), 1000), 10) // the kernel takes no less
	}
	if t.v2 {
		return errors.Join(
			writeControl(g.groupPath(t, host, "cpu.max"), fmt.Sprintf("%s %d", quota, every)),
			writeControl(g.groupPath(t, host, "cpu.weight"), strconv.Itoa(min(max(int(weight*100/usualWeight), 1), 10000))))
	}
	return errors.Join(
		writeControl(g.groupPath(t, host, "cpu.cfs_quota_us"), "-1"), // so that any period fits
		writeControl(g.groupPath(t, host, "cpu.cfs_period_us"), strconv.FormatInt(every, 10)),
		writeControl(g.groupPath(t, host, "cpu.cfs_quota_us"), quota),
		writeControl(g.groupPath(t, host, "cpu.shares"), strconv.Itoa(max(int(weight), 2))))
}

// treeWith is the hierarchy that has a controller.
func (g *groups) treeWith(controller string) (tree, bool) {
	for _, t := range g.trees {
		if slices.Contains(t.has, controller) {
			return t, true
		}
	}
	return tree{}, false
}

// processTree is the hierarchy through which processes are listed, frozen and ended.
func (g *groups) processTree() (tree, bool) {
	if g.trees[0].v2 {
		return g.trees[0], true
	}
	return g.treeWith("freezer")
}

// addProcess puts a process, or this one, into the groups of a host, and within these
// into one by which it can be told from the rest.
func (g *groups) addProcess(host, within string, pid int) error {
	h, ok := g.processTree()
	for _, t := range g.trees {
		dir := g.groupPath(t, host)
		if within != "" && ok && t.top == h.top {
			// Only there: processor time is shared among all processes of the host.
			dir = filepath.Join(dir, within)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		if err := writeControl(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	return nil
}

// setFrozen stops all processes of a host, or lets them go on.
func (g *groups) setFrozen(host string, stop bool) error {
	t, ok := g.processTree()
	if !ok {
		return errors.New("this system has no cgroups that can be frozen")
	}
	return freezeDir(t, g.groupPath(t, host), stop)
}

func freezeDir(t tree, dir string, stop bool) error {
	if t.v2 {
		return writeControl(filepath.Join(dir, "cgroup.freeze"), map[bool]string{true: "1", false: "0"}[stop])
	}
	return writeControl(filepath.Join(dir, "freezer.state"), map[bool]string{true: "FROZEN", false: "THAWED"}[stop])
}

// cpuUsage is the processor time that a host has used.
func (g *groups) cpuUsage(host string) (time.Duration, error) {
	if t, ok := g.treeWith("cpuacct"); ok {
		b, err := os.ReadFile(g.groupPath(t, host, "cpuacct.usage"))
		if err != nil {
			return 0, err
		}
		ns, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
		return time.Duration(ns), err
	}
	if g.trees[0].v2 {
		b, err := os.ReadFile(g.groupPath(g.trees[0], host, "cpu.stat"))
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(b)) {
			if v, ok := strings.CutPrefix(line, "usage_usec "); ok {
				us, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
				return time.Duration(us) * time.Microsecond, err
			}
		}
	}
	return 0, errors.New("this system does not measure the CPU time of cgroups")
}

// listPids lists the processes of a host, of a group within it, or, with no names,
// of the whole lab.
func (g *groups) listPids(parts ...string) ([]int, error) {
	t, ok := g.processTree()
	if !ok {
		t = g.trees[0]
	}
	return pidsBelow(g.groupPath(t, parts...))
}

func pidsBelow(dir string) ([]int, error) {
	var pids []int
	err := innermostFirst(dir, func(dir string) error {
		b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return err
	})
	return pids, err
}

// innermostFirst visits a group and those in it. What disappears meanwhile is
// left out.
func innermostFirst(dir string, visit func(string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ignoreGone(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := innermostFirst(filepath.Join(dir, e.Name()), visit); err != nil {
				return err
			}
		}
	}
	return ignoreGone(visit(dir))
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// killTimeout is how long processes may take to be gone. One that hangs in the
// kernel, in a transfer say, takes its time.
const killTimeout = 20 * time.Second

// killAll ends all processes of a host, of a group within it, or of the lab, and
// returns when they are gone.
func (g *groups) killAll(parts ...string) error {
	for waited := time.Duration(0); ; {
		left := 0
		for _, t := range g.trees {
			dir := g.groupPath(t, parts...)
			pids, err := pidsBelow(dir)
			if err != nil {
				return err
			}
			if len(pids) == 0 {
				continue
			}
			left += len(pids)
			if t.v2 {
				_ = writeControl(filepath.Join(dir, "cgroup.kill"), "1") // nothing can fork away; old kernels do not have it
			}
			for _, pid := range pids {
				_ = unix.Kill(pid, unix.SIGKILL) // it may be gone
			}
			if t.v2 || slices.Contains(t.has, "freezer") {
				// One that is frozen would not notice.
				_ = innermostFirst(dir, func(dir string) error { _ = freezeDir(t, dir, false); return nil })
			}
		}
		if left == 0 {
			return nil
		}
		if waited > killTimeout {
			return fmt.Errorf("%d processes of %s do not end", left, g.name)
		}
		time.Sleep(5 * time.Millisecond)
		waited += 5 * time.Millisecond
	}
}

// removeGroups removes the groups of a host, or all of the lab's, which must have
// been ended. Those that are not there are no error.
func (g *groups) removeGroups(parts ...string) error {
	var errs []error
	for _, t := range g.trees {
		dir := g.groupPath(t, parts...)
		for waited := time.Duration(0); ; waited += 5 * time.Millisecond {
			err := innermostFirst(dir, unix.Rmdir)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EBUSY) || waited > killTimeout {
				errs = append(errs, fmt.Errorf("removing the cgroup %s: %w", dir, err))
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return errors.Join(errs...)
}

// writeControl writes a control file.
func writeControl(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(value)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("writing %q to a cgroup: %w", value, err)
	}
	return nil
}
