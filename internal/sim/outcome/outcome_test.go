package outcome

import (
	"math"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// story builds the events of a run by hand, times in seconds.
type story struct {
	t     *testing.T
	c     *Collector
	state map[core.JobID]core.State
}

func newStory(t *testing.T, procs int) *story {
	return &story{t: t, c: NewCollector(procs, 0, true), state: map[core.JobID]core.State{}}
}

func (s *story) submit(at float64, id core.JobID, kind core.Kind, least, most int) {
	spec := &core.Job{ID: id, Kind: kind, Components: []core.Component{{Min: least, Max: most}}}
	s.c.Observe(&core.Event{At: core.AtSecond(at), Kind: core.JobSubmitted, Job: id, Spec: spec})
	s.state[id] = core.Submitted
}

func (s *story) become(at float64, id core.JobID, states ...core.State) {
	for _, to := range states {
		if !s.state[id].MayBecome(to) {
			s.t.Fatalf("the story lets job %d go from %v to %v", id, s.state[id], to)
		}
		s.c.Observe(&core.Event{At: core.AtSecond(at), Kind: core.JobBecame, Job: id, From: s.state[id], To: to})
		s.state[id] = to
	}
}

func (s *story) plan(at float64, id core.JobID, part int, cluster core.ClusterID, n int) {
	s.c.Observe(&core.Event{At: core.AtSecond(at), Kind: core.PartPlanned, Job: id, Part: part, Cluster: cluster, N: n,
		Min: n, Max: n})
}

// start places a job of one part and runs it at once.
func (s *story) start(at float64, id core.JobID, cluster core.ClusterID, n int) {
	s.plan(at, id, 0, cluster, n)
	s.become(at, id, core.Selected, core.Queued, core.Running)
}

func (s *story) grow(at float64, id core.JobID, n int) {
	s.c.Observe(&core.Event{At: core.AtSecond(at), Kind: core.PartAnswered, Job: id, N: n, Grow: true})
}

func (s *story) shrink(at float64, id core.JobID, n int) {
	s.c.Observe(&core.Event{At: core.AtSecond(at), Kind: core.PartAnswered, Job: id, N: n})
}

func (s *story) giveBack(at float64, id core.JobID, n int) {
	s.c.Observe(&core.Event{At: core.AtSecond(at), Kind: core.PartGaveBack, Job: id, N: n})
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestARigidJobIsCountedFromSubmissionToEnd(t *testing.T) {
	s := newStory(t, 10)
	s.submit(100, 1, core.Rigid, 4, 4)
	s.start(130, 1, 0, 4)
	s.become(190, 1, core.Done)

	r := s.c.Records()[0]
	near(t, "wait", r.WaitSeconds(), 30)
	near(t, "run", r.RunSeconds(), 60)
	near(t, "response", r.ResponseSeconds(), 90)
	near(t, "mean size", r.MeanSize(), 4)
	near(t, "slowdown", r.BoundedSlowdown(), 1.5)
	got := s.c.Summary()
	want := Summary{Jobs: 1, Completed: 1, MakespanS: 90, MeanResponseS: 90, MeanWaitS: 30, MeanRunS: 60,
		MeanBoundedSlowdown: 1.5, Utilization: 4 * 60. / (10 * 90), MeanSize: 4, MaxSizeMean: 4, Events: 6}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestSizesAreAveragedOverTheTimeTheyLasted(t *testing.T) {
	s := newStory(t, 20)
	s.submit(0, 1, core.Malleable, 2, 16)
	s.start(0, 1, 0, 2)
	s.grow(10, 1, 6)   // 2 for 10 s
	s.shrink(30, 1, 3) // 8 for 20 s
	s.giveBack(30, 1, 1)
	s.grow(50, 1, 0)           // a refused offer is no operation
	s.become(70, 1, core.Done) // 4 for 40 s

	r := s.c.Records()[0]
	near(t, "mean size", r.MeanSize(), (2*10+8*20+4*40)/70.)
	if r.MaxSize != 8 {
		t.Errorf("largest size is %d, want 8", r.MaxSize)
	}
	sum := s.c.Summary()
	if sum.GrowOps != 1 || sum.ShrinkOps != 1 {
		t.Errorf("%d grows and %d shrinks, want 1 and 1: what a job gives back by itself is no operation", sum.GrowOps,
			sum.ShrinkOps)
	}
	near(t, "utilisation", sum.Utilization, 340./(20*70))
}

func TestAJobThatWasStoppedWaitsUntilItIsResumed(t *testing.T) {
	s := newStory(t, 10)
	s.submit(0, 1, core.Malleable, 2, 8)
	s.start(10, 1, 0, 2)
	s.become(30, 1, core.Stopping)
	s.become(35, 1, core.Stopped, core.Resuming) // it held its processors until now
	s.start(60, 1, 1, 6)
	s.become(80, 1, core.Done)

	r := s.c.Records()[0]
	near(t, "run", r.RunSeconds(), 25+20)
	near(t, "wait", r.WaitSeconds(), 10+25)
	near(t, "response", r.ResponseSeconds(), 80)
	near(t, "mean size", r.MeanSize(), (2*25+6*20)/45.)
	if r.Start != core.AtSecond(10) || r.Cluster != 1 || r.MaxSize != 6 {
		t.Errorf("got %+v, want the first start, the last cluster, the largest size", r)
	}
	near(t, "utilisation", s.c.Summary().Utilization, (2*25+6*20)/(10*80.))
}

func TestALostClaimLeavesNothingBehind(t *testing.T) {
	s := newStory(t, 10)
	s.submit(0, 1, core.Rigid, 4, 4)
	s.plan(0, 1, 0, 0, 4)
	s.become(0, 1, core.Selected, core.Queued, core.Submitted)
	if r := s.c.Records()[0]; r.Cluster != core.Nowhere || r.Start != core.Never {
		t.Errorf("after the lost claim: %+v", r)
	}
	s.start(20, 1, 2, 4)
	s.become(30, 1, core.Done)
	r := s.c.Records()[0]
	near(t, "wait", r.WaitSeconds(), 20)
	near(t, "mean size", r.MeanSize(), 4)
	if r.Cluster != 2 || r.MaxSize != 4 {
		t.Errorf("got cluster %d and largest size %d, want 2 and 4", r.Cluster, r.MaxSize)
	}
}

func TestAJobOfNoLengthHasTheSizeItStartedWith(t *testing.T) {
	s := newStory(t, 10)
	s.submit(5, 1, core.Rigid, 3, 3)
	s.start(5, 1, 0, 3)
	s.become(5, 1, core.Done)
	sum := s.c.Summary()
	near(t, "mean size", sum.MeanSize, 3)
	near(t, "slowdown", sum.MeanBoundedSlowdown, 1)
	if sum.MakespanS != 0 || sum.Utilization != 0 {
		t.Errorf("makespan %v and utilisation %v of a run without length", sum.MakespanS, sum.Utilization)
	}
}

func TestMeansAreOverCompletedJobsAndUtilisationOverAll(t *testing.T) {
	s := newStory(t, 10)
	s.submit(0, 1, core.Rigid, 2, 2)
	s.submit(0, 2, core.Rigid, 3, 3)
	s.submit(0, 3, core.Rigid, 20, 20)
	s.submit(0, 4, core.Rigid, 9, 9)
	s.become(0, 3, core.Failed) // never fits
	s.start(0, 1, 0, 2)
	s.start(0, 2, 0, 3)
	s.become(50, 1, core.Done)
	s.become(100, 2, core.Stopped, core.Failed) // its host failed for good

	got := s.c.Summary()
	if got.Jobs != 4 || got.Completed != 1 || got.Failed != 2 || got.Unplaced != 1 {
		t.Errorf("counts: %+v", got)
	}
	near(t, "mean run", got.MeanRunS, 50)
	near(t, "makespan", got.MakespanS, 100)
	near(t, "utilisation", got.Utilization, (2*50+3*100)/(10*100.))
	if s.c.EndedJobs() != 3 {
		t.Errorf("%d jobs ended, want 3", s.c.EndedJobs())
	}
}

func TestARunWithoutJobsHasNoNumbers(t *testing.T) {
	if got := NewCollector(10, 0, false).Summary(); got != (Summary{}) {
		t.Errorf("got %+v", got)
	}
}

func TestTheSeriesFollowEveryChange(t *testing.T) {
	s := newStory(t, 10)
	s.submit(0, 1, core.Malleable, 2, 8)
	s.submit(0, 2, core.Rigid, 4, 4)
	s.start(10, 1, 0, 2)
	s.grow(20, 1, 4)
	s.become(30, 1, core.Stopping)
	s.become(40, 1, core.Stopped, core.Resuming)
	s.start(40, 2, 0, 4)
	s.become(50, 2, core.Done)
	s.become(60, 1, core.Cancelled)

	want := &Series{
		At:      []core.Time{0, 10e9, 20e9, 40e9, 50e9, 60e9},
		Used:    []int32{0, 2, 6, 4, 0, 0},
		Waiting: []int32{2, 1, 1, 1, 1, 0},
		Grows:   []int32{0, 0, 1, 1, 1, 1},
		Shrinks: []int32{0, 0, 0, 0, 0, 0},
	}
	if diff := cmp.Diff(want, s.c.Series()); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestARecordStaysSmall(t *testing.T) {
	if size := unsafe.Sizeof(Record{}); size > 72 {
		t.Errorf("a record has %d bytes, with its label it must not exceed 80", size)
	}
}
