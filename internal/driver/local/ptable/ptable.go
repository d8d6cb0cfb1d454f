// Package ptable reads the kernel's table of processes quickly: one short file
// for each. It decides nothing.
package ptable

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Process is a process, or one of its threads, as its stat file tells.
type Process struct {
	Pid, Parent, Session int
	Name                 string
	State                byte  // R, S, D, Z …
	Ticks                int64 // of CPU time, 1/100 s each
	Nice, Threads, CPU   int   // CPU is the one it last ran on
	Started              int64 // ticks since the machine came up
	Kernel               bool
}

// IsDead says that nothing of it will run any more.
func (p *Process) IsDead() bool { return p.State == 'Z' || p.State == 'X' }

// kernelThread is the kernel's PF_KTHREAD.
const kernelThread = 0x00200000

// ParseStat reads the content of a stat file.
func ParseStat(line []byte) (Process, bool) {
	var p Process
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')') // a name may hold anything
	if open < 1 || end < open {
		return p, false
	}
	var err error
	if p.Pid, err = strconv.Atoi(string(bytes.TrimSpace(line[:open]))); err != nil || p.Pid <= 0 {
		return p, false
	}
	p.Name = string(line[open+1 : end])
	// Numbered as in proc(5), where the state is field 3.
	f := bytes.Fields(line[end+1:])
	const first, last = 3, 39
	if len(f) <= last-first || len(f[0]) != 1 {
		return p, false
	}
	ok := true
	number := func(field int) int64 {
		n, err := strconv.ParseInt(string(f[field-first]), 10, 64)
		ok = ok && err == nil
		return n
	}
	p.State = f[0][0]
	p.Parent, p.Session = int(number(4)), int(number(6))
	p.Kernel = number(9)&kernelThread != 0
	p.Ticks = number(14) + number(15)
	p.Nice, p.Threads = int(number(19)), int(number(20))
	p.Started = number(22)
	p.CPU = int(number(39))
	return p, ok
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
	return ParseStat(t.buf[:n])
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
