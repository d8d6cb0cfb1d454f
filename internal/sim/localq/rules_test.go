package localq

import (
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// cluster is a queue with a clock, for tests that tell a story.
type cluster struct {
	*Queue
	t *testing.T
}

func newCluster(t *testing.T, policy Policy, opts Options) cluster {
	t.Helper()
	return cluster{New(policy, 10, opts), t}
}

func (c cluster) submit(now core.Time, id int64, procs int, estimate time.Duration) {
	c.t.Helper()
	if err := c.Submit(now, Job{ID: id, Procs: procs, Estimate: estimate}); err != nil {
		c.t.Fatal(err)
	}
}

// starts checks which jobs start now.
func (c cluster) starts(now core.Time, want ...int64) {
	c.t.Helper()
	if got := c.StartJobs(now); !slices.Equal(got, want) {
		c.t.Fatalf("at %d jobs %v start, want %v", now, got, want)
	}
}

func (c cluster) ends(now core.Time, ids ...int64) {
	c.t.Helper()
	for _, id := range ids {
		if !c.EndJob(now, id) {
			c.t.Fatalf("job %d does not run", id)
		}
	}
}

func TestNobodyPassesTheHeadUnderFCFS(t *testing.T) {
	c := newCluster(t, FCFS, Options{})
	c.submit(0, 1, 6, 100)
	c.submit(0, 2, 5, 100)
	c.submit(0, 3, 1, 1)
	c.starts(0, 1)
	c.ends(50, 1)
	c.starts(50, 2, 3)
}

func TestABackfilledJobEndsInTimeOrUsesExtraProcessors(t *testing.T) {
	c := newCluster(t, EASY, Options{})
	c.submit(0, 1, 6, 100) // until 100
	c.submit(0, 2, 8, 100) // the head: starts at 100, and leaves 2 extra
	c.submit(0, 3, 3, 101) // too long, and more than the extra
	c.submit(0, 4, 1, 999) // extra
	c.submit(0, 5, 3, 100) // in time to the second
	c.starts(0, 1, 4, 5)
	c.submit(1, 6, 1, 100) // only one extra is left, but nothing is free
	c.starts(1)
	c.ends(100, 1, 5)
	c.starts(100, 2, 6)
}

func TestTheShortestCandidateGoesFirstUnderSJBF(t *testing.T) {
	for policy, want := range map[Policy]int64{EASY: 3, SJBF: 4} {
		c := newCluster(t, policy, Options{})
		c.submit(0, 1, 6, 100)
		c.submit(0, 2, 10, 100)
		c.starts(0, 1)
		c.SetCapacity(1, 6) // nothing fits for a while, so both wait
		c.submit(1, 3, 3, 50)
		c.submit(1, 4, 3, 40)
		c.starts(1)
		c.SetCapacity(2, 10)
		c.starts(2, want)
	}
}

func TestOncePerInstantTheHeadGetsWhatEndsTogether(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want []int64
	}{
		{Options{}, []int64{4}},                     // into the processors of the first end
		{Options{OncePerInstant: true}, []int64{3}}, // both ends make room for the head
	} {
		q := newCluster(t, EASY, c.opts)
		q.submit(0, 1, 5, 100)
		q.submit(0, 2, 5, 100)
		q.submit(0, 3, 10, 100)
		q.submit(0, 4, 5, 20)
		q.starts(0, 1, 2)
		q.ends(50, 1, 2)
		q.starts(50, c.want...)
	}
}

func TestPunctualEndsComeBeforeEverything(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want []int64
	}{
		{Options{}, []int64{3}},
		{Options{EndsInTurn: true}, []int64{4}}, // comes while the other five are still taken
	} {
		q := newCluster(t, EASY, c.opts)
		q.submit(0, 1, 5, 50)
		q.submit(0, 2, 5, 50)
		q.submit(0, 3, 10, 100)
		q.starts(0, 1, 2)
		q.submit(50, 4, 5, 0)
		q.ends(50, 1, 2)
		q.starts(50, c.want...)
	}
}

func TestAllEndsAtTheShadowTimeCountTowardsTheExtraProcessors(t *testing.T) {
	for _, c := range []struct {
		opts Options
		want []int64
	}{
		{Options{}, []int64{1, 2, 4}},
		{Options{ExtraInOrder: true}, []int64{1, 2}},
	} {
		q := newCluster(t, EASY, c.opts)
		q.submit(0, 1, 5, 100)
		q.submit(0, 2, 4, 100)
		q.submit(0, 3, 6, 100) // needs only the first of the two ends
		q.submit(0, 4, 1, 200)
		q.starts(0, c.want...)
	}
}

func TestAJobBeyondItsEstimateIsExpectedToEndNow(t *testing.T) {
	c := newCluster(t, EASY, Options{})
	c.submit(0, 1, 6, 100)
	c.submit(0, 2, 9, 100)
	c.starts(0, 1)
	c.submit(500, 3, 1, 1000) // extra
	c.submit(500, 4, 1, 10)   // would end after now
	c.submit(500, 5, 3, 0)    // takes no time
	c.starts(500, 3, 5)
	c.ends(500, 5)
	c.ends(700, 1)
	c.starts(700, 2)
}

func TestNothingStartsWhileMoreIsInUseThanThereIs(t *testing.T) {
	c := newCluster(t, EASY, Options{})
	c.submit(0, 1, 4, 100)
	c.submit(0, 2, 4, 200)
	c.starts(0, 1, 2)
	c.SetCapacity(10, 5)
	c.submit(10, 3, 1, 1)
	c.submit(10, 4, 6, 1)
	c.starts(10)
	if c.FreeProcs() != 0 || c.Len() != 2 || c.RunningJobs() != 2 {
		t.Errorf("free %d, waiting %d, running %d", c.FreeProcs(), c.Len(), c.RunningJobs())
	}
	c.ends(20, 1)
	c.starts(20, 3)
	c.submit(30, 5, 1, 1000)
	c.ends(30, 3)
	c.starts(30, 5) // a head that cannot run holds nobody up
	c.SetCapacity(40, 11)
	c.starts(40, 4)
}

func TestWhatIsNotThereCannotEndOrBeCancelled(t *testing.T) {
	c := newCluster(t, EASY, Options{})
	c.submit(0, 1, 10, 100)
	c.submit(0, 2, 10, 100)
	c.starts(0, 1)
	if c.EndJob(1, 2) || c.EndJob(1, 7) || c.CancelJob(1, 7) {
		t.Error("ended or cancelled what does not run")
	}
	if !c.EndJob(1, 1) || c.EndJob(1, 1) || c.CancelJob(1, 1) {
		t.Error("a job ends once")
	}
	if c.FreeProcs() != 10 || c.RunningJobs() != 0 {
		t.Errorf("free %d, running %d", c.FreeProcs(), c.RunningJobs())
	}
	if c.Submit(1, Job{ID: 2, Procs: 1}) == nil || c.Submit(1, Job{ID: 3}) == nil {
		t.Error("took a job twice or one without processors")
	}
	if !c.CancelJob(1, 2) || c.Len() != 0 {
		t.Error("a waiting job can be cancelled")
	}
	c.starts(1)
}
