// Package proctable reads the kernel's table of processes: one short file for each. It is the
// one parser of /proc/PID/stat, and makes no garbage: agents and drivers read it every few
// seconds for as long as jobs run. It decides nothing. Why not a library: decision 20.
package proctable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Tick is the unit of times in /proc. The kernel shows 100 a second to every
// program, whatever it counts in itself.
const Tick = 10 * time.Millisecond

// Process is a process, or one of its threads, as its stat file tells.
type Process struct {
	Pid, Parent    int
	Group, Session int
	Name           string        // the first 15 bytes of it, whatever they are
	State          byte          // R, S, D, Z …
	CPUTime        time.Duration // user and system time of all its threads
	ChildTime      time.Duration // of the children it has waited for, and theirs
	Nice, Threads  int
	Started        int64 // ticks since the machine came up: with Pid, an identity
	Pages          int64 // resident
	CPU            int   // the one it last ran on; -1 if the line does not say
	Kernel         bool
}

// IsDead says that nothing of it will run any more. While other threads are left only the
// first of a process is dead.
func (p *Process) IsDead() bool { return p.State == 'Z' || p.State == 'X' }

// Ticks is CPUTime as the kernel counts it.
func (p *Process) Ticks() int64 { return int64(p.CPUTime / Tick) }

// kernelThread is the kernel's PF_KTHREAD.
const kernelThread = 0x00200000

// ParseStat reads the content of a stat file. The name stands in parentheses and may itself
// hold parentheses, blanks and line feeds, so the last parenthesis ends it.
func ParseStat(line []byte, withName bool) (Process, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return Process{}, false
	}
	head := Fields{Rest: line[:open]}
	p := Process{Pid: int(head.NextNumber()), CPU: -1}
	if withName {
		p.Name = string(line[open+1 : end])
	}
	f := Fields{Rest: line[end+1:]}
	state := f.NextField()
	if len(state) != 1 {
		return Process{}, false
	}
	p.State = state[0]
	p.Parent, p.Group, p.Session = int(f.NextNumber()), int(f.NextNumber()), int(f.NextNumber())
	f.SkipFields(2) // tty_nr tpgid
	p.Kernel = f.NextNumber()&kernelThread != 0
	f.SkipFields(4) // minflt cminflt majflt cmajflt
	p.CPUTime = f.nextTicks() + f.nextTicks()
	p.ChildTime = f.nextTicks() + f.nextTicks()
	f.SkipFields(1) // priority
	p.Nice, p.Threads = int(f.NextNumber()), int(f.NextNumber())
	f.SkipFields(1) // itrealvalue
	p.Started = f.NextNumber()
	f.SkipFields(1) // vsize
	p.Pages = f.NextNumber()
	if head.Bad || f.Bad || p.Pid <= 0 {
		return Process{}, false
	}
	f.SkipFields(14) // rsslim to exit_signal
	if cpu := f.NextNumber(); !f.Bad {
		p.CPU = int(cpu)
	}
	return p, true
}

// ReadProcess reads one process.
func ReadProcess(pid int) (Process, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, err
	}
	p, ok := ParseStat(text, true)
	if !ok {
		return Process{}, fmt.Errorf("not the stat of a process: %.60q", text)
	}
	return p, nil
}

// ChildrenOf lists the children of a process, of all its threads.
func ChildrenOf(pid int) ([]int, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, t := range threads {
		text, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			continue // the thread is gone
		}
		list = ParsePids(text, list)
	}
	return list, nil
}

// AllProcesses reads the processes of the machine. Those that end meanwhile may be
// missing.
func AllProcesses() ([]Process, error) { return readAll("/proc") }

// ThreadsOf reads the threads of a process.
func ThreadsOf(pid int) ([]Process, error) { return readAll("/proc/" + strconv.Itoa(pid) + "/task") }

func readAll(dir string) ([]Process, error) {
	t, err := openTable(dir)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	pids, err := t.ListPids()
	if err != nil {
		return nil, err
	}
	found := make([]Process, 0, len(pids))
	for _, pid := range pids {
		if p, ok := t.Read(pid); ok {
			found = append(found, p)
		}
	}
	return found, nil
}

// Table is for those who do not want to read all of it.
type Table struct {
	dir *os.File
	buf [1024]byte
}

// OpenTable opens the table of processes.
func OpenTable() (*Table, error) { return openTable("/proc") }

func openTable(dir string) (*Table, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Table{dir: d}, nil
}

// Close closes the table.
func (t *Table) Close() { _ = t.dir.Close() } // only read from

// ListPids lists the numbers of all processes, once: a second time there are none.
func (t *Table) ListPids() ([]int, error) {
	names, err := t.dir.Readdirnames(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ESRCH) {
		return nil, err
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Read reads one process; false if it is gone.
func (t *Table) Read(pid int) (Process, bool) {
	fd, err := unix.Openat(int(t.dir.Fd()), strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	n, err := unix.Read(fd, t.buf[:])
	_ = unix.Close(fd) // only read from
	if err != nil || n <= 0 {
		return Process{}, false
	}
	return ParseStat(t.buf[:n], true)
}

// DescendantsOf says which of the processes descend from any of the roots, the roots
// included.
func DescendantsOf(all []Process, roots map[int]bool) map[int]bool {
	below := make(map[int]bool, len(roots))
	for pid := range roots {
		below[pid] = true
	}
	for grown := len(roots) > 0; grown; {
		grown = false
		for i := range all {
			if p := &all[i]; below[p.Parent] && !below[p.Pid] {
				below[p.Pid], grown = true, true
			}
		}
	}
	return below
}
