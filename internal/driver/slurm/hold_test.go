package slurm_test

import (
	"errors"
	"os"
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
	if os.Getenv(inside) == "" {
		t.Parallel()
		t.Log(onAClusterAs(t, root, 2, 2, []string{"-test.run=^TestAnOperatorReserves$", "-test.v"}))
		return
	}
	drivertest.Reservations(t, newWorld(t, slurm.Options{}, nil))
	w := newWorld(t, slurm.Options{}, nil)
	d, a := w.OpenBatch(), w.Attempt(drivertest.Stays)
	a.Procs = 2
	held := driver.Reservation{ID: batchtest.ID(a), From: time.Now().Add(20 * time.Second).Truncate(time.Second), Need: driver.Need{Procs: 2, Nodes: 1, Time: 5 * time.Minute}}
	if err := d.Reserve(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	text := ask(t, "scontrol", "--oneliner", "show", "reservation")
	if !strings.Contains(text, "NodeCnt=1 ") || !strings.Contains(text, "Duration=00:05:00 ") || !strings.Contains(text, "Users=root ") {
		t.Error(text)
	}
	mustStart(t, d, a)
	shown := shown(t, d.Prefix(), a)
	if !strings.Contains(shown, " Reservation=gw_") {
		t.Error(shown)
	}
	w.Until("the program to begin", func() bool { return w.Started(a) == 1 })
	if time.Now().Before(held.From) {
		t.Error("it began before what is held for it")
	}
	if err := d.Release(t.Context(), batchtest.ID(a)); err != nil {
		t.Error(err)
	}
	if text := ask(t, "scontrol", "--oneliner", "show", "reservation"); !strings.Contains(text, "No reservations") {
		t.Error(text)
	}
}

func notReserved(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	err := w.OpenBatch().Reserve(t.Context(), driver.Reservation{ID: batchtest.ID(w.Attempt(drivertest.Ends)), Need: driver.Need{Procs: 1, Time: time.Minute}})
	if !errors.Is(err, driver.ErrRefused) || !strings.Contains(err.Error(), "Invalid user id") {
		t.Errorf("got %v", err)
	}
}

func shrinks(t *testing.T) {
	w := newWorld(t, slurm.Options{}, nil)
	d, a := w.OpenBatch(), w.Attempt(drivertest.Stays)
	a.Procs, a.Spec.Nodes = 2, 2
	mustStart(t, d, a)
	w.Until("the program to begin", func() bool { return w.Started(a) == 1 })
	if err := d.Resize(t.Context(), batchtest.ID(a), 1); err != nil {
		t.Fatal(err)
	}
	w.Until("Slurm to say so", func() bool {
		why, err := d.Why(t.Context(), batchtest.ID(a))
		return err == nil && strings.HasSuffix(why, " runs on n1")
	})
	if w.Living(a) == 0 {
		t.Error("it was ended")
	}
	if text := shown(t, d.Prefix(), a); !strings.Contains(text, " NumNodes=1 ") {
		t.Error(text)
	}
	if err := d.Resize(t.Context(), batchtest.ID(a), 2); !errors.Is(err, driver.ErrRefused) {
		t.Errorf("got %v", err)
	}
}
