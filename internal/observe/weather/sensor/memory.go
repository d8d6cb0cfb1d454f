package sensor

import (
	"os"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/host/cgroup"
)

// freeMemory is how many bytes a program could have; 0 if that is not known. It
// is what the machine has left, and no more than our own cgroup has.
func freeMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	free := parseAvailable(string(text))
	if left, ok := cgroup.FreeMemory(); ok {
		free = min(free, left)
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
