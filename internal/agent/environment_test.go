package agent

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
)

func TestTheHomeOfAnotherAccountIsReplacedByOurs(t *testing.T) {
	me := uint32(os.Geteuid())
	who := func() (*account.User, error) {
		return &account.User{ID: me, Name: "alice", Home: "/home/alice", Shell: "/bin/zsh"}, nil
	}
	env := []string{"HOME=/root", "PATH=/bin", "USER=root", "X=1"}
	for name, c := range map[string]struct {
		who   func() (*account.User, error)
		owner func(string) (uint32, bool)
		want  []string
	}{
		"somebody else's": {who, func(string) (uint32, bool) { return me + 1, true },
			[]string{"PATH=/bin", "X=1", "HOME=/home/alice", "LOGNAME=alice", "SHELL=/bin/zsh", "USER=alice"}},
		"not there": {who, func(string) (uint32, bool) { return 0, false },
			[]string{"PATH=/bin", "X=1", "HOME=/home/alice", "LOGNAME=alice", "SHELL=/bin/zsh", "USER=alice"}},
		"ours": {who, func(string) (uint32, bool) { return me, true }, env},
		"no account": {func() (*account.User, error) { return nil, errors.New("no account") },
			func(string) (uint32, bool) { return 0, false }, env},
	} {
		if got := accountEnvironment(env, c.who, c.owner); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWhatSetupExportsReachesTheProgram(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", `echo "$GREETING" "$KEPT" "$OTHER" "${GODWIT_SETUP-none}"; pwd`)
	h.attempt.Spec.Env = map[string]string{"KEPT": "kept", "GREETING": "old"}
	h.attempt.Spec.Setup = "export GREETING='hello\nthere'; OTHER=inner; cd /; [ -n \"$KEPT\" ]"
	h.run()
	want := "hello\nthere kept  none\n" + folder{h.dir}.workDir() + "\n"
	if m := h.ended(); m.Code != 0 || h.output(1) != want {
		t.Errorf("told %+v, output %q, want %q", m, h.output(1), want)
	}
}

func TestASetupThatLeavesEarlyStillExports(t *testing.T) {
	h := newHarness(t, "/bin/sh", "-c", `echo $A$B`)
	h.attempt.Spec.Setup = "export A=1; exit 0; export B=2"
	h.run()
	if m := h.ended(); m.Code != 0 || h.output(1) != "1\n" {
		t.Errorf("told %+v, output %q", m, h.output(1))
	}
}

func TestWhatSetupExportsIsThereWhenTheProgramIsContinued(t *testing.T) {
	h := newReal(t, checkpointing.MethodSignal,
		`trap 'echo $A >state; exit 0' USR1; echo up; while :; do sleep 0.05 & wait $!; done`)
	h.attempt.Spec.Setup = "export A=first"
	h.attempt.Spec.Checkpoint.Signal, h.attempt.Spec.Checkpoint.Files = "USR1", []string{"state"}
	h.attempt.Spec.Checkpoint.Restart = []string{"/bin/sh", "-c", "echo $(cat state) $A"}
	h.start()
	h.begin()
	h.until("its output", func() bool { return string(h.out[1]) == "up\n" })
	h.await(wire.Running)
	h.order(wire.Order{Kind: wire.Stop, By: h.attempt.Now.Add(time.Minute)})
	h.wait()
	left := h.ended()
	if left.Saved == nil || !slices.Equal(left.Saved.Exported, []string{"A=first"}) {
		t.Fatalf("left %+v, output %q %q", left, h.output(1), h.output(2))
	}
	h.next(*left.Saved)
	h.attempt.Spec.Setup = "export A=second"
	h.begin()
	h.wait()
	if got := h.output(1); got != "up\nfirst first\n" {
		t.Errorf("output %q", got)
	}
}

func TestWhatTheJobSetsPrevails(t *testing.T) {
	a := &wire.Attempt{Spec: jobfile.Job{Env: map[string]string{"LD_PRELOAD": "mine.so"}}}
	got := strings.Join(programEnvironment(a, "/w", nil,
		map[string]string{"LD_PRELOAD": "ours.so", "OMPI_MCA_btl": "tcp"}), " ")
	if !strings.Contains(got, "LD_PRELOAD=mine.so") || strings.Contains(got, "ours.so") ||
		!strings.Contains(got, "OMPI_MCA_btl=tcp") {
		t.Error(got)
	}
}

// The variables say how many processes there are to be, and must not make mpirun
// look for an allocation that is not there.
func TestMpirunRunsInAScriptOfSlurmWhereThereIsNone(t *testing.T) {
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("there is no mpirun here")
	}
	a := &wire.Attempt{Job: 17, Epoch: 1, Procs: 3, Cluster: "here",
		Spec: jobfile.Job{Manager: jobfile.Manager{Kind: jobfile.Slurm}}}
	cmd := exec.CommandContext(t.Context(), mpirun, "sh", "-c", "echo rank $OMPI_COMM_WORLD_RANK of $SLURM_JOB_ID")
	cmd.Env = programEnvironment(a, t.TempDir(),
		[]string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
		nil)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "of 17") != 3 || !strings.Contains(string(out), "rank 2 of 17") {
		t.Errorf("%v\n%s", err, out)
	}
}
