package broker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A clock that is set while a broker runs moves nothing: the broker reads the
// calendar once, when it begins, and from then on counts by the difference of two
// readings of Go's clock, which are differences of the kernel's monotonic clock.
// Agents do the same. What is left, and is tested here, is a broker that begins
// with a calendar that is not the one of the broker before it.

// upAt starts a broker whose calendar is off by so much.
func (g *grid) upAt(off time.Duration) {
	g.t.Helper()
	o := g.options()
	o.Clock = func() time.Time { return time.Now().Add(off) }
	b, err := broker.Open(context.Background(), o)
	if err != nil {
		g.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.br = b
	g.stop = func() error { cancel(); return <-done }
}

// scene is a job that runs, one that is being moved and one that waits, when
// the broker is killed.
type scene struct {
	running, leaving, waiting core.JobID
	runs, leaves              *attempt
	now, deadline, due        core.Time
}

func setScene(g *grid) scene {
	var s scene
	s.running = g.submit(jobfile.Job{On: []string{"a"}, Deadline: 30 * time.Minute})
	s.runs = g.next()
	s.runs.run()
	s.leaving = g.submit(jobfile.Job{Retries: 3})
	s.leaves = g.next()
	s.leaves.run()
	g.until(s.running, core.Running)
	g.until(s.leaving, core.Running)
	s.waiting = g.submit(jobfile.Job{On: []string{"a"}, Min: 2, Max: 2, Deadline: 30 * time.Minute})
	go func() {
		// Nobody waits for the answer: the broker is killed before.
		_, _ = g.broker().MigrateJob(context.Background(), fmt.Sprint(s.leaving), "")
	}()
	s.due = s.leaves.order(g.t, wire.Stop).By
	s.deadline = g.view(s.running).Deadline
	s.runs.cut()
	s.leaves.cut()
	s.now = g.broker().CurrentTime()
	g.kill()
	return s
}

// finish lets all three come to their ends and checks that each came there once.
func (s *scene) finish(g *grid) {
	g.t.Helper()
	s.runs.end(0)
	s.leaves.say(wire.Message{Kind: wire.Left, State: &wire.Vitals{Wall: 1, Chance: -1},
		Saved: &wire.Saved{Method: "sandbox", Work: "w", Image: "i"}})
	for range 2 {
		a := g.next()
		if a.Job == s.running || a.Job == s.waiting && a.Epoch != 1 || a.Job == s.leaving && a.Epoch != 2 {
			g.t.Errorf("job %d was started as epoch %d", a.Job, a.Epoch)
		}
		a.run()
		a.end(0)
		g.until(a.Job, core.Done)
	}
	for _, id := range []core.JobID{s.running, s.leaving, s.waiting} {
		v := g.until(id, core.Done)
		if n := len(g.explained(id, "end")); n != 1 {
			g.t.Errorf("job %d ended %d times", id, n)
		}
		if v.Ended < v.Submitted {
			g.t.Errorf("job %d ended %v before it was submitted", id, v.Submitted.Sub(v.Ended))
		}
	}
}

func TestABrokerWhoseClockIsAnHourBehindGoesOnWhereItWas(t *testing.T) {
	g := newGrid(t)
	s := setScene(g)
	g.upAt(-time.Hour)
	if now := g.broker().CurrentTime(); now < s.now.Add(-time.Minute) || now > s.now.Add(time.Minute) {
		t.Errorf("its time went from %d to %d", s.now, now)
	}
	s.runs.connect()
	s.leaves.connect()
	if o := s.leaves.order(t, wire.Stop); o.By != s.due {
		t.Errorf("the job that leaves has until %d, it had until %d", o.By, s.due)
	}
	if v := g.view(s.running); v.Deadline != s.deadline || v.State != core.Running {
		t.Errorf("the job that runs is %s with the deadline %d, want %d", v.State, v.Deadline, s.deadline)
	}
	if v := g.view(s.waiting); v.State.IsTerminal() {
		t.Errorf("the job that waits is %s: %s", v.State, v.Reason)
	}
	s.finish(g)
	if v := g.view(s.running); v.Ended > v.Deadline {
		t.Errorf("it missed its deadline by %v", v.Ended.Sub(v.Deadline))
	}
}

func TestABrokerWhoseClockIsAnHourAheadStillEndsEveryJobOnce(t *testing.T) {
	g := newGrid(t)
	s := setScene(g)
	s.runs.end(0) // nobody hears it yet
	g.upAt(time.Hour)
	if now := g.broker().CurrentTime(); now < s.now.Add(59*time.Minute) {
		t.Errorf("its time is %d, it was %d", now, s.now)
	}
	// The time to leave is over, as far as anybody can tell: that attempt is
	// ended and the job is placed anew. The others do not care.
	s.runs.connect()
	g.until(s.running, core.Done)
	for range 2 {
		a := g.next()
		if a.Job == s.running || a.Job == s.waiting && a.Epoch != 1 || a.Job == s.leaving && a.Epoch != 2 {
			t.Errorf("job %d was started as epoch %d", a.Job, a.Epoch)
		}
		if a.Job == s.leaving {
			s.leaves.mu.Lock()
			dead := s.leaves.dead
			s.leaves.mu.Unlock()
			if !dead {
				t.Error("the job that was leaving was started anew before its first attempt was ended")
			}
		}
		a.run()
		a.end(0)
	}
	for _, id := range []core.JobID{s.running, s.leaving, s.waiting} {
		g.until(id, core.Done)
		if n := len(g.explained(id, "end")); n != 1 {
			t.Errorf("job %d ended %d times", id, n)
		}
	}
	if v := g.view(s.running); v.Ended <= v.Deadline {
		t.Error("a deadline that is past was met")
	}
}

func TestTheTimeThatABrokerWasDownIsNotTheJobs(t *testing.T) {
	g := newGrid(t)
	id := g.submit(jobfile.Job{Time: 30 * time.Minute, Retries: 3})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	a.cut()
	g.kill()
	g.upAt(time.Hour)
	a.connect()
	a.say(wire.Message{Kind: wire.Lost, Why: "the test says so", State: &wire.Vitals{Wall: 7, Chance: -1}})
	b := g.next()
	if b.Elapsed < 7*time.Second || b.Elapsed > time.Minute {
		t.Errorf("the job is said to have run for %v", b.Elapsed)
	}
	b.run()
	b.end(0)
	g.until(id, core.Done)
}
