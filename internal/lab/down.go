package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Down removes a lab and all that runs on it, or what is left of it. That there
// is none is no error.
func Down(ctx context.Context, name string) error {
	if err := goodName("a lab", name, maxLabName); err != nil {
		return err
	}
	base := Base()
	if gone(filepath.Join(base, name)) && !hasGroups(base, name) {
		return nil
	}
	if err := Able(); err != nil {
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

func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func hasGroups(base, name string) bool {
	g, err := findGroups(base, name)
	if err != nil {
		return false
	}
	for _, t := range g.trees {
		if !gone(g.path(t)) {
			return true
		}
	}
	return false
}

// removeAll ends everything first: namespaces, with all links and mounts in
// them, end with the last of their processes.
func removeAll(base, name string) error {
	g, err := findGroups(base, name)
	if err != nil {
		return err
	}
	if err := g.kill(); err != nil {
		return err
	}
	if err := g.remove(); err != nil {
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
