package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ownChildren is what this process knows of its own children, in order to tell those
// that somebody here waits for from the orphans that it has to reap itself.
var ownChildren = struct {
	sync.Mutex
	trees map[string]*Tree
	roots map[int]*Tree // children that somebody waits for
}{trees: map[string]*Tree{}, roots: map[int]*Tree{}}

// forking is held for reading by who forks a child, until it stands in ownChildren, and by
// who waits for one, from when it stands there no more; for writing by the reaper.
// So the reaper never takes a child of somebody else for an orphan.
var forking sync.RWMutex

// BecomeSubreaper makes this process the parent of every orphan among its
// descendants, and reaps those that nobody else here waits for. It never takes
// what is in our own session, since that was forked by us, nor what Start or
// StartCommand has started. What leads a session of its own may be an orphan or a
// command that somebody here started so: that is taken only when nobody has
// waited for it for a while. The agent calls this first thing; calling it
// again does nothing.
func BecomeSubreaper() error { return becomeSubreaper() }

var becomeSubreaper = sync.OnceValue(func() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("taking care of orphaned processes: %w", err)
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	go reapForever(died)
	return nil
})

// orphanGrace is how long a dead child that may be somebody's is left to them.
const orphanGrace = 2 * time.Second

// reaper reaps orphans.
type reaper struct {
	reader
	doubtful map[int]uint64 // seen dead last time, by start
}

func reapForever(died <-chan os.Signal) {
	r := reaper{doubtful: map[int]uint64{}}
	var later <-chan time.Time
	for {
		patient := true
		select {
		case <-died:
		case <-later:
			patient, later = false, nil
		}
		if r.reapOrphans(patient) && later == nil {
			later = time.After(orphanGrace)
		}
	}
}

// reapOrphans reaps the dead among our children that nobody waits for, and
// reports whether it left some in doubt. When it is no longer patient it takes
// those that were in doubt before.
func (r *reaper) reapOrphans(patient bool) (doubt bool) {
	forking.Lock()
	defer forking.Unlock()
	// Mostly the dead child is somebody's who has waited for it already.
	if !isWaitable(0) {
		clear(r.doubtful)
		return false
	}
	before := r.doubtful
	r.doubtful = map[int]uint64{}
	if patient {
		r.doubtful = before
	}
	// The kernel may leave out a child when another goes while it lists them.
	for again := true; again; {
		again = false
		for _, pid := range r.ourChildren() {
			s, err := r.readStat(pid)
			if err != nil {
				again = true
				continue
			}
			if !s.isZombie() || !isOrphan(s) || !isWaitable(pid) {
				continue
			}
			t := r.ownerOf(s)
			if s.session == s.pid && !t.wasAdopted(s) && (patient || before[pid] != s.start) {
				r.doubtful[pid] = s.start
				doubt = true
				continue
			}
			again = true
			if t != nil {
				t.reapMember(pid)
			} else {
				reapChild(pid)
			}
		}
	}
	return doubt
}

// isWaitable looks, without taking anything, whether a child of ours can be
// waited for; any child if pid is 0.
func isWaitable(pid int) bool {
	what := unix.P_PID
	if pid == 0 {
		what = unix.P_ALL
	}
	for {
		var info unix.Siginfo
		err := unix.Waitid(what, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && info.Signo != 0
		}
	}
}

// HaveChildren reports whether this process has any child, dead or alive.
func HaveChildren() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return !errors.Is(err, unix.ECHILD)
		}
	}
}

// ourChildren lists the children of this process.
func (r *reader) ourChildren() []int {
	if !HaveChildren() {
		return nil // which is mostly so, and costs little to know
	}
	self := os.Getpid()
	pids, err := r.listChildren(self, 2, nil)
	if err != nil {
		for _, s := range r.allProcesses() {
			if s.ppid == self {
				pids = append(pids, s.pid)
			}
		}
	}
	return pids
}

// allProcesses reads all of /proc: for kernels that do not list children.
func (r *reader) allProcesses() []stat {
	pids, _ := numbersIn("/proc") // without /proc nothing works, and that is said elsewhere
	var list []stat
	for _, pid := range pids {
		if s, err := r.readStat(pid); err == nil {
			list = append(list, s)
		}
	}
	return list
}

// isOrphan reports whether a child of ours was once somebody else's, or at least
// is waited for by nobody. Programs are started in sessions of their own and
// cannot come back into ours, so what is in ours was forked by us.
func isOrphan(s stat) bool {
	if s.session == ourSession() {
		return false
	}
	ownChildren.Lock()
	defer ownChildren.Unlock()
	return ownChildren.roots[s.pid] == nil
}

func ourSession() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return -1
	}
	return sid
}

// ownerOf is the tree that an orphan belongs to: one that knew it, one whose
// session it is in, one whose mark it carries, or else the only one there is.
func (r *reader) ownerOf(s stat) *Tree {
	ownChildren.Lock()
	trees := make([]*Tree, 0, len(ownChildren.trees))
	for _, t := range ownChildren.trees {
		trees = append(trees, t)
	}
	ownChildren.Unlock()
	for _, t := range trees {
		if t.isMember(s) {
			return t
		}
	}
	if mark, ok := r.readMark(s.pid); ok {
		for _, t := range trees {
			if t.mark == mark {
				return t
			}
		}
		return nil
	}
	if len(trees) == 1 {
		return trees[0]
	}
	return nil
}

// readMark reads the mark in a process's environment.
func (r *reader) readMark(pid int) (string, bool) {
	env, err := r.readFile(procPath(pid, "environ"))
	if err != nil {
		return "", false
	}
	return findMark(env)
}

// findMark looks through an environment as /proc shows it.
func findMark(env []byte) (string, bool) {
	const want = Variable + "="
	for len(env) > 0 {
		entry := env
		if i := bytes.IndexByte(env, 0); i >= 0 {
			entry, env = env[:i], env[i+1:]
		} else {
			env = nil
		}
		if len(entry) >= len(want) && string(entry[:len(want)]) == want {
			return string(entry[len(want):]), true
		}
	}
	return "", false
}

// withMark is an environment with the mark, and no other.
func withMark(env []string, mark string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, Variable+"=") })
	return append(env, Variable+"="+mark)
}

// reapChild reaps a child that is dead.
func reapChild(pid int) (unix.WaitStatus, unix.Rusage, bool) {
	var ws unix.WaitStatus
	var ru unix.Rusage
	for {
		got, err := unix.Wait4(pid, &ws, unix.WNOHANG, &ru)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return ws, ru, err == nil && got == pid
	}
}

// StartCommand starts a command whose Wait the caller will call, as part of the
// tree: in a session of its own and with the mark in its environment.
func (t *Tree) StartCommand(cmd *exec.Cmd) error {
	if err := BecomeSubreaper(); err != nil {
		return err
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = withMark(cmd.Env, t.mark)
	forking.RLock()
	defer forking.RUnlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	t.addRoot(cmd.Process.Pid, elsewhere)
	return nil
}

// AdoptChild counts a child of this process that somebody else started, and waits
// for, as part of the tree, with all that it starts. It needs no such call if
// it carries the mark and is in a session of its own.
func (t *Tree) AdoptChild(pid int) error {
	var r reader
	if s, err := r.readStat(pid); err != nil || s.ppid != os.Getpid() {
		return fmt.Errorf("process %d is not a child of this one", pid)
	}
	t.addRoot(pid, elsewhere)
	return nil
}
