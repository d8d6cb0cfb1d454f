package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// groups finds out in which groups the kernel's scheduler puts processes, and
// what weights those have. It remembers weights for the time of one scan.
type groups struct {
	mount    string // of the hierarchy with the CPU controller; "" if there is none
	unified  bool   // version 2
	sessions bool   // sessions are groups (autogroup)
	weights  map[string]float64
}

func newGroups() *groups {
	g := &groups{weights: map[string]float64{}}
	if data, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		g.mount, g.unified = parseMounts(string(data))
	}
	if data, err := os.ReadFile("/proc/sys/kernel/sched_autogroup_enabled"); err == nil {
		g.sessions = strings.TrimSpace(string(data)) == "1"
	}
	return g
}

// parseMounts finds the cgroup hierarchy with the CPU controller: one of
// version 1 if there is one, else that of version 2.
func parseMounts(mountinfo string) (dir string, unified bool) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 {
			continue
		}
		where := unescapeMount(f[4])
		switch {
		case g[0] == "cgroup" && hasWord(g[2], "cpu"):
			return where, false
		case g[0] == "cgroup2" && dir == "":
			dir, unified = where, true
		}
	}
	return dir, unified
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// unescapeMount undoes how mountinfo writes blanks.
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(s)
}

// groupsOf are the groups that a process is in, outermost first.
func (g *groups) groupsOf(pid int) []node {
	proc := "/proc/" + strconv.Itoa(pid) + "/"
	if data, err := os.ReadFile(proc + "cgroup"); err == nil && g.mount != "" {
		if path := g.cgroupLevels(parseCgroup(string(data), g.unified)); len(path) > 0 {
			return path // within a cgroup, sessions are no groups
		}
	}
	if g.sessions {
		if data, err := os.ReadFile(proc + "autogroup"); err == nil {
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
	if data, err := os.ReadFile("/proc/self/cgroup"); err == nil && g.mount != "" {
		path := g.cgroupLevels(parseCgroup(string(data), g.unified))
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

// parseCgroup is the path of the cgroup with the CPU controller, from the
// content of /proc/PID/cgroup.
func parseCgroup(data string, unified bool) string {
	for line := range strings.Lines(data) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) == 3 && (unified && f[0] == "0" && f[1] == "" || !unified && hasWord(f[1], "cpu")) {
			return f[2]
		}
	}
	return "/"
}

// cgroupLevels are the levels of a path that the scheduler knows.
func (g *groups) cgroupLevels(path string) []node {
	var levels []node
	path = filepath.Clean("/" + path)
	for i := 1; i <= len(path) && path != "/"; i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if w := g.cgroupWeight(path[:i]); w > 0 {
			levels = append(levels, node{path[:i], w})
		}
	}
	return levels
}

// cgroupWeight is that of one cgroup; 0 if the scheduler does not know it.
func (g *groups) cgroupWeight(path string) float64 {
	if w, known := g.weights[path]; known {
		return w
	}
	file, usual := "cpu.shares", 1024.0
	if g.unified {
		file, usual = "cpu.weight", 100
	}
	w := 0.0
	if data, err := os.ReadFile(filepath.Join(g.mount, path, file)); err == nil {
		if n, err := strconv.Atoi(string(bytes.TrimSpace(data))); err == nil && n > 0 {
			w = float64(n) / usual
		}
	}
	g.weights[path] = w
	return w
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
