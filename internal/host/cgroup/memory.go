package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
)

// FreeMemory is how many bytes the cgroups that this process is in leave it, the
// narrowest of them; false if none of them limits memory.
func FreeMemory() (int64, bool) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	h, err := thisHost()
	if err != nil {
		return 0, false
	}
	return h.freeMemory(parseOwn(own))
}

func (h *host) freeMemory(own map[string]string) (free int64, limited bool) {
	for _, p := range h.places {
		path, ok := p.pathIn(own, "memory")
		for dir := p.base; ok && path != "/"; dir, path = filepath.Dir(dir), filepath.Dir(path) {
			left, has := (folder{path: dir, v2: p.v2}).memoryLeft()
			if has && (!limited || left < free) {
				free, limited = left, true
			}
		}
	}
	return free, limited
}

// memoryLeft is what the group may still use; false if it has no limit.
func (f folder) memoryLeft() (int64, bool) {
	limitFile, usedFile := "memory.limit_in_bytes", "memory.usage_in_bytes"
	if f.v2 {
		limitFile, usedFile = "memory.max", "memory.current"
	}
	limit, ok := f.readNumber(limitFile)
	used, known := f.readNumber(usedFile)
	return max(0, limit-used), ok && known
}

func (f folder) readNumber(file string) (int64, bool) {
	text, err := f.readControl(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil // "max" is none
}
