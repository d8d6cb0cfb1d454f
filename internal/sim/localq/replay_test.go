package localq

import (
	"container/heap"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/swf"
	"github.com/godwit-hpc/godwit/internal/recordings"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// manager is what the fast queue and its simple twin have in common.
type manager interface {
	Submit(now core.Time, j Job) error
	EndJob(now core.Time, id int64) bool
	CancelJob(now core.Time, id int64) bool
	SetCapacity(now core.Time, n int)
	StartJobs(now core.Time) []int64
	Len() int
}

// traced is a job with what really happens to it. Its ID is its index.
type traced struct {
	submit   core.Time
	run      time.Duration
	procs    int
	estimate time.Duration
}

// endEvent and endHeap are the simplest event queue there is.
type endEvent struct {
	at core.Time
	id int64
}

type endHeap []endEvent

func (h endHeap) Len() int { return len(h) }
func (h endHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].id < h[j].id
}
func (h endHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *endHeap) Push(x any)   { *h = append(*h, x.(endEvent)) }
func (h *endHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// replay is the bare event loop: it plays jobs, sorted by submit time, on m
// and returns when each started.
func replay(t testing.TB, m manager, jobs []traced) []core.Time {
	t.Helper()
	starts := make([]core.Time, len(jobs))
	for i := range starts {
		starts[i] = core.Never
	}
	var ends endHeap
	next := 0
	for next < len(jobs) || len(ends) > 0 {
		now := core.Never
		if next < len(jobs) {
			now = jobs[next].submit
		}
		if len(ends) > 0 {
			now = min(now, ends[0].at)
		}
		for next < len(jobs) && jobs[next].submit == now {
			j := &jobs[next]
			if err := m.Submit(now, Job{ID: int64(next), Procs: j.procs, Estimate: j.estimate}); err != nil {
				t.Fatal(err)
			}
			next++
		}
		for len(ends) > 0 && ends[0].at == now {
			if !m.EndJob(now, heap.Pop(&ends).(endEvent).id) {
				t.Fatal("a running job is not known")
			}
		}
		for _, id := range m.StartJobs(now) {
			starts[id] = now
			heap.Push(&ends, endEvent{now.Add(jobs[id].run), id})
		}
	}
	return starts
}

// workload is n jobs at the given load of capacity processors, with round
// sizes and estimates as users give them, or exact ones.
func workload(seed uint64, n, capacity int, load float64, exact bool) []traced {
	rng := rand.New(rand.NewPCG(seed, 7))
	jobs := make([]traced, n)
	area := 0.0
	for i := range jobs {
		j := &jobs[i]
		j.procs = 1 << rng.IntN(8)
		if rng.IntN(3) == 0 {
			j.procs = 1 + rng.IntN(capacity)
		}
		j.procs = min(j.procs, capacity)
		j.run = time.Duration(1+rng.ExpFloat64()*3000) * time.Second
		j.estimate = j.run
		if !exact {
			limits := []time.Duration{5 * time.Minute, time.Hour, 4 * time.Hour, 12 * time.Hour, 48 * time.Hour}
			at := slices.IndexFunc(limits, func(l time.Duration) bool { return l >= j.run })
			j.estimate = limits[min(at+rng.IntN(3), len(limits)-1)]
		}
		area += float64(j.procs) * j.run.Seconds()
	}
	span := area / (load * float64(capacity))
	at := 0.0
	for i := range jobs {
		at += rng.ExpFloat64() * span / float64(n)
		jobs[i].submit = core.AtSecond(float64(int64(at)))
	}
	return jobs
}

// readTrace is the usable jobs of a real trace, or nil if it is not here.
func readTrace(t testing.TB, name string) []traced {
	t.Helper()
	path := recordings.OrGenerated(t, "swf", filepath.FromSlash(name))
	if path == "" {
		return nil
	}
	trace, err := swf.ReadFile(path, swf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var jobs []traced
	for i := range trace.Records {
		r := &trace.Records[i]
		if ok, _ := r.IsUsable(); ok {
			jobs = append(jobs, traced{r.Submit, r.Run, r.NeededProcs(), r.EstimatedTime()})
		}
	}
	return jobs
}
