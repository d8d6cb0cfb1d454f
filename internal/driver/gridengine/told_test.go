package gridengine_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/batch/batchtest"
	"github.com/godwit-hpc/godwit/internal/driver/drivertest"
	"github.com/godwit-hpc/godwit/internal/driver/gridengine"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// scripted is an attempt of a script for Grid Engine.
func scripted(w *batchtest.World, queue string) *wire.Attempt {
	a := w.AttemptFor(drivertest.Ends)
	evil := filepath.Join(w.Dir, "evil")
	a.Procs = 2
	a.Spec.Manager = jobfile.Manager{Kind: jobfile.GridEngine, Options: map[string][]string{
		"q": {queue}, "pe": {"mpi"}, "A": {"proj-7"}, "p": {"-5", "100"}, "l": {"arch=lx*", "h_vmem=1M", "gpu=1,h_rt=1"},
		"js": {"3"}, "binding": {"set linear:1"},
		"P": {"$(touch " + evil + ")"}, "jsv": {evil}, "masterq": {"a b"}, "ac": {"x -b y"}}}
	return a
}

// shownAs is what Grid Engine says of the job of an attempt.
func shownAs(t *testing.T, w *batchtest.World, a *wire.Attempt) string {
	t.Helper()
	cmd := "qstat"
	if path, err := exec.LookPath("/usr/lib/gridengine/qstat"); err == nil {
		cmd = path
	}
	out, err := exec.Command(cmd, "-j", jobOf(t, w, a)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ") + " "
}

func told(t *testing.T) {
	w := newWorld(t, gridengine.Options{Options: []string{"-h"}}, nil)
	d, a := w.OpenBatch(), scripted(w, "all.q@n2")
	start(t, d, a)
	text := shownAs(t, w, a)
	for _, want := range []string{" hard_queue_list: all.q@n2 ", " parallel environment: mpi range: 2 ",
		" account: proj-7 ", " priority: -5 ", " hard resource_list: arch=lx* ", " jobshare: 3 ", " binding: set linear:1"} {
		if !strings.Contains(text, want) {
			t.Errorf("not%sin %s", want, text)
		}
	}
	if strings.Contains(text, "touch") || strings.Contains(text, "vmem") || strings.Contains(text, "context") {
		t.Error(text)
	}
	if found, _ := filepath.Glob(filepath.Join(w.Dir, "evil*")); len(found) > 0 {
		t.Error("a value was run as a command")
	}
	// The settings prevail; a script for another manager has no say.
	w = newWorld(t, gridengine.Options{Queue: "all.q", PE: "mpi", Options: []string{"-h"}}, nil)
	d = w.OpenBatch()
	prevails, foreign := scripted(w, "other.q"), scripted(w, "other.q")
	foreign.Spec.Manager.Kind = jobfile.Slurm
	start(t, d, prevails, foreign)
	if text := shownAs(t, w, prevails); !strings.Contains(text, " hard_queue_list: all.q ") ||
		strings.Contains(text, "other.q") {
		t.Error(text)
	}
	if text := shownAs(t, w, foreign); strings.Contains(text, "proj-7") || strings.Contains(text, "arch=") {
		t.Error(text)
	}
	// What the cell does not have it refuses.
	w = newWorld(t, gridengine.Options{PE: "mpi"}, nil)
	if err := w.OpenBatch().StartAttempt(t.Context(), scripted(w, "nosuch.q")); !errors.Is(err, driver.ErrRefused) ||
		!strings.Contains(err.Error(), "nosuch.q") {
		t.Errorf("got %v", err)
	}
}
