package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// groupPrefix begins the name of every lab's cgroups.
const groupPrefix = "gwlab-"

// groups is the cgroups of one lab: in each hierarchy a folder for the lab, in
// it one for each host. They hang at the top of the hierarchies and not below the
// cgroup of whoever made them: a lab is removed by another process, perhaps in
// another cgroup, that knows no more than its name.
type groups struct {
	name string // with the prefix
	lab  *cgroup.Group
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
	all, err := cgroup.ListTopGroups(neededControllers)
	var names []string
	for _, group := range all {
		if name := labForGroup(base, group); name != "" {
			names = append(names, name)
		}
	}
	return names, err
}

// findGroups looks where the cgroups of a lab are, or would be.
func findGroups(base, lab string) (*groups, error) {
	name := groupName(base, lab)
	group, err := cgroup.TopGroup(name, neededControllers)
	if err != nil {
		return nil, err
	}
	return &groups{name, group}, nil
}

// makeGroups makes the lab's own groups, in which those of hosts will be. The grid goes
// first: what else happens on the machine is noise.
func (g *groups) makeGroups() error {
	if err := g.lab.MakeGroup(cgroup.Limits{}); err != nil {
		return fmt.Errorf("making the lab's cgroups: %w", err)
	}
	g.lab.HandDown()
	return g.lab.PreferGroup()
}

// limits of a host.
type limits struct {
	cpus   float64 // 0: none
	pin    int     // -1: to no processor
	memory int64
}

// addHost makes the groups of a host, or sets their limits.
func (g *groups) addHost(host string, l limits) error {
	kept := cgroup.Limits{Memory: l.memory}
	if l.pin >= 0 {
		kept.CPUs = []int{l.pin}
	}
	group := g.groupOf(host)
	if err := group.MakeGroup(kept); err != nil {
		return fmt.Errorf("making the cgroups of %s: %w", host, err)
	}
	return group.SetCPUShare(l.cpus)
}

// groupOf is the group of a host.
func (g *groups) groupOf(host string) *cgroup.Group { return g.lab.Subgroup(host) }

// addProcess puts a process, or this one, into the groups of a host, and within these
// into one by which it can be told from the rest.
func (g *groups) addProcess(host, within string, pid int) error {
	if within == "" {
		return g.groupOf(host).AddProcess(pid)
	}
	return g.groupOf(host).AddProcessWithin(within, pid)
}

// killTimeout is how long processes may take to be gone. One that hangs in the
// kernel, in a transfer say, takes its time.
const killTimeout = 20 * time.Second

// killAll ends all processes of a host, of a group within it, or of the lab, and
// returns when they are gone.
func (g *groups) killAll(parts ...string) error { return g.lab.Subgroup(parts...).EndAll(killTimeout) }
