package calibrate

import (
	"fmt"
	"os"
	"strings"
)

// TotalMemory is how much memory this machine has, in bytes; 0 if that is not known.
func TotalMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return ParseTotalMemory(string(text))
}

// ParseTotalMemory finds it in the text of /proc/meminfo.
func ParseTotalMemory(text string) int64 {
	for line := range strings.Lines(text) {
		var kib int64
		if _, err := fmt.Sscanf(line, "MemTotal: %d kB", &kib); err == nil && kib > 0 && kib < 1<<50 {
			return kib << 10
		}
	}
	return 0
}
