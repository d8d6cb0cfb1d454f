package daemon_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A program with SRS is given other numbers of processes, is moved, and loses its agent; it ends once,
// with what it computes without all that.
func TestAProgramWithSRSGoesOnWithOtherNumbersOfProcessesAndElsewhere(t *testing.T) {
	program, err := filepath.Abs("../../../examples/apps/build/srs/heat")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: make examples", err)
	}
	end := filepath.Join(t.TempDir(), "end")
	spec := job("/bin/sh", "-c", `echo "$GODWIT_PROCS processes"; exec mpirun --oversubscribe -n $GODWIT_PROCS "$@"`, "sh",
		program, "200", "700", end)
	spec.Kind, spec.Min, spec.Max = core.Moldable, 1, 4
	spec.Checkpoint.Method = "srs"
	for _, name := range []string{"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"} {
		spec.Env[name] = "1"
	}
	b := up(t, twoSizes)
	id := b.submit(spec)
	// what it prints before a checkpoint stays; after the one that it was killed after it says so again
	hasBegun := func(times, procs int) {
		b.Helper()
		want := fmt.Sprintf("%d processes\n", procs)
		clocktest.WaitFor(b, want, func() bool {
			out := b.output(id, 1)
			return strings.Count(out, "\n") == times && strings.HasSuffix("\n"+out, "\n"+want)
		}, func() string { return b.output(id, 1) + b.output(id, 2) })
	}
	b.until(id, running)
	for i, procs := range []int{3, 2} {
		b.resize(id, procs)
		hasBegun(i+2, procs)
	}
	if _, err := b.client.MigrateJob(context.Background(), id, ""); err != nil {
		t.Fatal(err)
	}
	hasBegun(4, 2)
	if _, err := b.client.CheckpointJob(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	b.killAgent(id)
	hasBegun(5, 2)
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	j := b.end(id)
	if j.State != core.Done || j.Migrations < 1 {
		t.Fatalf("it ended %s after %d moves: %s\n%s", j.State, j.Migrations, j.Why, b.output(id, 2))
	}
	alone, err := exec.CommandContext(t.Context(), program, "200", "700").Output()
	if got := b.output(id, 1); err != nil || !strings.HasSuffix(got, "\n2 processes\n"+string(alone)) {
		t.Errorf("it printed %q, and with one process %q, %v", got, alone, err)
	}
}

// twoSizes is two clusters where sizes change only because somebody says so.
const twoSizes = `
clusters:
  - {name: a, cpus: [0, 1], slots: 4}
  - {name: b, cpus: [0, 1], slots: 4}
intervals: {sample: 200ms}
`
