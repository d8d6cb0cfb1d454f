package localq

import (
	"fmt"
	"testing"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// fastHeap is a binary heap without interfaces, so that the benchmark
// measures the queue and not the event loop.
type fastHeap []endEvent

func (h *fastHeap) push(e endEvent) {
	*h = append(*h, e)
	s := *h
	i := len(s) - 1
	for i > 0 && e.at < s[(i-1)/2].at {
		s[i] = s[(i-1)/2]
		i = (i - 1) / 2
	}
	s[i] = e
}

func (h *fastHeap) pop() endEvent {
	s := *h
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	i := 0
	for {
		kid := 2*i + 1
		if kid >= len(s) {
			break
		}
		if kid+1 < len(s) && s[kid+1].at < s[kid].at {
			kid++
		}
		if last.at <= s[kid].at {
			break
		}
		s[i] = s[kid]
		i = kid
	}
	if len(s) > 0 {
		s[i] = last
	}
	return top
}

// drive is replay without bookkeeping. It returns the longest queue seen.
func drive(q manager, jobs []traced) (longest int) {
	var ends fastHeap
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
			_ = q.Submit(now, Job{ID: int64(next), Procs: j.procs, Estimate: j.estimate})
			next++
		}
		for len(ends) > 0 && ends[0].at == now {
			q.EndJob(now, ends.pop().id)
		}
		for _, id := range q.StartJobs(now) {
			ends.push(endEvent{now.Add(jobs[id].run), id})
		}
		longest = max(longest, q.Len())
	}
	return longest
}

func BenchmarkReplay(b *testing.B) {
	const n = 230_000
	for _, c := range []struct {
		name  string
		n     int
		load  float64
		exact bool
	}{
		{"load=0.9", n, 0.9, false},
		{"load=0.9/doubled", 2 * n, 0.9, false},
		{"load=0.9/exact", n, 0.9, true},
		{"overload", n, 1.5, false},
		{"overload/doubled", 2 * n, 1.5, false},
		{"overload/exact", n, 1.5, true},
		{"overload/exact/doubled", 2 * n, 1.5, true},
	} {
		jobs := workload(1, c.n, 100, c.load, c.exact)
		for _, policy := range []Policy{FCFS, EASY, SJBF} {
			b.Run(fmt.Sprintf("%s/%v", c.name, policy), func(b *testing.B) { benchmark(b, policy, 100, jobs) })
		}
	}
}

func BenchmarkReplayKTH(b *testing.B) {
	jobs := readTrace(b, "KTH-SP2-1996-2.pyss-filtered.swf.gz")
	if jobs == nil {
		b.Log("the KTH trace is not here: a generated one instead")
		jobs = workload(1, 28_481, 100, 0.7, false)
	}
	b.Run("queue", func(b *testing.B) { benchmark(b, EASY, 100, jobs) })
	// The baseline: the plain lists that the fast queue is checked against.
	b.Run("baseline", func(b *testing.B) {
		for b.Loop() {
			drive(newTwin(EASY, 100, Options{}), jobs)
		}
		b.ReportMetric(float64(len(jobs))*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	})
}

func benchmark(b *testing.B, policy Policy, capacity int, jobs []traced) {
	b.Helper()
	b.ReportAllocs()
	longest := 0
	for b.Loop() {
		longest = drive(New(policy, capacity, Options{}), jobs)
	}
	b.ReportMetric(float64(len(jobs))*float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
	b.ReportMetric(float64(longest), "longest-queue")
}
