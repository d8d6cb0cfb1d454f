package sandbox

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// meterInterval is how often the processor time is read, for the case that the
// sandbox dies. Else it is read in the end, before the processes are gone that
// ran the program's code: nobody waits for them, so it would be lost with them.
const meterInterval = 10 * time.Second

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
	p, err := proctable.ReadProcess(pid)
	if err != nil {
		return
	}
	m.used[process{pid, p.Started}] = p.CPUTime
	children, _ := proctable.ChildrenOf(pid) // gone meanwhile: it has none
	for _, child := range children {
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

// process is a process that no other can be taken for: numbers are used again.
type process struct {
	pid   int
	start int64 // in ticks since the host started; 0: it had ended already
}

// identifyProcess is the process that has a number now.
func identifyProcess(pid int) process {
	st, err := proctable.ReadProcess(pid)
	if err != nil {
		return process{pid: pid}
	}
	return process{pid, st.Started}
}

// kill ends the process, if it lives.
func (p process) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0) // so that a number used again is not taken for it
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	if p.start != 0 && identifyProcess(p.pid) == p {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // an error says that it has ended
	}
}

// awaitEnd returns when the process is gone. Its parent may have died before
// it, and then it may have become our child.
func (p process) awaitEnd() {
	for p.start != 0 {
		if pid, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil); err == nil && pid == p.pid {
			return
		}
		st, err := proctable.ReadProcess(p.pid)
		// The first thread of a process may have ended before the others.
		if err != nil || st.Started != p.start || st.IsDead() && st.Threads <= 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
