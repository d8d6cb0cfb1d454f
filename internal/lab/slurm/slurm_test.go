package slurm_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
	"github.com/godwit-hpc/godwit/internal/lab/slurm/slurmtest"
)

// run runs a command as the ordinary user.
func run(t *testing.T, c *slurmtest.Cluster, argv ...string) string {
	t.Helper()
	return placetest.MustOutput(t, c.UserCommand(argv...))
}

// says asks Slurm something, which may be too busy to answer.
func says(c *slurmtest.Cluster, argv ...string) string {
	out, _ := c.UserCommand(argv...).Output()
	return string(out)
}

func TestAnOrdinaryUsersJobOutlivesTheController(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 2, 2)
	h := placetest.UserHome{T: t, Dir: c.User.Home}
	id := run(t, c, "sbatch", "--parsable", "-N2", "-o", "out", "--wrap",
		"id -un; srun -l hostname; touch begun; until [ -e go ]; do sleep 0.1; done; echo done")
	clocktest.WaitFor(t, "the job", h.HasFile("begun"))
	c.RestartController()
	c.KillController()
	c.StartController()
	h.WriteFile("go", "")
	clocktest.WaitFor(t, "its end", func() bool {
		return strings.Contains(says(c, "scontrol", "-o", "show", "job", id), "JobState=COMPLETED")
	})
	out := h.ReadFile("out")
	for _, want := range []string{"alice", "0: n1", "1: n2", "done"} {
		if !strings.Contains(out, want) {
			t.Errorf("the job wrote %q, without %q", out, want)
		}
	}
}

func TestANodeWithoutItsDaemonIsDownUntilItIsBack(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 2, 1)
	h := placetest.UserHome{T: t, Dir: c.User.Home}
	run(t, c, "sbatch", "--parsable", "-w", "n1", "--no-requeue", "-o", "out", "--wrap",
		"touch begun; until [ -e go ]; do sleep 0.1; done; touch ended; while :; do sleep 0.1; done")
	clocktest.WaitFor(t, "the job", h.HasFile("begun"))
	c.KillNodeDaemon("n1")
	if down := c.ListDown(); !slices.Equal(down, []string{"slurmd on n1"}) {
		t.Errorf("what is down is %q", down)
	}
	clocktest.WaitFor(t, "the node to be called down", func() bool {
		return strings.HasPrefix(says(c, "sinfo", "-h", "-n", "n1", "-o", "%t"), "down")
	})
	h.WriteFile("go", "")
	clocktest.WaitFor(t, "the job that goes on there", h.HasFile("ended"))
	c.StartNodeDaemon("n1")
	c.AwaitReady()
}

func TestNothingIsLeftOfAStoppedCluster(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 1, 1)
	h := placetest.UserHome{T: t, Dir: c.User.Home}
	run(t, c, "sbatch", "-o", "out", "--wrap", "touch begun; sleep 1000")
	run(t, c, "sbatch", "-o", "out", "--wrap", "sleep 1000")
	clocktest.WaitFor(t, "the job", h.HasFile("begun"))
	c.Stop()
	if down := c.ListDown(); !slices.Equal(down, []string{"slurmctld on head", "slurmd on n1"}) {
		t.Errorf("stopped, but what is down is %q", down)
	}
	left, err := c.Hosts.Head.Command(t.Context(), "ps", "-e", "-o", "comm=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(left)) {
		if !slices.Contains([]string{"sh", "cat", "sleep", "munged", "ps"}, name) {
			t.Errorf("%s is left of the cluster", name)
		}
	}
	if n := strings.Count(string(left), "sleep"); n != 1 { // that of the host itself
		t.Errorf("%d jobs are left", n-1)
	}
}

func TestTheCommandsFromOutsideReachTheCluster(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 1, 1)
	out, err := exec.Command(filepath.Join(c.Commands, "srun"), "id", "-un").Output()
	if err != nil || strings.TrimSpace(string(out)) != "root" {
		t.Errorf("a job of root's: %v: %s", err, out)
	}
	out, err = exec.Command(filepath.Join(c.UserCommands, "srun"), "id", "-un").Output()
	if err != nil || strings.TrimSpace(string(out)) != "alice" {
		t.Errorf("a job of the user's: %v: %s", err, out)
	}
}
