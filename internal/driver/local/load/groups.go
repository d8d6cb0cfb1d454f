package load

import (
	"os"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// groups finds out in which groups the kernel's scheduler puts processes, and
// what weights those have, for the time of one scan.
type groups struct {
	cgroups  *cgroup.Scheduling
	sessions bool // sessions are groups (autogroup)
}

func newGroups() *groups {
	g := &groups{cgroups: cgroup.ReadScheduling()}
	if data, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); err == nil {
		g.sessions = strings.TrimSpace(string(data)) == "1"
	}
	return g
}

// groupsOf are the groups that a process is in, outermost first.
func (g *groups) groupsOf(pid int) []node {
	if path := cgroupNodes(g.cgroups.LevelsOf(pid)); len(path) > 0 {
		return path // within a cgroup, sessions are no groups
	}
	if g.sessions {
		if data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/autogroup"); err == nil {
			if key, nice, ok := parseAutogroup(data); ok {
				return []node{{key, niceWeight(nice)}}
			}
		}
	}
	return nil
}

// newcomerGroups are the groups of a process that would be started here in a session of
// its own, or in a cgroup of its own below ours.
func (g *groups) newcomerGroups(nice int, inCgroup bool) newcomer {
	alone := []node{{"its own", 1}}
	if levels, ok := g.cgroups.OwnLevels(); ok {
		path := cgroupNodes(levels)
		if inCgroup {
			return newcomer{append(path, alone...), 1}
		}
		if len(path) > 0 {
			return newcomer{path, niceWeight(nice)}
		}
	}
	if g.sessions {
		return newcomer{alone, 1}
	}
	return newcomer{nil, niceWeight(nice)}
}

func cgroupNodes(levels []cgroup.Level) []node {
	var nodes []node
	for _, l := range levels {
		nodes = append(nodes, node{l.Path, l.Weight})
	}
	return nodes
}

// parseAutogroup reads "/autogroup-17 nice 5".
func parseAutogroup(data []byte) (key string, nice int, ok bool) {
	f := strings.Fields(string(data))
	if len(f) != 3 || f[1] != "nice" || !strings.HasPrefix(f[0], "/autogroup-") {
		return "", 0, false
	}
	nice, err := strconv.Atoi(f[2])
	return f[0], nice, err == nil && nice >= -20 && nice <= 19
}
