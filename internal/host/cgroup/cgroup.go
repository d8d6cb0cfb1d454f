// Package cgroup is all that Godwit knows of cgroups, in version 1 hierarchies and in
// version 2: it reads which ones processes are in and what these limit, makes groups of
// our own where this process may, limits, measures, freezes and ends what is in them and
// removes them. It never touches a cgroup that it did not create, but for the controllers
// that the top of a hierarchy hands down to a group of TopGroup. It must not know what
// runs inside.
package cgroup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// prefix begins the name of every folder that this package creates, so that it
// never mistakes another's for its own.
const prefix = "godwit-"

// Group is one cgroup of ours: a folder of the same name in each hierarchy
// that is needed for it.
type Group struct {
	folders []folder // every process is in all of them; the order of CreateGroup is that of their paths
}

// folder is a group in one hierarchy.
type folder struct {
	path string
	v2   bool
	has  []string // its controllers
}

// Limits are what a group is held to; zero values are no limit.
type Limits struct {
	CPU    float64 // processors' worth of time
	CPUs   []int   // processors
	Memory int64   // bytes
	Pids   int     // processes and threads
}

// neededControllers names those that keep the limits.
func (l Limits) neededControllers() []string {
	var names []string
	if l.CPU > 0 {
		names = append(names, "cpu")
	}
	if len(l.CPUs) > 0 {
		names = append(names, "cpuset")
	}
	if l.Memory > 0 {
		names = append(names, "memory")
	}
	if l.Pids > 0 {
		names = append(names, "pids")
	}
	return names
}

func goodName(name string) bool {
	if name == "" || len(name) > 100 {
		return false
	}
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// CreateGroup makes a group of that name, or takes the one of that name that an
// earlier process of ours created, below the cgroup this process is in. What is
// in it can be measured and ended as a whole where the system allows that; a
// limit that cannot be kept is an error, and then no group is left behind.
func CreateGroup(name string, l Limits) (*Group, error) {
	h, err := thisHost()
	if err != nil {
		return nil, err
	}
	g, err := h.createGroup(name, l)
	if err != nil {
		forgetHost() // something may have changed
	}
	return g, err
}

func (h *host) createGroup(name string, l Limits) (*Group, error) {
	if !goodName(name) {
		return nil, fmt.Errorf("%q is no name for a cgroup: letters, digits, dots and dashes are", name)
	}
	places, err := h.neededPlaces(l)
	if err != nil {
		return nil, err
	}
	return createIn(places, name, l)
}

// createIn makes the group's folders. What was there before stays after an error.
func createIn(places []ownHierarchy, name string, l Limits) (*Group, error) {
	g, made := &Group{}, &Group{}
	for _, p := range places {
		f := folder{path: filepath.Join(p.base, prefix+name), v2: p.v2, has: p.has}
		switch err := os.Mkdir(f.path, 0o755); {
		case err == nil:
			made.folders = append(made.folders, f)
		case !errors.Is(err, fs.ErrExist):
			return nil, errors.Join(fmt.Errorf("a cgroup could not be made: %w", err), made.RemoveGroup())
		}
		g.folders = append(g.folders, f)
	}
	slices.SortFunc(g.folders, func(a, b folder) int { return cmp.Compare(a.path, b.path) })
	for _, f := range g.folders {
		if err := f.setLimits(l); err != nil {
			return nil, errors.Join(err, made.RemoveGroup())
		}
	}
	return g, nil
}

// MakeGroup makes the folders that are not there yet and sets the limits.
func (g *Group) MakeGroup(l Limits) error {
	for _, f := range g.folders {
		if err := os.Mkdir(f.path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("a cgroup could not be made: %w", err)
		}
		if err := f.setLimits(l); err != nil {
			return err
		}
	}
	return nil
}

// Subgroup is the group at a path below this one, whether it is there or not.
func (g *Group) Subgroup(names ...string) *Group {
	below := &Group{folders: slices.Clone(g.folders)}
	for i := range below.folders {
		below.folders[i].path = filepath.Join(append([]string{below.folders[i].path}, names...)...)
	}
	return below
}

// ExistingFolders lists the group's folders that are there.
func (g *Group) ExistingFolders() []string {
	var paths []string
	for _, f := range g.folders {
		if pathExists(f.path) {
			paths = append(paths, f.path)
		}
	}
	return paths
}

// HasController reports whether a controller is at work in the group.
func (g *Group) HasController(controller string) bool {
	return slices.ContainsFunc(g.folders, func(f folder) bool { return slices.Contains(f.has, controller) })
}

// SingleFolder is the group's folder if it has just one, of version 2: there a process
// can be started, and need not be moved.
func (g *Group) SingleFolder() (path string, ok bool) {
	if len(g.folders) != 1 || !g.folders[0].v2 {
		return "", false
	}
	return g.folders[0].path, true
}

// String is the group's folders, for OpenGroup in another process. No two groups
// have the same.
func (g *Group) String() string {
	var parts []string
	for _, f := range g.folders {
		kind := strings.Join(f.has, ",")
		if f.v2 {
			kind = "2," + kind
		}
		parts = append(parts, kind+"="+f.path)
	}
	return strings.Join(parts, ":")
}

// OpenGroup is the group that String wrote. It looks whether the folders are cgroups
// of ours, not whether they are still there.
func OpenGroup(s string) (*Group, error) {
	g, err := parseGroup(s)
	if err != nil {
		return nil, err
	}
	for _, f := range g.folders {
		var st unix.Statfs_t
		if err := unix.Statfs(filepath.Dir(f.path), &st); err != nil {
			return nil, fmt.Errorf("looking at the cgroup %s: %w", f.path, err)
		}
		if st.Type != unix.CGROUP_SUPER_MAGIC && st.Type != unix.CGROUP2_SUPER_MAGIC {
			return nil, fmt.Errorf("%s is not in a cgroup file system", f.path)
		}
	}
	return g, nil
}

// parseGroup reads what String wrote, and nothing else.
func parseGroup(s string) (*Group, error) {
	g := &Group{}
	for part := range strings.SplitSeq(s, ":") {
		kind, path, ok := strings.Cut(part, "=")
		if !ok || path != filepath.Clean(path) || !filepath.IsAbs(path) ||
			!strings.HasPrefix(filepath.Base(path), prefix) || !goodName(filepath.Base(path)) {
			return nil, fmt.Errorf("%q does not name cgroups of ours", s)
		}
		f := folder{path: path}
		if kind == "2" || strings.HasPrefix(kind, "2,") {
			f.v2 = true
			kind = strings.TrimPrefix(kind[1:], ",")
		}
		if kind != "" {
			f.has = strings.Split(kind, ",")
		}
		g.folders = append(g.folders, f)
	}
	return g, nil
}
