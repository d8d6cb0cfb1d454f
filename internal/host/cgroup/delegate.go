package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// userPrefix begins the name of every group that is handed to a user.
const userPrefix = "user-"

// DelegateGroup makes a group below the cgroup this process is in, holds it to the limits
// and hands it to another user: processes of that user which are in it can make groups
// of their own inside. The limits stay ours; nothing inside can have more. A group of
// that name that was made before is taken, with these limits. A limit that cannot be
// kept is an error.
func DelegateGroup(name string, l Limits, uid, gid int) (*Group, error) {
	h, err := thisHost()
	if err != nil {
		return nil, err
	}
	g, err := h.delegateGroup(userPrefix+name, l, uid, gid)
	if err != nil {
		forgetHost() // something may have changed
	}
	return g, err
}

// delegatedControllers are those in whose hierarchies users get a group: all that
// Create may ask for.
var delegatedControllers = []string{"cpu", "cpuset", "memory", "pids", "cpuacct", "freezer"}

func (h *host) delegateGroup(name string, l Limits, uid, gid int) (*Group, error) {
	if _, err := h.neededPlaces(l); err != nil {
		return nil, err
	}
	var places []ownHierarchy
	for _, p := range h.places {
		if p.v2 || slices.ContainsFunc(delegatedControllers, func(c string) bool { return slices.Contains(p.has, c) }) {
			places = append(places, p)
		}
	}
	g, err := createIn(places, name, l)
	if err != nil {
		return nil, err
	}
	for _, f := range g.folders {
		if err := f.handOver(uid, gid); err != nil {
			return nil, fmt.Errorf("handing over a cgroup: %w", err)
		}
	}
	return g, nil
}

// handOver lets a user make groups in this one and move processes between them. In
// version 1 there are tasks, in version 2 the others besides cgroup.procs.
func (f folder) handOver(uid, gid int) error {
	errs := []error{os.Chown(f.path, uid, gid)}
	for _, file := range []string{"cgroup.procs", "tasks", "cgroup.threads", "cgroup.subtree_control"} {
		if err := os.Chown(filepath.Join(f.path, file), uid, gid); !isGone(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// UndividedControllers names the controllers of the limits that the user's own groups inside this
// one lack: those limits hold for everything of the user together. In version 2 a group with processes
// in it hands no controllers down.
func (g *Group) UndividedControllers(l Limits) []string {
	var names []string
	for _, c := range l.neededControllers() {
		if slices.ContainsFunc(g.folders, func(f folder) bool { return f.v2 && slices.Contains(f.has, c) }) {
			names = append(names, c)
		}
	}
	return names
}

// RemoveDelegated removes the groups below the cgroup this process is in that were handed
// to users under names with this beginning, unless something is in them. ending reports
// whether only processes keep one from being removed, as those that are about to end, and
// no groups of the user's own.
func RemoveDelegated(beginning string) (ending bool, err error) {
	h, err := thisHost()
	if err != nil {
		return false, err
	}
	var errs []error
	for _, p := range h.places {
		found, err := filepath.Glob(filepath.Join(p.base, prefix+userPrefix+beginning) + "*")
		errs = append(errs, err)
		for _, path := range found {
			err := syscall.Rmdir(path)
			switch {
			case errors.Is(err, syscall.EBUSY):
				ending = ending || !hasGroups(path)
			case err != nil && !isGone(err):
				errs = append(errs, fmt.Errorf("removing the cgroup %s: %w", path, err))
			}
		}
	}
	return ending, errors.Join(errs...)
}

func hasGroups(path string) bool {
	entries, _ := os.ReadDir(path) // one that is gone has none
	return slices.ContainsFunc(entries, os.DirEntry.IsDir)
}

// isDelegated reports whether a cgroup is one that was handed to a user.
func isDelegated(path string) bool {
	return strings.HasPrefix(filepath.Base(path), prefix+userPrefix)
}
