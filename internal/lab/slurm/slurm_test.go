package slurm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/slurm/slurmtest"
)

// until waits for something that takes its time.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 3600 {
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
	out, err := c.UserCommand(argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// says asks Slurm something, which may be too busy to answer.
func says(c *slurmtest.Cluster, argv ...string) string {
	out, _ := c.UserCommand(argv...).Output()
	return string(out)
}

// home gives tests the files in the user's home.
type home struct {
	t   *testing.T
	dir string
}

func (h home) exists(name string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(h.dir, name)); return err == nil }
}

func (h home) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

func TestAnOrdinaryUsersJobOutlivesTheController(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 2, 2)
	h := home{t, c.User.Home}
	id := run(t, c, "sbatch", "--parsable", "-N2", "-o", "out", "--wrap",
		"id -un; srun -l hostname; touch begun; until [ -e go ]; do sleep 0.1; done; echo done")
	until(t, "the job", h.exists("begun"))
	c.RestartController()
	c.KillController()
	c.StartController()
	h.write("go", "")
	until(t, "its end", func() bool {
		return strings.Contains(says(c, "scontrol", "-o", "show", "job", id), "JobState=COMPLETED")
	})
	out := h.read("out")
	for _, want := range []string{"alice", "0: n1", "1: n2", "done"} {
		if !strings.Contains(out, want) {
			t.Errorf("the job wrote %q, without %q", out, want)
		}
	}
}

func TestANodeWithoutItsDaemonIsDownUntilItIsBack(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 2, 1)
	h := home{t, c.User.Home}
	run(t, c, "sbatch", "--parsable", "-w", "n1", "--no-requeue", "-o", "out", "--wrap",
		"touch begun; until [ -e go ]; do sleep 0.1; done; touch ended; while :; do sleep 0.1; done")
	until(t, "the job", h.exists("begun"))
	c.KillNodeDaemon("n1")
	if down := c.ListDown(); !slices.Equal(down, []string{"slurmd on n1"}) {
		t.Errorf("what is down is %q", down)
	}
	until(t, "the node to be called down", func() bool {
		return strings.HasPrefix(says(c, "sinfo", "-h", "-n", "n1", "-o", "%t"), "down")
	})
	h.write("go", "")
	until(t, "the job that goes on there", h.exists("ended"))
	c.StartNodeDaemon("n1")
	c.AwaitReady()
}

func TestNothingIsLeftOfAStoppedCluster(t *testing.T) {
	t.Parallel()
	c := slurmtest.Start(t, 1, 1)
	h := home{t, c.User.Home}
	run(t, c, "sbatch", "-o", "out", "--wrap", "touch begun; sleep 1000")
	run(t, c, "sbatch", "-o", "out", "--wrap", "sleep 1000")
	until(t, "the job", h.exists("begun"))
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
