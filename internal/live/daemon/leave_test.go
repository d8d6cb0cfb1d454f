package daemon_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/driver/remote/sshdtest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
)

func TestOfProgramsThatAreStartedAgainOnlyTheLastLeavesResults(t *testing.T) {
	leeds := sshdtest.Start(t)
	b := up(t, twoSites(t, map[string]*sshdtest.Server{"leeds": leeds, "york": sshdtest.Start(t)})).reached()
	spec := job("sh", "-c", "date >x; exit 3")
	spec.On, spec.Workdir = []string{"leeds"}, b.TempDir()
	spec.Retries, spec.RetryOn = 2, []string{jobfile.RetryFailed}
	spec.Leave = []jobfile.FarOutput{{From: "x", To: "leeds:runs/"}}
	if j := b.end(b.submit(spec)); j.Attempts != 3 {
		t.Errorf("it is %s after %d attempts: %s", j.State, j.Attempts, j.Why)
	}
	b.appears(filepath.Join(leeds.Home, "runs", "x"))
	if _, err := os.Stat(filepath.Join(spec.Workdir, "x")); err == nil {
		t.Error("what was to be left came home")
	}
	b.untilNone(filepath.Join(leeds.Dir, "there", "*", "outgoing", "*"))
}
