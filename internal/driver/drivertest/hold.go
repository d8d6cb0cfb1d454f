package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// TestReservations is the part of the suite about processors that are held for an
// attempt, for drivers whose usual world is refused that.
func TestReservations(t *testing.T, w World) {
	r, ok := w.OpenDriver().(driver.Reserver)
	if !ok {
		return
	}
	a := w.AttemptFor(Stays)
	id := driver.AttemptID(a)
	err := r.ReserveProcs(t.Context(), driver.Reservation{ID: id, Need: driver.Need{Procs: 1, Time: time.Minute}})
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, driver.ErrRefused) {
		if err := r.CancelReservation(t.Context(), id); err != nil {
			t.Errorf("what is not held cannot be given back: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	d := w.OpenDriver() // after a restart
	r = d.(driver.Reserver)
	if err := r.ReserveProcs(t.Context(),
		driver.Reservation{ID: id, Need: driver.Need{Procs: 1, Time: time.Minute}}); err != nil {
		t.Errorf("asked again: %v", err)
	}
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	mustRelease(t, d, a)
	if err := r.CancelReservation(t.Context(), id); err != nil {
		t.Errorf("what a release gave back cannot be given back again: %v", err)
	}
	if err := r.ReserveProcs(t.Context(), driver.Reservation{ID: id, Need: driver.Need{Procs: 1}}); err == nil {
		t.Error("processors are held for an attempt that is over")
	}
}

// testResizing: of drivers that can take hosts away.
func testResizing(t *testing.T, w World) {
	d := w.OpenDriver()
	r, ok := d.(driver.Resizer)
	if !ok {
		return
	}
	refused := func(what string, id driver.ID, hosts int) bool {
		err := r.ResizeAttempt(t.Context(), id, hosts)
		if errors.Is(err, errors.ErrUnsupported) {
			return false
		}
		if !errors.Is(err, driver.ErrRefused) {
			t.Errorf("%s: got %v", what, err)
		}
		return true
	}
	if !refused("an attempt that nobody knows", driver.ID{Job: 999, Epoch: 1}, 1) {
		return
	}
	a := w.AttemptFor(Stays)
	id := driver.AttemptID(a)
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	if err := r.ResizeAttempt(t.Context(), id, 1); err != nil {
		t.Errorf("to the host that it has: %v", err)
	}
	refused("to more than it has", id, 2)
	refused("to none", id, 0)
	if w.LivingProcesses(a) == 0 || countKind(w.HeardMessages(a), wire.Lost) > 0 {
		t.Error("it was ended")
	}
	mustRelease(t, d, a)
}

// testExtending: of drivers whose manager can be asked for more.
func testExtending(t *testing.T, w World) {
	d := w.OpenDriver()
	x, ok := d.(driver.Extender)
	if !ok || !x.CanExtend() {
		return
	}
	if has, err := x.ExtendAttempt(t.Context(), driver.ID{Job: 999, Epoch: 1}, 2); err == nil {
		t.Errorf("an attempt that nobody knows has %d processors", has)
	}
	a := w.AttemptFor(Stays)
	id := driver.AttemptID(a)
	mustStart(t, d, a)
	clocktest.WaitFor(t, "the program to begin", func() bool { return w.StartCount(a) > 0 })
	extend := func(procs int) {
		t.Helper()
		clocktest.WaitFor(t, "the manager to give them", func() bool {
			has, err := x.ExtendAttempt(t.Context(), id, procs)
			if err != nil || has > procs {
				t.Fatalf("it has %d of %d, %v", has, procs, err)
			}
			return has == procs
		})
	}
	extend(3)
	d = w.OpenDriver() // after a restart
	x = d.(driver.Extender)
	if has, err := x.ExtendAttempt(t.Context(), id, 3); has != 3 || err != nil {
		t.Errorf("after a restart it has %d of 3, %v", has, err)
	}
	extend(2)
	extend(1)
	extend(2)
	if w.LivingProcesses(a) == 0 || countKind(w.HeardMessages(a), wire.Lost) > 0 {
		t.Error("it was ended")
	}
	mustRelease(t, d, a)
	if has, err := x.ExtendAttempt(t.Context(), id, 2); err == nil {
		t.Errorf("an attempt that was released has %d processors", has)
	}
}
