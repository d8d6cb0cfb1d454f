package slurm_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/slurm/slurmtest"
)

// until waits for something that takes its time.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// run runs a command as the ordinary user.
func run(t *testing.T, c *slurmtest.Cluster, argv ...string) string {
	t.Helper()
	out, err := c.Command(argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestAnOrdinaryUsersJobOutlivesTheController(t *testing.T) {
	c := slurmtest.Start(t, 2, 2)
	home := c.User.Home
	id := run(t, c, "sbatch", "--parsable", "-N2", "-o", "out", "--wrap",
		"id -un; srun -l hostname; touch begun; until [ -e go ]; do sleep 0.1; done; echo done")
	exists := func(name string) func() bool {
		return func() bool { _, err := os.Stat(filepath.Join(home, name)); return err == nil }
	}
	until(t, "the job", exists("begun"))
	c.RestartController()
	if err := os.WriteFile(filepath.Join(home, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool {
		return strings.Contains(run(t, c, "scontrol", "-o", "show", "job", id), "JobState=COMPLETED")
	})
	out, err := os.ReadFile(filepath.Join(home, "out"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"alice", "0: n1", "1: n2", "done"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the job wrote %q, without %q", out, want)
		}
	}
}
