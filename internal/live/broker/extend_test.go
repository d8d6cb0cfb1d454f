package broker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// lender is a cluster whose manager gives processors to attempts that run.
type lender struct {
	*puppet
	mu     sync.Mutex
	gone   bool // nobody answers there
	stingy bool // it has none left
	wanted int  // of it, in all
}

func (l *lender) CanExtend() bool { return true }

func (l *lender) ExtendAttempt(_ context.Context, _ driver.ID, procs int) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return 0, driver.ErrAway
	}
	l.wanted = procs
	if l.stingy {
		return 1, nil
	}
	return procs, nil
}

func (l *lender) set(gone, stingy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone, l.stingy = gone, stingy
}

func (l *lender) isAskedFor(procs int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted == procs
}

// newLendingGrid is a grid with such a cluster, in which a malleable job runs that is offered another processor.
func newLendingGrid(t *testing.T, growGrace time.Duration, stingy bool) (*grid, *lender, *attempt) {
	t.Helper()
	g := newGrid(t)
	g.kill()
	l := &lender{puppet: g.a, stingy: stingy}
	g.a.own, g.driverOfA, g.growGrace = true, l, growGrace
	g.a.setUsage(2, 0)
	g.up()
	id := g.submit(jobfile.Job{Kind: core.Malleable, Min: 1, Max: 2, On: []string{"a"}})
	a := g.next()
	a.run()
	g.until(id, core.Running)
	o := a.order(t, wire.Offer)
	a.say(wire.Message{Kind: wire.Accepted, Size: o.Size, Offer: o.Offer})
	return g, l, a
}

// What a manager holds for an attempt that has given it back nobody else can use.
func TestAManagerThatWasAwayWhileAJobShrankIsToldAgain(t *testing.T) {
	g, l, a := newLendingGrid(t, 0, false)
	for a.order(t, wire.Resize).Size != 2 {
	}
	l.set(true, false)
	answered := make(chan error, 1)
	go func() {
		_, err := g.broker().ResizeJob(t.Context(), "1", api.Resize{Cores: 1})
		answered <- err
	}()
	o := a.order(t, wire.Offer)
	a.say(wire.Message{Kind: wire.Accepted, Size: 1, Offer: o.Offer})
	if err := <-answered; err != nil {
		t.Fatal(err)
	}
	if !l.isAskedFor(2) {
		t.Fatal("the manager was not away")
	}
	l.set(false, false)
	waitUntil(t, func() bool { return l.isAskedFor(1) }, func() string { return "the manager still holds two processors" })
	a.end(0)
}

// A job that holds a processor waits in the manager's queue until somebody takes it out.
func TestAManagerThatHadNothingInTimeIsAskedNoLonger(t *testing.T) {
	_, l, a := newLendingGrid(t, 50*time.Millisecond, true)
	waitUntil(t, func() bool { return l.isAskedFor(2) }, func() string { return "the manager is not asked" })
	waitUntil(t, func() bool { return l.isAskedFor(1) }, func() string { return "the manager is still asked for two" })
	a.end(0)
}
