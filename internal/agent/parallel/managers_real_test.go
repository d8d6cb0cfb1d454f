package parallel

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/lab/slurm/slurmtest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// TestLaunchersWorkBelowSlurmWithTheVariablesOfTheJob: a script that asks for four
// processes of two threads runs in an allocation of eight processors; srun and
// mpirun start four processes in it, and the job is the manager's.
func TestLaunchersWorkBelowSlurmWithTheVariablesOfTheJob(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs a Slurm")
	}
	c := slurmtest.Start(t, 1, 8)
	file := func(name string) string { return filepath.Join(c.Dir, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("job.sh", `#!/bin/sh
env > env.new && mv env.new env
while ! [ -e ours ]; do sleep 0.05; done
. ./ours
echo job $SLURM_JOB_ID task $SLURM_ARRAY_TASK_ID
srun sh -c 'echo srun $SLURM_PROCID of $SLURM_NTASKS'
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun sh -c 'echo mpirun $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE'
touch done
`)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	sbatch := exec.CommandContext(ctx, filepath.Join(c.Commands, "sbatch"), "--parsable", "-n", "8", "-o", "out", "job.sh")
	sbatch.Dir = c.Dir
	id, err := sbatch.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, id)
	}
	wait := func(name string) string {
		t.Helper()
		var text []byte
		clocktest.WaitFor(t, "file "+name, func() bool {
			var err error
			text, err = os.ReadFile(file(name))
			return err == nil
		}, func() string {
			out, _ := os.ReadFile(file("out"))
			return "the job wrote " + string(out)
		})
		return string(text)
	}
	a := &wire.Attempt{Job: 17, Parent: 12, Index: 7, Epoch: 1, Procs: 8, Spec: jobfile.Job{Name: "fit",
		Array: jobfile.ArrayRange{First: 1, Last: 9, Step: 1}, Manager: jobfile.Manager{Kind: jobfile.Slurm, Threads: 2}}}
	var ours strings.Builder
	for name, value := range ManagerVariables(a, c.Dir, strings.Split(wait("env"), "\n")) {
		fmt.Fprintf(&ours, "export %s='%s'\n", name, value)
	}
	write("ours.new", ours.String())
	if err := os.Rename(file("ours.new"), file("ours")); err != nil {
		t.Fatal(err)
	}
	wait("done")
	out := wait("out")
	if want := fmt.Sprintf("job %s task 7\n", strings.TrimSpace(string(id))); !strings.Contains(out, want) {
		t.Errorf("no line %q in\n%s", want, out)
	}
	for _, launcher := range []string{"srun", "mpirun"} {
		for rank := range 4 {
			if line := fmt.Sprintf("%s %d of 4\n", launcher, rank); strings.Count(out, line) != 1 {
				t.Errorf("no line %q in\n%s", line, out)
			}
		}
	}
}
