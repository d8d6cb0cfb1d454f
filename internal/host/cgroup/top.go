package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// TopGroup finds where the group of a name at the top of the hierarchies is, or would be:
// of those hierarchies that have one of the controllers. Other than the groups of
// CreateGroup it does not hang below the cgroup of this process, so that another process
// in another cgroup finds it that knows no more than its name.
func TopGroup(name string, controllers []string) (*Group, error) {
	tops, err := readTops(controllers)
	if err != nil {
		return nil, err
	}
	if len(tops.folders) == 0 {
		return nil, errors.New("no cgroups are mounted here")
	}
	return tops.Subgroup(name), nil
}

// ListTopGroups lists the names of all groups, whoever made them, at the top of the
// hierarchies that have one of the controllers. One that is in several is named
// several times.
func ListTopGroups(controllers []string) ([]string, error) {
	tops, err := readTops(controllers)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range tops.folders {
		entries, _ := os.ReadDir(f.path) // who may not look there has not made any
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func readTops(controllers []string) (*Group, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	return &Group{folders: topFolders(parseMounts(mounts), controllers)}, nil
}

// topFolders are the hierarchies with one of the controllers, each once. First comes the
// one through which a group can be ended and frozen as a whole: that of version 2, else
// that with the freezer.
func topFolders(mounts []mount, controllers []string) []folder {
	var list []folder
	seen := map[string]bool{}
	for _, m := range mounts {
		f := folder{path: m.point, v2: m.v2, has: slices.Clone(m.controllers)}
		if f.v2 {
			if down, err := f.readControl("cgroup.controllers"); err == nil {
				f.has = strings.Fields(down)
			}
		}
		f.has = slices.DeleteFunc(f.has, func(c string) bool { return !slices.Contains(controllers, c) })
		key := strings.Join(f.has, ",")
		if f.v2 {
			key = "2"
		}
		if key != "" && !seen[key] {
			seen[key] = true
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b folder) int { return a.endingRank() - b.endingRank() })
	return list
}

// endingRank orders hierarchies by how well processes are ended through them.
func (f folder) endingRank() int {
	switch {
	case f.v2:
		return 0
	case slices.Contains(f.has, "freezer"):
		return 1
	}
	return 2
}

// HandDown has the cgroup above a group of TopGroup hand its controllers down to it, and
// the group hand them down to those inside it, one by one where that is possible: who
// needs one that is missing says so.
func (g *Group) HandDown() {
	for _, f := range g.folders {
		if !f.v2 {
			continue // every group of version 1 has its hierarchy's controllers
		}
		above := folder{path: filepath.Dir(f.path), v2: true}
		for _, c := range f.has {
			_ = above.writeControl("cgroup.subtree_control", "+"+c)
			_ = f.writeControl("cgroup.subtree_control", "+"+c)
		}
	}
}
