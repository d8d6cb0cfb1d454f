package batch_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// holders is how many jobs hold processors for attempts.
func (p *pretender) holders() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, j := range p.jobs {
		if !j.gone && strings.Contains(j.Name, "-x") {
			n++
		}
	}
	return n
}

// extend has an attempt run and have so many processors.
func extend(t *testing.T, w *batchtest.World, d *batch.Driver, a *wire.Attempt, procs int) {
	t.Helper()
	mustStart(t, d, a)
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) > 0 })
	w.WaitUntil("the processors to be there", func() bool {
		has, err := d.ExtendAttempt(t.Context(), batchtest.AttemptID(a), procs)
		return err == nil && has == procs
	})
}

func TestProcessorsThatSomebodyTookAwayAreAskedForAgain(t *testing.T) {
	w, p := newWorld(t, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	extend(t, w, d, a, 3)
	p.mu.Lock()
	first := p.jobs[1].id
	p.mu.Unlock()
	if err := p.CancelJobs(t.Context(), []string{first}); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("another in its place", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.jobs) == 4 && p.jobs[1].gone
	})
	if n := p.holders(); n != 2 {
		t.Errorf("%d processors are held, want 2", n)
	}
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
	if n := p.holders(); n != 0 {
		t.Errorf("%d processors are held for nobody", n)
	}
}

// While no broker is there nobody cancels anything.
func TestProcessorsAreHeldNoLongerThanTheAgentLives(t *testing.T) {
	w, p := newWorld(t, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	extend(t, w, d, a, 3)
	w.Close()
	w.KillAgent(a)
	w.WaitUntil("what was held to be given back", func() bool { return p.holders() == 0 })
	if err := w.OpenBatch().ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
}

func TestProcessorsAreAskedForOnceThoughTheAnswerIsLost(t *testing.T) {
	w, p := newWorld(t, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	p.after = func(n int) error {
		if n == 2 {
			return errors.New("the connection was cut")
		}
		return nil
	}
	extend(t, w, d, a, 2)
	if n := p.holders(); n != 1 {
		t.Errorf("%d processors are held, want 1", n)
	}
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
}

// Of those that were asked for the ones that wait are given up first.
func TestProcessorsThatWaitAreGivenUpFirst(t *testing.T) {
	w, p := newWorld(t, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	extend(t, w, d, a, 2)
	p.mu.Lock()
	p.hold = true
	p.mu.Unlock()
	id := batchtest.AttemptID(a)
	has, err := d.ExtendAttempt(t.Context(), id, 4)
	if err != nil || has != 2 || p.holders() != 3 {
		t.Errorf("it has %d, of %d that were asked for, %v", has, p.holders(), err)
	}
	if has, err = d.ExtendAttempt(t.Context(), id, 3); err != nil || has != 2 {
		t.Errorf("it has %d, %v", has, err)
	}
	w.WaitUntil("one to be given up", func() bool { return p.holders() == 2 })
	if has, err = d.ExtendAttempt(t.Context(), id, 2); err != nil || has != 2 {
		t.Errorf("it has %d, %v", has, err)
	}
	w.WaitUntil("the other to be given up", func() bool { return p.holders() == 1 })
	if err := d.ReleaseAttempt(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func TestAnAttemptThatWaitsIsNotExtended(t *testing.T) {
	w, p := newWorld(t, nil)
	p.hold = true
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Ends)
	mustStart(t, d, a)
	if has, err := d.ExtendAttempt(t.Context(), batchtest.AttemptID(a), 2); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("it has %d, %v", has, err)
	}
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
}
