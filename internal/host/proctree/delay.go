package proctree

import (
	"os"
	"strconv"
	"sync"
	"time"
)

// SeesDelays reports whether the kernel tells how long threads wait for a processor.
var SeesDelays = sync.OnceValue(func() bool {
	text, err := os.ReadFile("/proc/self/schedstat")
	s, ok := parseSchedstat(text)
	return err == nil && ok && s.ran > 0
})

// mostDelayed is how many threads are asked how long they waited for a processor:
// more would cost more than they tell.
const mostDelayed = 64

// schedTimes are what the scheduler counted of threads: how long they ran, and how
// long they were ready to run but had no processor.
type schedTimes struct{ ran, delayed time.Duration }

// parseSchedstat reads /proc/PID/task/TID/schedstat: nanoseconds run, nanoseconds
// waited on a run queue, timeslices.
func parseSchedstat(text []byte) (schedTimes, bool) {
	f := fields{rest: text}
	ran, delayed := f.number(), f.number()
	ok := !f.bad && ran >= 0 && delayed >= 0
	return schedTimes{time.Duration(ran), time.Duration(delayed)}, ok
}

// addDelays adds to t.sched what the threads that live ran and waited since they were
// last asked. What a thread did after that, and then ended, is not known; it is like
// what the others did.
func (t *Tree) addDelays() {
	asked := 0
	now := make(map[int]schedTimes, len(t.threads))
	for _, m := range t.members {
		if m.zombie() {
			continue
		}
		if m.threads <= 1 {
			asked++
			if text, err := t.readKept(&m.schedFD, m.pid, "schedstat"); err == nil {
				t.countThread(m.pid, text, now)
			}
			continue
		}
		tids, _ := numbersIn(procPath(m.pid, "task")) // gone meanwhile: no threads
		for _, tid := range tids {
			if asked++; asked > mostDelayed {
				break
			}
			if text, err := t.read.file(procPath(m.pid, "task/") + strconv.Itoa(tid) + "/schedstat"); err == nil {
				t.countThread(tid, text, now)
			}
		}
		if asked > mostDelayed {
			break
		}
	}
	t.threads = now
}

func (t *Tree) countThread(tid int, text []byte, now map[int]schedTimes) {
	s, ok := parseSchedstat(text)
	if !ok {
		return
	}
	before := t.threads[tid]
	if s.ran < before.ran || s.delayed < before.delayed { // another thread of the same number
		before = schedTimes{}
	}
	t.sched.ran += s.ran - before.ran
	t.sched.delayed += s.delayed - before.delayed
	now[tid] = s
}
