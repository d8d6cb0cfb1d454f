package batch_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
)

func TestAnAttemptUsesWhatIsHeldForItAndGivesItBack(t *testing.T) {
	w, p := newWorld(t, nil)
	d, a, other := w.OpenBatch(), w.AttemptFor(drivertest.Stays), w.AttemptFor(drivertest.Stays)
	if err := d.ReserveProcs(t.Context(),
		driver.Reservation{ID: batchtest.AttemptID(a), Need: driver.Need{Procs: 1}}); err != nil {
		t.Fatal(err)
	}
	d = w.OpenBatch() // the broker was restarted
	mustStart(t, d, a)
	mustStart(t, d, other)
	p.mu.Lock()
	name := p.jobs[0].Reservation
	if p.held[name] != 1 || p.jobs[1].Reservation != "" || strings.ContainsAny(name, "-. ") {
		t.Errorf("held %v; used %q and %q", p.held, name, p.jobs[1].Reservation)
	}
	p.mu.Unlock()
	if err := errors.Join(d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)),
		d.ReleaseAttempt(t.Context(), batchtest.AttemptID(other))); err != nil {
		t.Error(err)
	}
	if len(p.held) > 0 {
		t.Errorf("still held: %v", p.held)
	}
}

func TestAnAttemptForWhichNothingIsHeldIsStartedAllTheSame(t *testing.T) {
	w, p := newWorld(t, nil)
	p.refuse = fmt.Errorf("%w: operators only", driver.ErrRefused)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	if err := d.ReserveProcs(t.Context(), driver.Reservation{ID: batchtest.AttemptID(a)}); !errors.Is(err,
		driver.ErrRefused) || !strings.Contains(err.Error(), "operators only") {
		t.Errorf("got %v", err)
	}
	mustStart(t, d, a)
	if p.jobs[0].Reservation != "" {
		t.Errorf("it is to use %q", p.jobs[0].Reservation)
	}
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
}
