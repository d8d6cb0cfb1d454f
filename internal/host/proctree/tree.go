package proctree

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"golang.org/x/sys/unix"
)

// Tree is all processes of one attempt, however many programs are started in it
// one after the other. Its methods may be called from several goroutines.
type Tree struct {
	mark string

	mu       sync.Mutex
	read     reader
	group    *cgroup.Group
	before   time.Duration // what the group had used before it was ours
	members  []*member     // parents before children
	byPid    map[int]*member
	roots    map[int]waiter
	sessions map[int]bool // that members are or were in
	dead     time.Duration
	deadIO   ioCount
	peak     int64 // memory
	usage    Usage // as last told
	threads  map[int]thread
	askedAt  time.Time  // when their times were last read
	sched    schedTimes // of all threads that were asked
	looks    int
	loadavg  int       // open file, or -1
	lastPid  string    // the youngest process of the machine at the last look
	fds      int       // open files of members
	doubt    time.Time // since when there is nobody, but for some of whom it cannot be told
	changed  chan struct{}
	// isForeign: its processes are not descendants of this one, see MarkedTree.
	isForeign bool
}

// waiter says who waits for a child of this process.
type waiter int

const (
	nobody     waiter = iota // it is an orphan: the reaper
	waitedHere               // the Process that Start returned
	elsewhere                // whoever started it
)

// member is a process of the tree.
type member struct {
	stat
	cpu     time.Duration // its own
	asked   time.Duration // cpu when BusiestProcessor was last asked
	seen    time.Duration // kids when it was last settled
	io      ioCount
	parent  *member // in the tree, when last seen
	statFD  int     // open files, or -1
	ioFD    int
	schedFD int
	stopped bool // by StopAll
	adopted bool // it was another's child before it was ours
}

// TreeOf is the Tree of the attempt with that mark: always the same one in this
// process, until it is closed.
func TreeOf(mark string) *Tree {
	ownChildren.Lock()
	defer ownChildren.Unlock()
	t := ownChildren.trees[mark]
	if t == nil {
		t = &Tree{mark: mark, byPid: map[int]*member{}, roots: map[int]waiter{}, sessions: map[int]bool{},
			loadavg: -1, changed: make(chan struct{})}
		ownChildren.trees[mark] = t
	}
	return t
}

// Close forgets the tree. It ends nothing; what was used can still be asked for.
func (t *Tree) Close() {
	ownChildren.Lock()
	if ownChildren.trees[t.mark] == t {
		delete(ownChildren.trees, t.mark)
	}
	ownChildren.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		t.closeFiles(m)
	}
	if t.loadavg >= 0 {
		closeFD(t.loadavg)
		t.loadavg = -1
	}
}

// UseCgroup tells the tree that all its processes, and no others, are in that
// cgroup: the processor time is then read from there, and they are ended
// through it.
func (t *Tree) UseCgroup(g *cgroup.Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.group, t.before = g, 0
	if g != nil {
		if cpu, err := g.UsedCPU(); err == nil {
			t.before = cpu - t.usage.CPU
		}
	}
}

// addRoot notes a child of this process that somebody waits for.
func (t *Tree) addRoot(pid int, w waiter) {
	ownChildren.Lock()
	ownChildren.roots[pid] = t
	ownChildren.Unlock()
	t.mu.Lock()
	t.roots[pid] = w
	t.lastPid = ""
	if sid, err := unix.Getsid(pid); err == nil && sid != ourSession() {
		t.sessions[sid] = true
	}
	t.mu.Unlock()
}

// removeRoot forgets such a child.
func (t *Tree) removeRoot(pid int) {
	ownChildren.Lock()
	if ownChildren.roots[pid] == t {
		delete(ownChildren.roots, pid)
	}
	ownChildren.Unlock()
	delete(t.roots, pid)
}

// isMember reports whether a process belongs to the tree for certain.
func (t *Tree) isMember(s stat) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.knowsLocked(s)
}

func (t *Tree) knowsLocked(s stat) bool {
	m := t.byPid[s.pid]
	return m != nil && m.start == s.start || t.sessions[s.session]
}

// wasAdopted reports whether a child of ours is known to have been another's.
func (t *Tree) wasAdopted(s stat) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.byPid[s.pid]
	return m != nil && m.start == s.start && m.adopted
}

// LivePids lists the processes of the tree that live, parents before children.
func (t *Tree) LivePids() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updateMembers(true)
	pids := make([]int, 0, len(t.members))
	for _, m := range t.members {
		if !m.isZombie() {
			pids = append(pids, m.pid)
		}
	}
	return pids
}

// WaitEmpty returns when no process of the tree is left.
func (t *Tree) WaitEmpty(ctx context.Context) error {
	pause := 10 * time.Millisecond
	for {
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if t.isEmpty() {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-changed: // somebody was reaped
		case <-timer.C: // what others wait for ends without our knowledge
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
		pause = min(2*pause, time.Second)
	}
}

// isEmpty reports whether no process is left; the dead may still have to be
// waited for. Whoever of the tree has no parent in it is a child of ours, so
// those are all that need be looked at. But one that was listed and is found
// dead may have had a child after the listing, which is ours by then: only when
// nobody has died since the last look there is nobody. Of an orphan that may be
// ours or another tree's that becomes clear in a moment; if it does not, as with
// one that we may not look at, it is taken for another's.
func (t *Tree) isEmpty() bool {
	forking.RLock() // a child that is reaped while the kernel lists them may hide another
	defer forking.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	dead := map[int]uint64{}
	for range 1000 {
		fresh := false
		list, sure := t.ourOwn()
		for _, s := range list {
			if !s.isZombie() || t.roots[s.pid] == waitedHere {
				t.doubt = time.Time{}
				return false
			}
			if dead[s.pid] != s.start {
				dead[s.pid] = s.start
				fresh = true
			}
		}
		switch {
		case fresh:
		case sure:
			t.doubt = time.Time{}
			return true
		case t.doubt.IsZero():
			t.doubt = clock.RealClock()()
			return false
		default:
			return clock.RealClock().Since(t.doubt) > orphanGrace
		}
	}
	return false
}

// ourOwn lists the children of this process that belong to the tree, and says
// whether it is sure that these are all.
func (t *Tree) ourOwn() (list []stat, sure bool) {
	if t.isForeign {
		return t.listMarked(), true
	}
	list, sure = t.listOwn()
	for i := 0; i < 10 && !sure; i++ {
		if i > 2 {
			time.Sleep(time.Millisecond)
		}
		list, sure = t.listOwn()
	}
	for pid, waiter := range t.roots {
		if slices.ContainsFunc(list, func(s stat) bool { return s.pid == pid }) {
			continue
		}
		if s, err := t.read.readStat(pid); err == nil && s.ppid == os.Getpid() {
			list = append(list, s)
		} else if waiter == elsewhere {
			t.removeRoot(pid) // who waits for it does not tell us
		}
	}
	return list, sure
}

// listOwn is one look at our children. It is not sure if one of them was gone
// before it could be looked at, since the kernel may then have left out
// another, or if it cannot be told whose one is.
func (t *Tree) listOwn() (list []stat, sure bool) {
	sure = true
	for _, pid := range t.read.ourChildren() {
		s, err := t.read.readStat(pid)
		if err != nil {
			sure = false
			continue
		}
		ours := t.roots[pid] != nobody
		if !ours && isOrphan(s) {
			if ours = t.knowsLocked(s); !ours {
				claimed, certain := t.claimsOrphan(s)
				ours, sure = claimed, sure && certain
			}
		}
		if ours {
			list = append(list, s)
			if s.session != ourSession() {
				t.sessions[s.session] = true // it can be told by that when it is dead
			}
		}
	}
	return list, sure
}

// claimsOrphan decides whether an orphan that no tree knows yet is ours. While a
// process executes a program it has no environment.
func (t *Tree) claimsOrphan(s stat) (ours, certain bool) {
	ownChildren.Lock()
	defer ownChildren.Unlock()
	if mark, ok := t.read.readMark(s.pid); ok {
		return mark == t.mark, true
	}
	ours = len(ownChildren.trees) == 1 && ownChildren.trees[t.mark] == t
	return ours, ours || s.isZombie()
}

// wakeWaiters wakes those who wait for a change.
func (t *Tree) wakeWaiters() {
	close(t.changed)
	t.changed = make(chan struct{})
}

func (t *Tree) closeFiles(m *member) {
	for _, fd := range []*int{&m.statFD, &m.ioFD, &m.schedFD} {
		if *fd >= 0 {
			closeFD(*fd)
			*fd = -1
			t.fds--
		}
	}
}
