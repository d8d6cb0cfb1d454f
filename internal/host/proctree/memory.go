package proctree

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// ProportionalMemory is what the tree holds in memory now, with what processes share counted
// once: the proportional set size. Looking at it costs the kernel a walk through all
// pages, so it is for when the sum of the resident sizes is not good enough.
func (t *Tree) ProportionalMemory() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateMembers(true)
	var sum int64
	for _, m := range t.members {
		if m.isZombie() {
			continue
		}
		text, err := t.read.readFile(procPath(m.pid, "smaps_rollup"))
		switch {
		case err == nil:
			sum += parsePss(string(text))
		case errors.Is(err, fs.ErrPermission): // it runs as somebody else
			sum += m.rss * pageSize
		} // else it is gone, or about to be
	}
	return sum
}

// parsePss finds the line "Pss:      1234 kB"; 0 if there is none.
func parsePss(text string) int64 {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "Pss:"); ok {
			f := proctable.Fields{Rest: []byte(strings.TrimSpace(v))}
			return f.NextNumber() << 10
		}
	}
	return 0
}
