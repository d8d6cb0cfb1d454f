package proctree

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"golang.org/x/sys/unix"
)

// Usage is what the processes of a tree have used since its first one started,
// and what they hold now.
type Usage struct {
	CPU         time.Duration // user and system time of all, the dead included
	Ran         time.Duration // CPU time of the threads that could be asked how long they were delayed,
	Delayed     time.Duration // and how long these were ready to run but had no processor
	Memory      int64         // resident now; what processes share counts for each
	Peak        int64         // the most that ProportionalMemory has been at a call, or that one process had
	Read        int64         // bytes read by system calls, from files, pipes and sockets
	Written     int64
	DiskRead    int64 // bytes that storage had to deliver
	DiskWritten int64
	Processes   int   // now
	Threads     int   // now
	Switches    int64 // voluntary context switches of those that live, looked up at every fifth call
}

const (
	maxOpenFiles   = 128 // files of /proc held open for each tree
	relistInterval = 16  // calls after which children are listed even if nothing seems to have been forked
	switchInterval = 5   // calls after which context switches are counted again
	maxTasks       = 256 // threads whose context switches are looked up
)

var pageSize = int64(os.Getpagesize())

// ReadUsage reads what the tree uses. Processor time and bytes never go down.
//
// The time of a process that has ended is in its parent's count of waited-for
// children, or was told to us when we reaped it. Only what a process used
// after the last call is lost, and only if its parent does not wait for its
// children (SIGCHLD ignored).
func (t *Tree) ReadUsage() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateMembers(false)
	u := Usage{CPU: t.dead, Switches: t.usage.Switches}
	io := t.deadIO
	for _, m := range t.members {
		u.CPU += m.cpu + m.kids
		io = io.addCount(m.io)
		if !m.isZombie() {
			u.Processes++
			u.Threads += m.threads
			u.Memory += m.rss * pageSize
		}
	}
	if t.group != nil {
		if cpu, err := t.group.UsedCPU(); err == nil {
			u.CPU = cpu - t.before
		}
	}
	now := clock.RealClock()()
	t.addDelays(now.Sub(t.askedAt))
	t.askedAt = now
	u.Ran, u.Delayed = t.sched.ran, t.sched.delayed
	if t.looks%switchInterval == 1 {
		u.Switches = t.contextSwitches()
	}
	t.peak = max(t.peak, u.Memory)
	u.CPU, u.Peak = max(u.CPU, t.usage.CPU), t.peak
	io = io.atLeast(ioCount{t.usage.Read, t.usage.Written, t.usage.DiskRead, t.usage.DiskWritten})
	u.Read, u.Written, u.DiskRead, u.DiskWritten = io.read, io.written, io.diskRead, io.diskWritten
	t.usage = u
	return u
}

// updateMembers brings the members up to date: what those we know have used, which are
// gone, and, if anything was forked or sure is asked for, who is new.
func (t *Tree) updateMembers(sure bool) {
	t.looks++
	var gone []*member
	for range 3 { // until nobody goes while we look, so that nobody's time is counted twice
		lost := t.refreshMembers()
		gone = append(gone, lost...)
		if len(lost) == 0 {
			break
		}
	}
	t.settleGone(gone)
	if forked := t.hasForked(); forked || sure || t.looks%relistInterval == 0 {
		t.discoverNew()
	}
}

// hasForked reports whether any process or thread may have been made on this
// machine since it was last asked: then the youngest is another one.
func (t *Tree) hasForked() bool {
	if t.loadavg < 0 {
		fd, err := openProc("/proc/loadavg")
		if err != nil {
			return true
		}
		t.loadavg = fd
	}
	text, err := t.read.readAt(t.loadavg)
	if err != nil {
		return true
	}
	last := text[bytes.LastIndexByte(text, ' ')+1:]
	if string(last) == t.lastPid {
		return false
	}
	t.lastPid = string(last)
	return true
}

// refreshMembers reads the members again, parents before children: a child that is
// waited for in between is then missed for now, not counted twice. It returns
// those that are gone.
func (t *Tree) refreshMembers() []*member {
	var gone []*member
	stay := t.members[:0]
	for _, m := range t.members {
		if t.updateMember(m) {
			stay = append(stay, m)
			continue
		}
		t.closeFiles(m)
		if t.byPid[m.pid] == m {
			delete(t.byPid, m.pid)
		}
		gone = append(gone, m)
	}
	clear(t.members[len(stay):])
	t.members = stay
	return gone
}

// updateMember reads one member again; false if it is gone.
func (t *Tree) updateMember(m *member) bool {
	text, err := t.readKept(&m.statFD, m.pid, "stat")
	if err != nil {
		return false
	}
	s, err := parseStat(text, m.comm == "")
	if err != nil || m.start != 0 && s.start != m.start {
		return false
	}
	if s.comm == "" {
		s.comm = m.comm
	}
	if s.state == 'Z' && !s.isZombie() {
		s.state = t.read.stateOf(m.pid)
	}
	if s.ppid != m.ppid {
		m.parent = t.byPid[s.ppid]
	}
	m.stat = s
	if s.session != ourSession() {
		t.sessions[s.session] = true
	}
	m.cpu = s.own
	if cpu, ok := cpuClock(m.pid); ok {
		m.cpu = cpu
	}
	if text, err := t.readKept(&m.ioFD, m.pid, "io"); err == nil {
		m.io = m.io.atLeast(parseIO(text))
	}
	return true
}

// readKept reads a file of a process and keeps it open for the next time, as
// long as there are not too many.
func (t *Tree) readKept(fd *int, pid int, name string) ([]byte, error) {
	if *fd >= 0 {
		return t.read.readAt(*fd)
	}
	opened, err := openProc(procPath(pid, name))
	if err != nil {
		return nil, err
	}
	if t.fds < maxOpenFiles {
		*fd = opened
		t.fds++
		return t.read.readAt(opened)
	}
	defer closeFD(opened)
	return t.read.readAt(opened)
}

// settleGone accounts for members that are gone. What they had used should have
// gone to the nearest ancestor that lives, or to us; what did not get there is
// kept as it was last seen.
func (t *Tree) settleGone(gone []*member) {
	missing := map[*member][]*member{}
	for _, m := range gone {
		a := m.parent
		for a != nil && t.byPid[a.pid] != a {
			a = a.parent
		}
		missing[a] = append(missing[a], m)
	}
	for a, list := range missing {
		var want, came time.Duration
		var io ioCount
		for _, m := range list {
			want += m.cpu + m.kids
			io = io.addCount(m.io)
		}
		if a != nil {
			came = a.kids - a.seen
		}
		// Counts of waited-for children are in whole ticks, of user and of
		// system time.
		if came+2*tick*time.Duration(len(list)) < want || came == 0 {
			t.dead += want - came
			t.deadIO = t.deadIO.addCount(io)
		}
	}
	for _, m := range t.members {
		m.seen = m.kids
	}
}

// discoverNew finds processes that are new. Those we know need not be found
// again.
func (t *Tree) discoverNew() {
	own, _ := t.ourOwn()
	for _, s := range own {
		t.addMember(s, nil)
	}
	kids := t.childLister()
	// The list grows while it is gone through.
	for i := 0; i < len(t.members); i++ {
		m := t.members[i]
		if m.isZombie() {
			continue
		}
		for _, pid := range kids(m.pid, m.threads) {
			if t.byPid[pid] != nil {
				continue
			}
			if s, err := t.read.readStat(pid); err == nil && (s.ppid == m.pid || t.byPid[s.ppid] != nil) {
				t.addMember(s, m)
			}
		}
	}
}

// childLister is a function that lists children.
func (t *Tree) childLister() func(pid, threads int) []int {
	var list []int
	if _, err := t.read.listChildren(os.Getpid(), 1, nil); err == nil {
		return func(pid, threads int) []int {
			list, _ = t.read.listChildren(pid, threads, list[:0]) // gone meanwhile: no children
			return list
		}
	}
	of := map[int][]int{}
	for _, s := range t.read.allProcesses() {
		of[s.ppid] = append(of[s.ppid], s.pid)
	}
	return func(pid, _ int) []int { return of[pid] }
}

// addMember takes a process into the tree unless it is there.
func (t *Tree) addMember(s stat, parent *member) {
	if m := t.byPid[s.pid]; m != nil && m.start == s.start {
		return
	}
	m := &member{stat: s, parent: parent, statFD: -1, ioFD: -1, schedFD: -1, adopted: parent != nil}
	if !t.updateMember(m) {
		t.closeFiles(m)
		return
	}
	// What it waited for before we knew it is its own affair, not a gap.
	m.seen = m.kids
	t.members = append(t.members, m)
	t.byPid[m.pid] = m
}

// contextSwitches counts the voluntary context switches of all threads.
func (t *Tree) contextSwitches() int64 {
	var sum int64
	tasks := 0
	for _, m := range t.members {
		tids := []int{m.pid}
		if m.threads > 1 {
			tids, _ = numbersIn(procPath(m.pid, "task")) // gone meanwhile: nothing to count
		}
		for _, tid := range tids {
			if tasks++; tasks > maxTasks {
				return sum
			}
			text, err := t.read.readFile(procPath(m.pid, "task/") + strconv.Itoa(tid) + "/status")
			if err != nil {
				continue
			}
			if v, ok := afterKey(text, "voluntary_ctxt_switches"); ok {
				f := proctable.Fields{Rest: v}
				sum += f.NextNumber()
			}
		}
	}
	return sum
}

// reapMember reaps a dead child of ours that belongs to the tree and keeps what it
// has used. It says how it ended.
func (t *Tree) reapMember(pid int) (unix.WaitStatus, time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.byPid[pid]
	if m != nil && slices.ContainsFunc(t.members, func(other *member) bool { return other.parent == m }) {
		// While it is still there, find out which of its children it had
		// waited for.
		t.settleGone(t.refreshMembers())
	}
	var io ioCount
	if text, err := t.read.readFile(procPath(pid, "io")); err == nil {
		io = parseIO(text)
	} else if m != nil {
		io = m.io
	}
	t.removeRoot(pid)
	ws, ru, ok := reapChild(pid)
	if m = t.byPid[pid]; m != nil {
		t.closeFiles(m)
		delete(t.byPid, pid)
		for i, other := range t.members {
			if other == m {
				t.members = append(t.members[:i], t.members[i+1:]...)
				break
			}
		}
		for _, other := range t.members {
			if other.parent == m {
				other.parent = nil
			}
		}
	}
	used := time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
	if ok {
		t.peak = max(t.peak, ru.Maxrss<<10) // of it and all that it waited for, the largest
		t.dead += used
		t.deadIO = t.deadIO.addCount(io)
	}
	t.wakeWaiters()
	return ws, used, ok
}

// maxThreadsChecked is how many threads of a process are looked at to find one that runs.
const maxThreadsChecked = 32

// BusiestProcessor is one that the tree runs on: that of the process which used the most
// since this was last asked; if it has several threads, of one that runs right
// now. False if there is none, or it cannot be told.
func (t *Tree) BusiestProcessor() (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var busiest *member
	most := time.Duration(-1)
	for _, m := range t.members {
		if did := m.cpu - m.asked; !m.isZombie() && did > most {
			busiest, most = m, did
		}
		m.asked = m.cpu
	}
	if busiest == nil {
		return 0, false
	}
	if busiest.threads <= 1 {
		text, err := t.readKept(&busiest.statFD, busiest.pid, "stat")
		if err != nil {
			return 0, false
		}
		return parseProcessor(text)
	}
	tids, _ := numbersIn(procPath(busiest.pid, "task")) // gone meanwhile: nobody runs
	for _, tid := range tids[:min(len(tids), maxThreadsChecked)] {
		text, err := t.read.readFile(procPath(busiest.pid, "task/") + strconv.Itoa(tid) + "/stat")
		if err != nil {
			continue
		}
		if s, err := parseStat(text, false); err == nil && s.state == 'R' {
			return parseProcessor(text)
		}
	}
	return 0, false
}
