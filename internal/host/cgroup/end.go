package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ListPids lists the processes in the group and in groups they made inside it.
func (g *Group) ListPids() ([]int, error) {
	if len(g.folders) == 0 {
		return nil, nil
	}
	// Every process is in every folder: one is enough.
	var pids []int
	err := walkGroups(g.folders[0].path, func(dir string) error {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return err
		}
		list, err := parsePids(string(text))
		pids = append(pids, list...)
		return err
	})
	return pids, err
}

// parsePids reads cgroup.procs. A process of another pid namespace is a 0 and
// is left out.
func parsePids(text string) ([]int, error) {
	var pids []int
	for line := range strings.Lines(text) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil || pid < 0 {
			return pids, fmt.Errorf("cgroup.procs has %q, not a process", strings.TrimSpace(line))
		}
		if pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// walkGroups visits a group and the groups inside it, innermost first. What
// disappears meanwhile is left out.
func walkGroups(dir string, visit func(dir string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if isGone(err) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := walkGroups(filepath.Join(dir, e.Name()), visit); err != nil {
				return err
			}
		}
	}
	if err := visit(dir); err != nil && !isGone(err) {
		return err
	}
	return nil
}

// KillAll ends everything in the group at once: nothing in it can fork away. It
// returns before the last is gone.
func (g *Group) KillAll() error {
	for _, f := range g.folders {
		if f.v2 {
			err := f.writeControl("cgroup.kill", "1")
			if err == nil || isGone(err) && !pathExists(f.path) {
				return nil
			}
			if !errors.Is(err, fs.ErrNotExist) { // the kernel may be too old to have it
				return err
			}
		}
	}
	for _, f := range g.folders {
		if slices.Contains(f.has, "freezer") {
			// The signal works once the frozen are thawed.
			return errors.Join(f.writeControl("freezer.state", "FROZEN"), g.killEach(),
				f.writeControl("freezer.state", "THAWED"))
		}
	}
	return g.killEach()
}

func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (g *Group) killEach() error {
	pids, err := g.ListPids()
	for _, pid := range pids {
		if kill := syscall.Kill(pid, syscall.SIGKILL); kill != nil && !isGone(kill) {
			err = errors.Join(err, fmt.Errorf("ending process %d: %w", pid, kill))
		}
	}
	return err
}

// removeTimeout is how long RemoveGroup waits for dying processes to be gone.
const removeTimeout = 5 * time.Second

// RemoveGroup removes the group, which must be empty or dying, and groups inside it;
// one that is gone already is no error.
func (g *Group) RemoveGroup() error {
	var errs []error
	for _, f := range g.folders {
		pause := time.Millisecond
		for waited := time.Duration(0); ; waited += pause {
			err := walkGroups(f.path, syscall.Rmdir)
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || waited > removeTimeout {
				errs = append(errs, fmt.Errorf("removing the cgroup %s: %w", f.path, err))
				break
			}
			time.Sleep(pause)
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
	return errors.Join(errs...)
}
