package proctree

import "strings"

// Memory is what the tree holds in memory now, with what processes share counted
// once: the proportional set size. Looking at it costs the kernel a walk through all
// pages, so it is for when the sum of the resident sizes is not good enough.
func (t *Tree) Memory() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.look(true)
	var sum int64
	for _, m := range t.members {
		if m.zombie() {
			continue
		}
		if text, err := t.read.file(procPath(m.pid, "smaps_rollup")); err == nil {
			if n, ok := parsePss(string(text)); ok {
				sum += n
				continue
			}
		}
		sum += m.rss * pageSize
	}
	return sum
}

// parsePss finds the line "Pss:      1234 kB".
func parsePss(text string) (int64, bool) {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "Pss:"); ok {
			f := fields{rest: []byte(strings.TrimSpace(v))}
			return f.number() << 10, true
		}
	}
	return 0, false
}
