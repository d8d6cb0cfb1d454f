package localq

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// watched checks in every instant what a queue promises.
type watched struct {
	*Queue
	t        testing.TB
	promised map[int64]core.Time // first reservation of each job that was head
	last     int64               // started last, under FCFS
}

func (w *watched) StartJobs(now core.Time) []int64 {
	started := w.Queue.StartJobs(now)
	for _, id := range started {
		if at, ok := w.promised[id]; ok && now > at {
			w.t.Fatalf("job %d starts at %v, was promised %v", id, now, at)
		}
		if w.policy == FCFS && id < w.last {
			w.t.Fatalf("job %d starts after job %d", id, w.last)
		}
		w.last = id
	}
	if w.free < 0 {
		w.t.Fatalf("%d processors too many in use", -w.free)
	}
	if w.head != none {
		w.reserveHead(now)
		id := w.Queue.jobs[w.head].id
		if w.shadow < now {
			w.t.Fatalf("job %d is reserved for %v at %v", id, w.shadow, now)
		}
		if _, ok := w.promised[id]; !ok {
			w.promised[id] = w.shadow
		}
	}
	return started
}

func TestTheHeadStartsByItsFirstReservationWhenEstimatesHold(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		policy := rapid.SampledFrom([]Policy{FCFS, EASY, SJBF}).Draw(rt, "policy")
		opts := Options{OncePerInstant: rapid.Bool().Draw(rt, "once"), ExtraInOrder: rapid.Bool().Draw(rt, "in order")}
		load := rapid.Float64Range(0.5, 3).Draw(rt, "load")
		jobs := workload(rapid.Uint64().Draw(rt, "seed"), 200, 100, load, rapid.Bool().Draw(rt, "exact"))
		w := &watched{Queue: New(policy, 100, opts), t: t, promised: map[int64]core.Time{}, last: -1}
		for i, at := range replay(t, w, jobs) {
			if at == core.Never || at < jobs[i].submit {
				rt.Fatalf("job %d starts at %v", i, at)
			}
		}
	})
}

func TestTheSameEventsGiveTheSameSchedule(t *testing.T) {
	jobs := workload(3, 3000, 100, 1.2, false)
	first := replay(t, New(EASY, 100, Options{}), jobs)
	second := replay(t, New(EASY, 100, Options{}), jobs)
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("job %d starts at %v, then at %v", i, first[i], second[i])
		}
	}
}

func TestASteadyQueueAllocatesNothing(t *testing.T) {
	q := New(EASY, 100, Options{})
	now, next := core.Time(0), int64(0)
	var running []int64
	step := func() {
		for _, id := range running {
			q.EndJob(now, id)
		}
		for range 8 {
			_ = q.Submit(now, Job{ID: next, Procs: 30 + int(next%7), Estimate: 10}) // never wrong
			next++
		}
		running = append(running[:0], q.StartJobs(now)...)
		for id := next - 8; id < next; id++ {
			if id%4 != 0 {
				q.CancelJob(now, id)
			}
		}
		now += 5
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(500, step); n > 0 {
		t.Errorf("%g allocations a step", n)
	}
}
