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

// Pids lists the processes in the group and in groups they made inside it.
func (g *Group) Pids() ([]int, error) {
	if len(g.folders) == 0 {
		return nil, nil
	}
	// Every process is in every folder: one is enough.
	var pids []int
	err := walk(g.folders[0].path, func(dir string) error {
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

// walk visits a group and the groups inside it, innermost first. What
// disappears meanwhile is left out.
func walk(dir string, visit func(dir string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if gone(err) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := walk(filepath.Join(dir, e.Name()), visit); err != nil {
				return err
			}
		}
	}
	if err := visit(dir); err != nil && !gone(err) {
		return err
	}
	return nil
}

// Kill ends everything in the group at once: nothing in it can fork away. It
// returns before the last is gone.
func (g *Group) Kill() error {
	for _, f := range g.folders {
		if f.v2 {
			err := f.set("cgroup.kill", "1")
			if err == nil || gone(err) && !exists(f.path) {
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
			return errors.Join(f.set("freezer.state", "FROZEN"), g.signal(), f.set("freezer.state", "THAWED"))
		}
	}
	return g.signal()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (g *Group) signal() error {
	pids, err := g.Pids()
	for _, pid := range pids {
		if kill := syscall.Kill(pid, syscall.SIGKILL); kill != nil && !gone(kill) {
			err = errors.Join(err, fmt.Errorf("ending process %d: %w", pid, kill))
		}
	}
	return err
}

// removeFor is how long Remove waits for dying processes to be gone.
const removeFor = 5 * time.Second

// Remove removes the group, which must be empty or dying, and groups inside it;
// one that is gone already is no error.
func (g *Group) Remove() error {
	var errs []error
	for _, f := range g.folders {
		pause := time.Millisecond
		for waited := time.Duration(0); ; waited += pause {
			err := walk(f.path, syscall.Rmdir)
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || waited > removeFor {
				errs = append(errs, fmt.Errorf("removing the cgroup %s: %w", f.path, err))
				break
			}
			time.Sleep(pause)
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
	return errors.Join(errs...)
}
