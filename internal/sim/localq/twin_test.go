package localq

import (
	"cmp"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// twin is the same queue written as plainly as possible: lists, scanned from
// end to end, everything computed anew in each pass. It is what the fast one
// is checked against.
type twin struct {
	policy   Policy
	opts     Options
	capacity int
	arrivals []Job
	queue    []Job
	running  []twinJob
	started  []int64
	seq      int
	punctual []int // starts of the jobs that ended on time in this instant
}

type twinJob struct {
	Job
	end  core.Time // expected
	seq  int       // order of the starts
	left bool      // has ended and waits for its turn
}

func newTwin(policy Policy, capacity int, opts Options) *twin {
	return &twin{policy: policy, opts: opts, capacity: capacity}
}

func (w *twin) Submit(_ core.Time, j Job) error {
	w.arrivals = append(w.arrivals, j)
	return nil
}

func (w *twin) EndJob(now core.Time, id int64) bool {
	at := slices.IndexFunc(w.running, func(j twinJob) bool { return j.ID == id && !j.left })
	if at < 0 {
		return false
	}
	if w.opts.OncePerInstant || w.running[at].end <= now && !w.opts.EndsInTurn {
		if !w.opts.OncePerInstant {
			w.punctual = append(w.punctual, w.running[at].seq)
		}
		w.running = slices.Delete(w.running, at, at+1)
	} else {
		w.running[at].left = true
	}
	return true
}

func (w *twin) CancelJob(now core.Time, id int64) bool {
	before := w.Len()
	it := func(j Job) bool { return j.ID == id }
	w.arrivals = slices.DeleteFunc(w.arrivals, it)
	w.queue = slices.DeleteFunc(w.queue, it)
	return w.Len() < before || w.EndJob(now, id)
}

func (w *twin) SetCapacity(_ core.Time, n int) { w.capacity = n }

func (w *twin) Len() int { return len(w.arrivals) + len(w.queue) }

func (w *twin) free() int {
	free := w.capacity
	for _, j := range w.running {
		free -= j.Procs
	}
	return free
}

func (w *twin) StartJobs(now core.Time) []int64 {
	w.started = nil
	events := 0
	arrive := func() {
		for _, j := range w.arrivals {
			w.queue = append(w.queue, j)
			if !w.opts.OncePerInstant {
				w.pass(now)
				events++
			}
		}
		w.arrivals = nil
	}
	end := func() {
		for {
			at := -1
			for i, j := range w.running {
				if j.left && (at < 0 || j.seq < w.running[at].seq) {
					at = i
				}
			}
			if at < 0 {
				break
			}
			if events == 0 && len(w.punctual) > 0 && slices.Min(w.punctual) < w.running[at].seq {
				w.pass(now)
			}
			w.running = slices.Delete(w.running, at, at+1)
			w.pass(now)
			events++
		}
		if events == 0 && len(w.punctual) > 0 {
			w.pass(now)
			events++
		}
	}
	if w.opts.EndsFirst {
		end()
		arrive()
	} else {
		arrive()
		end()
	}
	if events == 0 {
		w.pass(now)
	}
	w.punctual = nil
	return w.started
}

func (w *twin) pass(now core.Time) {
	for len(w.queue) > 0 && w.queue[0].Procs <= w.free() {
		w.start(now, w.queue[0])
	}
	if len(w.queue) == 0 || w.policy == FCFS {
		return
	}
	shadow, extra := w.reservation(now, w.queue[0])
	candidates := slices.Clone(w.queue[1:])
	if w.policy == SJBF {
		slices.SortStableFunc(candidates, func(a, b Job) int { return cmp.Compare(a.Estimate, b.Estimate) })
	}
	for _, j := range candidates {
		inTime := now.Add(j.Estimate) <= shadow
		if j.Procs > w.free() || !inTime && j.Procs > extra {
			continue
		}
		if !inTime {
			extra -= j.Procs
		}
		w.start(now, j)
	}
}

func (w *twin) reservation(now core.Time, head Job) (shadow core.Time, extra int) {
	ends := slices.Clone(w.running)
	slices.SortFunc(ends, func(a, b twinJob) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.seq, b.seq))
	})
	available := w.free()
	shadow = core.Never
	for _, j := range ends {
		end := max(j.end, now)
		if shadow != core.Never && (w.opts.ExtraInOrder || end > shadow) {
			break
		}
		available += j.Procs
		if available >= head.Procs && shadow == core.Never {
			shadow = end
		}
	}
	return shadow, available - head.Procs
}

func (w *twin) start(now core.Time, j Job) {
	w.queue = slices.DeleteFunc(w.queue, func(o Job) bool { return o.ID == j.ID })
	w.seq++
	w.running = append(w.running, twinJob{Job: j, end: now.Add(j.Estimate), seq: w.seq})
	w.started = append(w.started, j.ID)
}
