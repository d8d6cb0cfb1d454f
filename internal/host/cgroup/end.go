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
	return pidsBelow(g.folders[0].path) // every process is in every folder: one is enough
}

func pidsBelow(path string) ([]int, error) {
	var pids []int
	err := walkGroups(path, func(dir string) error {
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
			return errors.Join(f.setFrozen(true), g.killEach(), f.setFrozen(false))
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

// endPause is between two looks whether processes are gone.
const endPause = 5 * time.Millisecond

// EndAll ends everything in the group, frozen or not, and returns when it is gone. An
// error says that something is still there after the timeout.
func (g *Group) EndAll(timeout time.Duration) error {
	for waited := time.Duration(0); ; waited += endPause {
		left := 0
		for _, f := range g.folders {
			n, err := f.killAndThaw()
			if err != nil {
				return err
			}
			left += n
		}
		if left == 0 {
			return nil
		}
		if waited > timeout {
			return fmt.Errorf("%d processes of %s do not end", left, filepath.Base(g.folders[0].path))
		}
		time.Sleep(endPause)
	}
}

// killAndThaw ends what is in one folder and counts it.
func (f folder) killAndThaw() (int, error) {
	pids, err := pidsBelow(f.path)
	if err != nil || len(pids) == 0 {
		return 0, err
	}
	if f.v2 {
		_ = f.writeControl("cgroup.kill", "1") // nothing can fork away; old kernels do not have it
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone
	}
	if f.v2 || slices.Contains(f.has, "freezer") {
		// One that is frozen would not notice.
		_ = walkGroups(f.path, func(dir string) error { _ = folder{path: dir, v2: f.v2}.setFrozen(false); return nil })
	}
	return len(pids), nil
}

// processFolder is the one through which processes can be frozen and ended as a whole.
func (g *Group) processFolder() (folder, bool) {
	for _, f := range g.folders {
		if f.v2 {
			return f, true
		}
	}
	for _, f := range g.folders {
		if slices.Contains(f.has, "freezer") {
			return f, true
		}
	}
	return folder{}, false
}

// SetFrozen stops everything in the group, or lets it go on.
func (g *Group) SetFrozen(frozen bool) error {
	f, ok := g.processFolder()
	if !ok {
		return errors.New("this system has no cgroups that can be frozen")
	}
	return f.setFrozen(frozen)
}

func (f folder) setFrozen(frozen bool) error {
	file, value := "freezer.state", "THAWED"
	if frozen {
		value = "FROZEN"
	}
	if f.v2 {
		file, value = "cgroup.freeze", "0"
		if frozen {
			value = "1"
		}
	}
	return f.writeControl(file, value)
}

// removeTimeout is how long RemoveGroup waits for dying processes to be gone.
const removeTimeout = 5 * time.Second

// RemoveGroup removes the group, which must be empty or dying, and groups inside it;
// one that is gone already is no error.
func (g *Group) RemoveGroup() error { return g.RemoveWithTimeout(removeTimeout) }

// RemoveWithTimeout is RemoveGroup with another time to wait for the dying.
func (g *Group) RemoveWithTimeout(timeout time.Duration) error {
	var errs []error
	for _, f := range g.folders {
		pause := time.Millisecond
		for waited := time.Duration(0); ; waited += pause {
			err := walkGroups(f.path, syscall.Rmdir)
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.EBUSY) || waited > timeout {
				errs = append(errs, fmt.Errorf("removing the cgroup %s: %w", f.path, err))
				break
			}
			time.Sleep(pause)
			pause = min(2*pause, 50*time.Millisecond)
		}
	}
	return errors.Join(errs...)
}
