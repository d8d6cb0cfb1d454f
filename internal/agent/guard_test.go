package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/proctable"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// guard starts a guard on the attempt's folder, in a process of its own.
func (h *harness) guard() *exec.Cmd {
	h.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asGuard+"="+h.dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return cmd
}

func TestAGuardReplacesAnAgentThatDiesAndEndsWhatItLeft(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c",
		`(trap "" HUP TERM; env -u GODWIT_ATTEMPT setsid sleep 1000 </dev/null >/dev/null 2>&1 &)
		echo up; sleep 1000`)
	if err := proctree.BecomeSubreaper(); err != nil { // what the guard lets go comes to us
		t.Fatal(err)
	}
	h.start()
	h.write()
	before := livingChildren(t)
	guard := h.guard()
	h.until("the program to run", func() bool { return strings.Contains(string(h.out[1]), "up") })
	agents, err := proctable.ChildrenOf(guard.Process.Pid)
	if err != nil || len(agents) != 1 {
		t.Fatalf("children of the guard: %v, %v", agents, err)
	}
	// While the shell becomes its last command it shows no environment, and so no mark.
	clocktest.WaitFor(t, "the program's processes", func() bool {
		below, err := proctree.MarkedProcesses(h.attempt.Mark)
		if err != nil {
			t.Fatal(err)
		}
		return len(below) > 0
	})
	agent, err := os.FindProcess(agents[0])
	if err != nil {
		t.Fatal(err)
	}
	_ = agent.Kill()
	if err := guard.Wait(); err != nil {
		t.Errorf("the guard: %v", err)
	}
	if m := h.ended(); m.Kind != wire.Lost {
		t.Errorf("told %+v, want that it is lost", m)
	}
	for pid, name := range livingChildren(t) {
		if _, was := before[pid]; !was {
			t.Errorf("process %d (%s) came to us", pid, name)
		}
	}
}

// livingChildren are the names of our children by their pids, without the dead: those that
// lead a session, as tests before this one may have left, are reaped some seconds later.
func livingChildren(t *testing.T) map[int]string {
	t.Helper()
	pids, err := proctable.ChildrenOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	living := map[int]string{}
	for _, pid := range pids {
		if p, err := proctable.ReadProcess(pid); err == nil && !p.IsDead() {
			living[pid] = p.Name
		}
	}
	return living
}

func TestAGuardPassesOnThatItIsToLeave(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.start()
	h.write()
	guard := h.guard()
	h.until("the program to run", func() bool { return strings.Contains(string(h.out[1]), "up") })
	if err := guard.Process.Signal(os.Interrupt); err != nil { // which is not for it
		t.Fatal(err)
	}
	_ = guard.Process.Signal(unix.SIGTERM)
	if err := guard.Wait(); err != nil {
		t.Errorf("the guard: %v", err)
	}
	if m := h.ended(); m.Kind != wire.Left {
		t.Errorf("told %+v, want that it left", m)
	}
}

func TestWhatTheClusterLostIsToldAndNeverStarted(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up >&2")
	if err := os.WriteFile(filepath.Join(h.dir, "lost"), []byte("Slurm: CANCELLED by 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start()
	h.begin()
	h.wait()
	if m := h.ended(); m.Kind != wire.Lost || m.Why != "Slurm: CANCELLED by 0" || h.output(2) != "" {
		t.Errorf("told %+v", m)
	}
}

func TestAProgramThatCannotBeSavedRunsAsLongAsTheClusterAllows(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", "echo up; sleep 1000")
	h.attempt.Limit = 5*time.Second + time.Second
	h.start()
	h.begin()
	h.wait()
	if m := h.ended(); m.Kind != wire.Ended || m.Code != 124 || !strings.Contains(m.Why, "time limit of cluster here") {
		t.Errorf("told %+v", m)
	}
}

func TestSlurmSaysHowMuchTimeIsLeft(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, c := range []struct {
		text string
		left time.Duration
		ok   bool
	}{{"", 0, false}, {"soon", 0, false}, {"0", 0, false}, {"1060", time.Minute, true}} {
		left, ok := slurmTimeLeft(func(string) string { return c.text }, now)
		if left != c.left || ok != c.ok {
			t.Errorf("%q: %v, %v", c.text, left, ok)
		}
	}
}
