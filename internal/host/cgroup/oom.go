package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// OOMKills is how many processes of the group the kernel has killed because the
// group was out of memory.
func (g *Group) OOMKills() (int64, error) {
	for _, f := range g.folders {
		if f.v2 || slices.Contains(f.has, "memory") {
			return readOOMKills(f.path, f.v2)
		}
	}
	return 0, errors.New("the cgroup does not limit memory")
}

// OwnOOMKills is the same of the cgroup that this process is in, which somebody else,
// as a batch system, may have made.
func OwnOOMKills() (int64, error) {
	h, err := thisHost()
	if err != nil {
		return 0, err
	}
	for _, p := range h.places {
		if !p.v2 && !slices.Contains(p.has, "memory") {
			continue
		}
		if n, err := readOOMKills(p.base, p.v2); err == nil {
			return n, nil
		}
	}
	return 0, errors.New("no cgroup of this process limits memory")
}

func readOOMKills(folder string, v2 bool) (int64, error) {
	file := "memory.oom_control"
	if v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return 0, err
	}
	return parseOOMKills(string(text))
}

// parseOOMKills finds the count in memory.events of version 2 or memory.oom_control of
// version 1, which have a line each for several counts.
func parseOOMKills(text string) (int64, error) {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil || n < 0 {
				return 0, fmt.Errorf("oom_kill is %q, not a number", strings.TrimSpace(v))
			}
			return n, nil
		}
	}
	return 0, errors.New("the cgroup does not count what it killed")
}
