package localq

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// TestTheFastQueueDoesExactlyWhatItsSimpleTwinDoes plays the same random life
// of a cluster on both: jobs end before, at and after their estimates, are
// cancelled in any state, hosts fail and join.
func TestTheFastQueueDoesExactlyWhatItsSimpleTwinDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { newPair(t).live() })
}

// FuzzQueue is the same with the fuzzer choosing.
func FuzzQueue(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { newPair(t).live() }))
}

// pair is a queue, its twin, and what has been done to both.
type pair struct {
	t     *rapid.T
	queue *Queue
	twin  *twin
	now   core.Time
	next  int64
	alive []int64 // all ever submitted
	runs  []int64 // all ever started
}

func newPair(t *rapid.T) *pair {
	b := rapid.Bool()
	opts := Options{
		OncePerInstant: b.Draw(t, "once per instant"), EndsFirst: b.Draw(t, "ends first"),
		EndsInTurn: b.Draw(t, "ends in turn"), ExtraInOrder: b.Draw(t, "extra in order"),
	}
	policy := rapid.SampledFrom([]Policy{FCFS, EASY, SJBF}).Draw(t, "policy")
	return &pair{
		t: t, queue: New(policy, 8, opts), twin: newTwin(policy, 8, opts),
		now: core.Time(rapid.Int64Range(-3, 3).Draw(t, "now")),
	}
}

func (p *pair) live() {
	for range p.draw(1, 60, "steps") {
		for range p.draw(0, 3, "events") {
			p.event()
		}
		p.schedule()
		p.now += core.Time(p.draw(0, 4, "pause"))
	}
}

func (p *pair) draw(low, high int, what string) int {
	return rapid.IntRange(low, high).Draw(p.t, what)
}

// drawJob takes few sizes and few times, so that ties are the rule.
func (p *pair) drawJob() Job {
	estimate := time.Duration(p.draw(0, 8, "estimate"))
	if p.draw(0, 20, "odd") == 0 {
		estimate = rapid.SampledFrom([]time.Duration{1 << 62, 1<<63 - 1}).Draw(p.t, "odd estimate")
	}
	return Job{ID: p.next, Procs: p.draw(1, 9, "procs"), Estimate: estimate}
}

func (p *pair) event() {
	pick := func(ids []int64) int64 { return ids[p.draw(0, len(ids)-1, "which")] }
	switch kind := p.draw(0, 19, "event"); {
	case kind < 12 || len(p.alive) == 0:
		j := p.drawJob()
		if err := p.queue.Submit(p.now, j); err != nil {
			p.t.Fatal(err)
		}
		_ = p.twin.Submit(p.now, j) // takes everything
		p.alive = append(p.alive, p.next)
		p.next++
	case kind < 14:
		id := pick(p.alive)
		if got, want := p.queue.CancelJob(p.now, id), p.twin.CancelJob(p.now, id); got != want {
			p.t.Fatalf("cancelling %d: %v, want %v", id, got, want)
		}
	case kind < 15:
		n := p.draw(0, 12, "capacity")
		p.queue.SetCapacity(p.now, n)
		p.twin.SetCapacity(p.now, n)
	case len(p.runs) > 0:
		id := pick(p.runs)
		if got, want := p.queue.EndJob(p.now, id), p.twin.EndJob(p.now, id); got != want {
			p.t.Fatalf("ending %d: %v, want %v", id, got, want)
		}
	}
}

func (p *pair) schedule() {
	free := p.queue.FreeProcs()
	got := slices.Clone(p.queue.StartJobs(p.now))
	if want := p.twin.StartJobs(p.now); !slices.Equal(got, want) {
		p.t.Fatalf("at %d:\n%s", p.now, cmp.Diff(want, got))
	}
	if len(got) == 0 && p.queue.FreeProcs() != free {
		p.t.Fatalf("%d free before, %d after nothing started", free, p.queue.FreeProcs())
	}
	p.runs = append(p.runs, got...)
	if p.queue.FreeProcs() != max(p.twin.free(), 0) || p.queue.Len() != p.twin.Len() ||
		p.queue.RunningJobs() != len(p.twin.running) {
		p.t.Fatalf("free %d, waiting %d, running %d; want %d, %d, %d", p.queue.FreeProcs(), p.queue.Len(),
			p.queue.RunningJobs(),
			p.twin.free(), p.twin.Len(), len(p.twin.running))
	}
}

// A long queue, where the tries are deep.
func TestHeavyLoadGivesTheTwinsSchedule(t *testing.T) {
	for _, policy := range []Policy{FCFS, EASY, SJBF} {
		for _, exact := range []bool{false, true} {
			for seed, load := range []float64{0.8, 1.1, 3} {
				jobs := workload(uint64(seed), 1500, 100, load, exact)
				for i := 0; i < len(jobs); i += 17 {
					jobs[i].run += jobs[i].estimate // runs on beyond its estimate
				}
				for _, opts := range []Options{{}, {OncePerInstant: true},
					{ExtraInOrder: true, EndsFirst: true, EndsInTurn: true}} {
					sameAsTwin(t, policy, opts, jobs)
				}
			}
		}
	}
}

// Real traces have what nobody thinks of: bursts, jobs far beyond their
// estimates, jobs of no length.
func TestRealTracesGiveTheTwinsSchedule(t *testing.T) {
	for name, capacity := range map[string]int{
		"ANL-Theta-2022.swf.gz":         4360,
		"CEA-Curie-2011.sample.swf.gz":  80640,
		"HPC2N-2002.excerpt3194.swf.gz": 240,
		"lublin_256.swf.gz":             256,
	} {
		jobs := readTrace(t, name)
		if jobs == nil {
			t.Logf("%s is not here", name)
			continue
		}
		jobs = slices.DeleteFunc(jobs[:min(len(jobs), 4000)], func(j traced) bool { return j.procs > capacity })
		for _, policy := range []Policy{FCFS, EASY, SJBF} {
			sameAsTwinOn(t, capacity, policy, Options{}, jobs)
		}
	}
}

func sameAsTwin(t *testing.T, policy Policy, opts Options, jobs []traced) {
	t.Helper()
	sameAsTwinOn(t, 100, policy, opts, jobs)
}

func sameAsTwinOn(t *testing.T, capacity int, policy Policy, opts Options, jobs []traced) {
	t.Helper()
	got := replay(t, New(policy, capacity, opts), jobs)
	want := replay(t, newTwin(policy, capacity, opts), jobs)
	for i := range got {
		if got[i] != want[i] || got[i] == core.Never {
			t.Fatalf("%v %+v: job %d starts at %v, want %v", policy, opts, i, got[i], want[i])
		}
	}
}

func (p Policy) String() string {
	switch p {
	case FCFS:
		return "fcfs"
	case EASY:
		return "easy"
	case SJBF:
		return "easy-sjbf"
	}
	return fmt.Sprintf("policy %d", uint8(p))
}

// RunningJobs is how many jobs run.
func (q *Queue) RunningJobs() int { return q.active }
