package slurm_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/slurm"
)

// Slurm wants an operator for this, which root is.
func TestAnOperatorReserves(t *testing.T) {
	if !batchtest.IsInside() {
		t.Parallel()
		t.Log(onAClusterAs(t, root, 2, 2, []string{"-test.run=^TestAnOperatorReserves$", "-test.v"}))
		return
	}
	drivertest.TestReservations(t, newWorld(t, slurm.Options{}, nil))
	w := newWorld(t, slurm.Options{}, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	a.Procs = 2
	held := driver.Reservation{ID: batchtest.AttemptID(a), From: time.Now().Add(20 * time.Second).Truncate(time.Second),
		Need: driver.Need{Procs: 2, Nodes: 1, Time: 5 * time.Minute}}
	if err := d.ReserveProcs(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	text := ask(t, "scontrol", "--oneliner", "show", "reservation")
	if !strings.Contains(text, "NodeCnt=1 ") || !strings.Contains(text, "Duration=00:05:00 ") ||
		!strings.Contains(text, "Users=root ") {
		t.Error(text)
	}
	mustStart(t, d, a)
	shown := shown(t, d.JobPrefix(), a)
	if !strings.Contains(shown, " Reservation=gw_") {
		t.Error(shown)
	}
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	if time.Now().Before(held.From) {
		t.Error("it began before what is held for it")
	}
	if err := d.ReleaseAttempt(t.Context(), batchtest.AttemptID(a)); err != nil {
		t.Error(err)
	}
	if text := ask(t, "scontrol", "--oneliner", "show", "reservation"); !strings.Contains(text, "No reservations") {
		t.Error(text)
	}
}

func notReserved(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	err := w.OpenBatch().ReserveProcs(t.Context(),
		driver.Reservation{ID: batchtest.AttemptID(w.AttemptFor(drivertest.Ends)),
			Need: driver.Need{Procs: 1, Time: time.Minute}})
	if !errors.Is(err, driver.ErrRefused) || !strings.Contains(err.Error(), "Invalid user id") {
		t.Errorf("got %v", err)
	}
}

func shrinks(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	d, a := w.OpenBatch(), w.AttemptFor(drivertest.Stays)
	a.Procs, a.Spec.Nodes = 2, 2
	mustStart(t, d, a)
	w.WaitUntil("the program to begin", func() bool { return w.StartCount(a) == 1 })
	if err := d.ResizeAttempt(t.Context(), batchtest.AttemptID(a), 1); err != nil {
		t.Fatal(err)
	}
	w.WaitUntil("Slurm to say so", func() bool {
		why, err := d.ExplainWait(t.Context(), batchtest.AttemptID(a))
		return err == nil && strings.HasSuffix(why, " runs on n1")
	})
	if w.LivingProcesses(a) == 0 {
		t.Error("it was ended")
	}
	if text := shown(t, d.JobPrefix(), a); !strings.Contains(text, " NumNodes=1 ") {
		t.Error(text)
	}
	if err := d.ResizeAttempt(t.Context(), batchtest.AttemptID(a), 2); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("got %v", err)
	}
}
