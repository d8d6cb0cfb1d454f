package sensor

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// freeMemory is how many bytes a program could have; 0 if that is not known. It
// is what the machine has left, and no more than our own cgroup has.
func freeMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	free := parseAvailable(string(text))
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return free
	}
	for _, g := range memoryGroups(string(own)) {
		if left, ok := g.memoryLeft(); ok {
			free = min(free, left)
		}
	}
	return free
}

func parseAvailable(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err == nil && kib >= 0 && kib < 1<<50 {
				return kib << 10
			}
		}
	}
	return 0
}

// memoryGroup is a cgroup that may limit memory.
type memoryGroup struct{ limit, used string } // files

// memoryGroups are those of a process, from /proc/PID/cgroup, where they usually
// are mounted, and those above them.
func memoryGroups(own string) []memoryGroup {
	var list []memoryGroup
	for line := range strings.Lines(own) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || !filepath.IsAbs(f[2]) {
			continue
		}
		dir, limit, used := "/sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case f[1] == "memory":
			dir, limit, used = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		case f[0] != "0" || f[1] != "":
			continue
		}
		for path := filepath.Clean(f[2]); path != "/"; path = filepath.Dir(path) {
			list = append(list, memoryGroup{filepath.Join(dir, path, limit), filepath.Join(dir, path, used)})
		}
	}
	return list
}

// memoryLeft is what the group may still use; false if it has no limit.
func (g memoryGroup) memoryLeft() (int64, bool) {
	limit, ok := readNumber(g.limit)
	used, known := readNumber(g.used)
	return max(0, limit-used), ok && known
}

func readNumber(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil // "max" is none
}
