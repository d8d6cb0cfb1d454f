package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc on Linux.
const tick = 10 * time.Millisecond

// cpuTime is what a process, and all that it and they started, have used. The
// processes in which gVisor runs a program's code are waited for by nobody, so
// what they used must be read while the sandbox lives.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// Behind the name, which may hold anything.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 15 {
		return 0
	}
	var sum time.Duration
	for _, field := range f[11:13] { // user and system
		if n, err := strconv.ParseInt(field, 10, 38); err == nil {
			sum += time.Duration(n) * tick
		}
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return sum
	}
	for _, t := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				sum += cpuTime(child)
			}
		}
	}
	return sum
}
