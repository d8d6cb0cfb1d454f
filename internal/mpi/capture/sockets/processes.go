package sockets

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// process is one that came from the command.
type process struct {
	pid   int
	start string // when it began, so that another with its number is not taken for it
	name  string
}

// family is the processes that came from the command, those that live.
type family struct{ living []*process }

// updateMembers finds who is new and who is gone. Who is known stays, whoever becomes its parent.
func (f *family) updateMembers() {
	f.living = slices.DeleteFunc(f.living, func(p *process) bool { return !p.isAlive() })
	for i := 0; i < len(f.living); i++ { // it grows while it is gone through
		for _, pid := range childProcesses(f.living[i].pid) {
			known := slices.ContainsFunc(f.living, func(p *process) bool { return p.pid == pid })
			if p := (&process{pid: pid}); !known && p.isAlive() {
				f.living = append(f.living, p)
			}
		}
	}
}

// isAlive reports whether the process is still there, and notes what it is called now.
func (p *process) isAlive() bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "stat"))
	if err != nil {
		return false
	}
	name, start, ok := parseStat(text)
	if !ok || p.start != "" && start != p.start {
		return false
	}
	p.name, p.start = name, start
	return true
}

// parseStat finds the name and the start in /proc/PID/stat. The name stands in brackets
// and may have brackets and spaces in it.
func parseStat(text []byte) (name, start string, ok bool) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return "", "", false
	}
	rest := strings.Fields(string(text[to+1:]))
	const startField = 19 // after the name
	if len(rest) <= startField {
		return "", "", false
	}
	return string(text[from+1 : to]), rest[startField], true
}

func childProcesses(pid int) []int {
	var list []int
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return nil
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the thread is gone
		}
		for _, word := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// socketHolders says which process has which socket. Of several it is the oldest: who was
// started with an open socket seldom uses it, and who hands one on closes it.
func (f *family) socketHolders() map[uint32]*process {
	held := map[uint32]*process{}
	for _, p := range f.living {
		dir := filepath.Join("/proc", strconv.Itoa(p.pid), "fd")
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // it is gone, or another user's
		}
		for _, e := range entries {
			to, err := os.Readlink(filepath.Join(dir, e.Name()))
			if err != nil {
				continue // closed meanwhile
			}
			number, ok := strings.CutPrefix(to, "socket:[")
			inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 32)
			if ok && err == nil && held[uint32(inode)] == nil {
				held[uint32(inode)] = p
			}
		}
	}
	return held
}
