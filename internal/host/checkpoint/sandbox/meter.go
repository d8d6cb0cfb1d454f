package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// meterInterval is how often the processor time is read, for the case that the
// sandbox dies. Else it is read in the end, before the processes are gone that
// ran the program's code: nobody waits for them, so it would be lost with them.
const meterInterval = 10 * time.Second

// tickLength is the unit of processor time in /proc on Linux.
const tickLength = 10 * time.Millisecond

// meter adds up the processor time of a process and its descendants.
type meter struct {
	root int

	mu   sync.Mutex
	used map[process]time.Duration
}

// readUsage looks at every process that lives.
func (m *meter) readUsage() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used == nil {
		m.used = map[process]time.Duration{}
	}
	m.visitProcess(m.root)
}

func (m *meter) visitProcess(pid int) {
	st, err := readStat(pid)
	if err != nil {
		return
	}
	m.used[process{pid, st.start}] = st.used
	for _, child := range childPids(pid) {
		m.visitProcess(child)
	}
}

// totalTime is what was used, as far as it was read.
func (m *meter) totalTime() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var sum time.Duration
	for _, d := range m.used {
		sum += d
	}
	return sum
}

// seenProcesses are all processes that were ever read, but for the first.
func (m *meter) seenProcesses() []process {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []process
	for p := range m.used {
		if p.pid != m.root {
			out = append(out, p)
		}
	}
	return out
}

// childPids are the processes that any thread of a process started.
func childPids(pid int) []int {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, t := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}

// process is a process that no other can be taken for: numbers are used again.
type process struct {
	pid   int
	start uint64 // in ticks since the host started; 0: it had ended already
}

// identifyProcess is the process that has a number now.
func identifyProcess(pid int) process {
	st, err := readStat(pid)
	if err != nil {
		return process{pid: pid}
	}
	return process{pid, st.start}
}

// awaitEnd returns when the process is gone. Its parent may have died before
// it, and then it may have become our child.
func (p process) awaitEnd() {
	for p.start != 0 {
		if pid, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil && pid == p.pid {
			return
		}
		st, err := readStat(p.pid)
		// The first thread of a process may have ended before the others.
		if err != nil || st.start != p.start || (st.state == 'Z' || st.state == 'X') && st.threads <= 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// stat is what is used of /proc/PID/stat.
type stat struct {
	state   byte
	used    time.Duration
	threads uint64
	start   uint64
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// parseStat reads the fields behind the name, which may hold anything.
func parseStat(text []byte) (stat, error) {
	_, rest, ok := cutLast(text, ')')
	f := strings.Fields(rest)
	if !ok || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, fmt.Errorf("not the stat of a process: %.40q", text)
	}
	// Bounded so that the sum is one of nanoseconds.
	user, err1 := strconv.ParseUint(f[11], 10, 38)
	system, err2 := strconv.ParseUint(f[12], 10, 38)
	threads, err3 := strconv.ParseUint(f[17], 10, 64)
	start, err4 := strconv.ParseUint(f[19], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return stat{}, fmt.Errorf("not the stat of a process: %.40q", text)
	}
	return stat{f[0][0], time.Duration(user+system) * tickLength, threads, start}, nil
}

func cutLast(text []byte, sep byte) (before, after string, ok bool) {
	i := bytes.LastIndexByte(text, sep)
	if i < 0 {
		return "", "", false
	}
	return string(text[:i]), string(text[i+1:]), true
}
