package load

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/driver/local/ptable"
)

// A process counts as a competitor from this part of a CPU on; one that uses
// nearly all of a CPU would use all that it gets.
const (
	littleUse = 0.02
	allUse    = 0.9
)

// maxCompetitors bounds how many are looked at closely, the busiest first.
const maxCompetitors = 64

// scan is one look at all processes.
type scan struct {
	used  map[thread]ticks // so far, by everybody
	tasks []task           // who wants CPU time, ours among them
	names []string         // of competitors, the busiest first
	own   float64          // CPUs' worth that our own used since the scan before
	blind bool             // there was none before: only who runs at this moment is known
}

// thread is a thread or process for all time: numbers are used again.
type thread struct {
	id      int
	started int64
}

// look scans the machine. roots are our own agents: they and what is below them
// are not competitors. before is the scan before this one, seconds ago; nil if
// there was none, so that only who runs at this moment is known. saturated says
// that a CPU had no idle time since.
func look(before *scan, seconds float64, roots map[int]bool, saturated func(cpu int) bool) (*scan, error) {
	all, err := ptable.All()
	if err != nil {
		return nil, err
	}
	s := &scan{used: make(map[thread]ticks, len(all)), blind: before == nil}
	ours := ptable.Below(all, roots)
	type candidate struct {
		ptable.Process
		use  float64
		ours bool
	}
	var busy []candidate
	for _, p := range all {
		if p.Dead() {
			continue
		}
		c := candidate{p, s.use(before, seconds, &p), ours[p.Pid]}
		if c.ours {
			s.own += max(0, c.use)
		}
		if c.use >= littleUse || c.use < 0 && p.State == 'R' && p.Pid != self() {
			busy = append(busy, c)
		}
	}
	slices.SortFunc(busy, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.use, a.use), cmp.Compare(a.Pid, b.Pid)) })
	g := newGroups()
	for _, c := range busy[:min(len(busy), maxCompetitors)] {
		if !c.ours {
			s.names = append(s.names, c.Name)
		}
		path := g.of(c.Pid)
		for _, t := range s.threads(before, seconds, &c.Process) {
			s.tasks = append(s.tasks, task{path: path, weight: niceWeight(t.Nice), want: wanted(t, saturated(t.CPU)), used: max(0, t.use),
				at: t.CPU, may: affinity(t.Pid), ours: c.ours})
		}
	}
	return s, nil
}

// use is the part of a CPU that a process used between two scans; -1 if that
// is not known.
func (s *scan) use(before *scan, seconds float64, p *ptable.Process) float64 {
	key := thread{p.Pid, p.Started}
	s.used[key] = p.Ticks
	if before == nil || seconds <= 0 {
		return -1
	}
	was, known := before.used[key]
	if !known {
		// It began in between, or was not looked at.
		return min(float64(p.Ticks)/(seconds*ticksPerSecond), float64(max(1, p.Threads)))
	}
	return float64(p.Ticks-was) / (seconds * ticksPerSecond)
}

// busyThread is a thread that wants CPU time.
type busyThread struct {
	ptable.Process
	use float64 // -1 if not known
}

// threads are the threads of a process that want CPU time.
func (s *scan) threads(before *scan, seconds float64, p *ptable.Process) []busyThread {
	const most = 1024
	if p.Threads <= 1 || p.Threads > most {
		return []busyThread{{*p, s.use(before, seconds, p)}}
	}
	all, err := ptable.Threads(p.Pid)
	if err != nil {
		return nil
	}
	var found []busyThread
	for i := range all {
		t := &all[i]
		// A process has the number of its first thread: keep their times apart.
		key := thread{-t.Pid, t.Started}
		s.used[key] = t.Ticks
		use := -1.0
		if before != nil && seconds > 0 {
			if was, known := before.used[key]; known {
				use = float64(t.Ticks-was) / (seconds * ticksPerSecond)
			}
		}
		if use >= littleUse || use < 0 && t.State == 'R' {
			found = append(found, busyThread{*t, use})
		}
	}
	return found
}

// wanted is how much of a CPU a thread would use if it got all it wants. One
// that uses little on a CPU that is never idle, and is waiting for it, may want
// everything.
func wanted(t busyThread, saturated bool) float64 {
	if t.use < 0 || t.use >= allUse || saturated && t.State == 'R' {
		return 1
	}
	return t.use
}

// affinity are the CPUs that a thread may use; nil if that is not known.
func affinity(tid int) cpuset {
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
