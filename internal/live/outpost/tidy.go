package outpost

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// binariesMaxAge is how long binaries are kept that no outpost has used any more:
// longer than any agent is likely to run.
const binariesMaxAge = 90 * 24 * time.Hour

// tidyBinaries removes binaries that brokers before brought here. self is the
// path of ours: DIR/bin/SUM/godwit. That of others is noted by the time of its
// folder, which ours is given now.
func tidyBinaries(self string, now time.Time) {
	folder := broughtTo(self)
	if folder == "" {
		return
	}
	bin := filepath.Dir(folder)
	_ = os.Chtimes(folder, now, now) // else it is only kept for less long
	entries, err := os.ReadDir(bin)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !isSum(e.Name()) || e.Name() == filepath.Base(folder) ||
			now.Sub(info.ModTime()) < binariesMaxAge {
			continue
		}
		_ = os.RemoveAll(filepath.Join(bin, e.Name())) // the next may be luckier
	}
}

// isSum reports whether a folder is named as brokers name those of binaries.
func isSum(name string) bool {
	return len(name) == 16 && strings.Trim(name, "0123456789abcdef") == ""
}
