package proctree

import (
	"os"
	"strings"
)

// MarkedTree is a tree of processes that others have started, on a host where their agent is not: all whose environment
// has the mark, and what these start. It is for asking what they use; nobody is ended through it.
func MarkedTree(mark string) *Tree {
	return &Tree{mark: mark, byPid: map[int]*member{}, roots: map[int]waiter{}, sessions: map[int]bool{}, loadavg: -1,
		changed: make(chan struct{}), isForeign: true}
}

// listMarked lists the processes that have the mark and whose parents have not: their descendants are found below
// them, so that what those used is counted once.
func (t *Tree) listMarked() []stat {
	all, err := t.read.findMarked(t.mark)
	if err != nil {
		return nil
	}
	marked := map[int]bool{}
	for _, s := range all {
		marked[s.pid] = true
	}
	var tops []stat
	for _, s := range all {
		if !marked[s.ppid] && t.byPid[s.ppid] == nil {
			tops = append(tops, s)
		}
	}
	return tops
}

// EnvironmentOf is the environment with which a process was started, as NAME=VALUE.
func EnvironmentOf(pid int) ([]string, error) {
	text, err := os.ReadFile(procPath(pid, "environ"))
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\x00"), "\x00"), nil
}
