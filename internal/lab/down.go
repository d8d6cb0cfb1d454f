package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// RemoveLab removes a lab and all that runs on it, or what is left of it. That there
// is none is no error.
func RemoveLab(ctx context.Context, name string) error {
	if err := goodName("a lab", name, maxLabName); err != nil {
		return err
	}
	base := BaseFolder()
	// Who is killed just after taking the lock leaves nothing but that.
	if isGone(filepath.Join(base, name)) && isGone(lockPath(base, name)) && !hasGroups(base, name) {
		return nil
	}
	if err := refuseForeign(base, name); err != nil {
		return err
	}
	if err := CheckAble(); err != nil {
		return err
	}
	unlock, err := lockLab(ctx, base, name)
	if err != nil {
		return err
	}
	defer unlock()
	if err := removeAll(base, name); err != nil {
		return fmt.Errorf("removing the lab %s: %w", name, err)
	}
	_ = os.Remove(lockPath(base, name)) // whoever waits for it looks again
	if base == defaultBase {
		_ = os.Remove(base) // if it was the last
	}
	return nil
}

// refuseForeign says that a folder which has a lab's name is none: whoever makes or removes
// one takes its lock first, which stays as long as the folder does.
func refuseForeign(base, name string) error {
	dir := filepath.Join(base, name)
	if isGone(dir) || !isGone(lockPath(base, name)) || !isGone(filepath.Join(dir, stateFile)) || hasGroups(base, name) {
		return nil
	}
	return &badinput.Error{Field: "GODWIT_LABS", Value: base,
		Want: fmt.Sprintf("a folder for labs alone; %s in it is no lab, and is left as it is", name)}
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func hasGroups(base, name string) bool {
	g, err := findGroups(base, name)
	return err == nil && len(g.lab.ExistingFolders()) > 0
}

// removeAll ends everything first: namespaces, with all links and mounts in
// them, end with the last of their processes.
func removeAll(base, name string) error {
	g, err := findGroups(base, name)
	if err != nil {
		return err
	}
	if err := g.killAll(); err != nil {
		return err
	}
	if err := g.lab.RemoveWithTimeout(killTimeout); err != nil {
		return err
	}
	dir := filepath.Join(base, name)
	if err := nothingMounted(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// nothingMounted makes sure that removing a folder removes nothing else.
func nothingMounted(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 4 && (f[4] == dir || strings.HasPrefix(f[4], dir+"/")) {
			return fmt.Errorf("something is mounted on %s", f[4])
		}
	}
	return nil
}
