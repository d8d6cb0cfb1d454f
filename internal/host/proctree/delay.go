package proctree

import (
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/proctable"
)

// SeesDelays reports whether the kernel tells how long threads wait for a processor.
var SeesDelays = sync.OnceValue(func() bool {
	text, err := os.ReadFile("/proc/self/schedstat")
	s, ok := parseSchedstat(text)
	return err == nil && ok && s.ran > 0
})

// maxDelayThreads is how many threads are asked how long they waited for a processor:
// more would cost more than they tell.
const maxDelayThreads = 64

// schedTimes are what the scheduler counted of threads: how long they ran, and how
// long they were ready to run but had no processor.
type schedTimes struct{ ran, delayed time.Duration }

// thread is what is known of one.
type thread struct {
	schedTimes
	// ahead is how long it has been waiting for a processor since the scheduler last
	// counted, which it does when it gives one.
	ahead time.Duration
}

// parseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds run, nanoseconds
// waited on a run queue, timeslices.
func parseSchedstat(text []byte) (schedTimes, bool) {
	f := proctable.Fields{Rest: text}
	ran, delayed := f.NextNumber(), f.NextNumber()
	ok := !f.Bad && ran >= 0 && delayed >= 0
	return schedTimes{time.Duration(ran), time.Duration(delayed)}, ok
}

// addDelays adds to t.sched what the threads that live ran and waited since they were
// last asked, that long ago. What a thread did after that, and then ended, is not known.
func (t *Tree) addDelays(elapsed time.Duration) {
	asked := 0
	now := make(map[int]thread, len(t.threads))
	for _, m := range t.members {
		if m.isZombie() {
			continue
		}
		if m.threads <= 1 {
			asked++
			if text, err := t.readKept(&m.schedFD, m.pid, "schedstat"); err == nil {
				t.countThread(m.pid, text, elapsed, func() bool { return m.state == 'R' }, now)
			}
			continue
		}
		tids, _ := numbersIn(procPath(m.pid, "task")) // gone meanwhile: no threads
		for _, tid := range tids {
			if asked++; asked > maxDelayThreads {
				break
			}
			path := procPath(m.pid, "task/") + strconv.Itoa(tid)
			if text, err := t.read.readFile(path + "/schedstat"); err == nil {
				t.countThread(tid, text, elapsed, func() bool { return t.isReady(path) }, now)
			}
		}
		if asked > maxDelayThreads {
			break
		}
	}
	t.threads = now
}

// isReady says whether a thread has a processor or waits for one.
func (t *Tree) isReady(path string) bool {
	text, err := t.read.readFile(path + "/stat")
	if err != nil {
		return false
	}
	s, err := parseStat(text, false)
	return err == nil && s.state == 'R'
}

// countThread counts what a thread did since it was last asked. One that is ready but
// that the scheduler has not touched since then has waited all the time.
func (t *Tree) countThread(tid int, text []byte, elapsed time.Duration, isReady func() bool, now map[int]thread) {
	s, ok := parseSchedstat(text)
	if !ok {
		return
	}
	before, known := t.threads[tid]
	if s.ran < before.ran || s.delayed < before.delayed { // another thread of the same number
		before, known = thread{}, false
	}
	next := thread{schedTimes: s}
	if known && s == before.schedTimes && isReady() {
		next.ahead = before.ahead + elapsed
	}
	t.sched.ran += s.ran - before.ran
	t.sched.delayed += max(s.delayed+next.ahead-before.delayed-before.ahead, 0)
	now[tid] = next
}
