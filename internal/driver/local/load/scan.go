package load

import (
	"cmp"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// A process counts as a competitor from this part of a CPU on; one that uses
// nearly all of a CPU would use all that it gets.
const (
	littleUse = 0.02
	allUse    = 0.9
)

// maxCompetitors bounds how many are looked at closely, the busiest first.
const maxCompetitors = 64

// census is what is known of the machine's processes. Reading all of them again
// and again would cost too much where there are thousands: those that were busy,
// our own, and those that are new are looked at each time, the others now and
// then.
type census struct {
	known  map[int]*resident
	at     time.Time     // of the last look
	whole  time.Time     // of the last look at all
	cost   time.Duration // of that look, in CPU time
	result scan
}

// resident is a process as it was last seen.
type resident struct {
	proctable.Process
	at      time.Time
	use     float64 // part of a CPU it used until then, since it was seen before; -1: not known
	hot     bool    // to be looked at next time
	ours    bool
	threads map[int]ticks // used so far, of those that have several
}

// scan is who wants CPU time.
type scan struct {
	tasks []task   // ours among them
	names []string // of competitors, the busiest first
	own   float64  // CPUs' worth that our own use
	blind bool     // only who ran at that moment is known
}

// updateCensus brings the census up to date. roots are our own agents: they and what is
// below them are no competitors. all says that everybody is to be looked at.
// saturated says that a CPU, or the time of a group, leaves nothing over.
func (c *census) updateCensus(now time.Time, roots map[int]bool, all bool,
	saturated func(cpu int, path []node) bool) error {
	table, err := proctable.OpenTable()
	if err != nil {
		return err
	}
	defer table.Close()
	pids, err := table.ListPids()
	if err != nil {
		return err
	}
	first := c.known == nil
	stop := startStopwatch()
	fresh := make(map[int]*resident, len(pids))
	for _, pid := range pids {
		r := c.known[pid]
		if r == nil || r.hot || r.ours || all {
			if r = c.visitProcess(table, pid, r, now); r == nil {
				continue
			}
		}
		fresh[pid] = r
	}
	c.known, c.at = fresh, now
	if cost := stop(); all || first {
		c.whole, c.cost = now, cost
	}
	c.markOwn(roots)
	c.result = c.judgeDemand(saturated)
	c.result.blind = first
	return nil
}

// startStopwatch measures CPU time of this thread: waiting for a CPU costs nobody
// anything.
func startStopwatch() func() time.Duration {
	runtime.LockOSThread()
	read := func() time.Duration {
		var ts unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) // 0 if there is no such clock
		return time.Duration(ts.Nano())
	}
	begin := read()
	return func() time.Duration {
		defer runtime.UnlockOSThread()
		return read() - begin
	}
}

// maxUsageSpan is a time over which what a process used says little about what it uses
// now.
const maxUsageSpan = 6 * time.Second

// visitProcess looks at one process.
func (c *census) visitProcess(table *proctable.Table, pid int, before *resident, now time.Time) *resident {
	p, ok := table.Read(pid)
	if !ok || p.IsDead() {
		return nil
	}
	r := &resident{Process: p, at: now, use: -1}
	switch {
	case before != nil && before.Started == p.Started:
		r.ours, r.threads = before.ours, before.threads
		r.use = usedFraction(p.Ticks()-before.Ticks(), now.Sub(before.at))
		r.hot = r.use >= littleUse || now.Sub(before.at) > maxUsageSpan && p.Ticks() > before.Ticks()
	case !c.at.IsZero(): // it came since the last look
		r.use = usedFraction(p.Ticks(), min(now.Sub(c.at), processAge(p.Started)))
		r.hot = true
	default:
		r.hot = p.State == 'R'
	}
	return r
}

func usedFraction(used ticks, d time.Duration) float64 {
	if d <= 0 {
		return -1
	}
	return max(0, float64(used)/(d.Seconds()*ticksPerSecond))
}

// processAge is how long ago a process began.
func processAge(started int64) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return maxUsageSpan
	}
	const tick = time.Second / ticksPerSecond
	return max(tick, time.Duration(ts.Nano())-time.Duration(started)*tick)
}

// markOwn marks what descends from our agents.
func (c *census) markOwn(roots map[int]bool) {
	all := make([]proctable.Process, 0, len(c.known))
	for _, r := range c.known {
		all = append(all, r.Process)
	}
	below := proctable.DescendantsOf(all, roots)
	for pid, r := range c.known {
		r.ours = below[pid]
	}
}

// judgeDemand finds out who wants CPU time, among those that were just looked at.
func (c *census) judgeDemand(saturated func(cpu int, path []node) bool) scan {
	var s scan
	var busy []*resident
	for _, r := range c.known {
		if r.at != c.at {
			continue
		}
		if r.ours {
			s.own += max(0, r.use)
		}
		if r.Pid != unix.Getpid() && (r.use >= littleUse || r.use < 0 && r.State == 'R') {
			busy = append(busy, r)
		}
	}
	slices.SortFunc(busy, func(a, b *resident) int { return cmp.Or(cmp.Compare(b.use, a.use), cmp.Compare(a.Pid, b.Pid)) })
	g := newGroups()
	for _, r := range busy[:min(len(busy), maxCompetitors)] {
		if !r.ours {
			s.names = append(s.names, r.Name)
		}
		path := g.groupsOf(r.Pid)
		for _, t := range r.busyThreads() {
			s.tasks = append(s.tasks, task{path: path, weight: niceWeight(t.Nice), want: wantedShare(t, saturated(t.CPU, path)),
				used: max(0, t.use), at: t.CPU, may: threadAffinity(t.Pid), ours: r.ours})
		}
	}
	return s
}

// busyThread is a thread that wants CPU time.
type busyThread struct {
	proctable.Process
	use float64 // -1 if not known
}

// busyThreads are the threads of a process that want CPU time. What each used is
// known from the second time on; the first time those that run stand for all.
func (r *resident) busyThreads() []busyThread {
	const most = 1024
	one := []busyThread{{r.Process, r.use}}
	if r.Threads <= 1 || r.Threads > most {
		return one
	}
	all, err := proctable.ThreadsOf(r.Pid)
	if err != nil {
		return one
	}
	before := r.threads
	r.threads = make(map[int]ticks, len(all))
	sum := ticks(0)
	var ran, running []busyThread
	for _, t := range all {
		r.threads[t.Pid] = t.Ticks()
		used := t.Ticks() - before[t.Pid]
		if before != nil && used > 0 {
			ran = append(ran, busyThread{t, float64(used)})
			sum += used
		}
		if t.State == 'R' {
			running = append(running, busyThread{t, -1})
		}
	}
	if sum == 0 {
		if len(running) == 0 {
			return one
		}
		for i := range running {
			if r.use >= 0 {
				running[i].use = r.use / float64(len(running))
			}
		}
		return running
	}
	for i := range ran { // the process's use, as its threads had it
		ran[i].use *= r.use / float64(sum)
	}
	return slices.DeleteFunc(ran, func(t busyThread) bool { return t.use < littleUse })
}

// wantedShare is how much of a CPU a thread would use if it got all it wants. One
// that uses little on a CPU that is never idle, and is waiting for it, may want
// everything.
func wantedShare(t busyThread, saturated bool) float64 {
	if t.use < 0 || t.use >= allUse || saturated && t.State == 'R' {
		return 1
	}
	return t.use
}

// threadAffinity are the CPUs that a thread may use; nil if that is not known.
func threadAffinity(tid int) cpuset {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
		return nil
	}
	cpus := cpuset{}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}
