package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox/sandboxtest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Programs that are moved end only when there is a file go in their folder: however
// long a move takes, they still run.

// countOnSignal counts to 40, and when it gets USR1 writes how far it is and ends.
const countOnSignal = `i=0; [ -f state ] && i=$(cat state)
trap 'echo $i >state.new; mv state.new state; exit 0' USR1
while [ $i -lt 40 ]; do
  while [ $i = 39 ] && [ ! -e go ]; do sleep 0.05 & wait $!; done
  echo line $((i=i+1)) # at once: the signal may come between two commands
  sleep 0.05 & wait $!
done; exit 6`

// countAndExit counts to 40 and saves itself every 10. HELD, it saves itself at 30
// again and again.
const countAndExit = `i=0; [ -f state ] && i=$(cat state)
if [ $i = 30 ] && [ -n "$HELD" ] && [ ! -e go ]; then sleep 0.1; exit 85; fi
while [ $i -lt 40 ]; do i=$((i+1)); echo line $i; sleep 0.1
  if [ $((i % 10)) = 0 ] && [ $i -lt 40 ]; then echo $i >state; exit 85; fi
done; exit 6`

// countPlain counts to 40 and knows nothing of being saved.
const countPlain = `i=0; while [ $i -lt 40 ]; do
  while [ $i = 39 ] && [ ! -e go ]; do sleep 0.1; done
  i=$((i+1)); echo line $i; echo $i >>file; sleep 0.1
done; exit 6`

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// withSandbox lets the methods of this machine find the sandbox.
func withSandbox(t *testing.T) {
	t.Helper()
	if os.Getenv("GODWIT_SANDBOX") != "" {
		return
	}
	binary, err := sandboxtest.BuiltBinary()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GODWIT_SANDBOX", binary)
}

func newReal(t *testing.T, method, script string) *harness {
	t.Helper()
	h := newHarness(t, "/bin/sh", "-c", script)
	h.around.methods = methodsHere
	h.attempt.Spec.Checkpoint.Method = method
	return h
}

// untilRun waits until the program has been started so often: its folder is complete then.
func (h *harness) untilRun(times int) {
	h.t.Helper()
	h.until("it to run again", func() bool {
		n := 0
		for _, m := range h.messages {
			if m.Kind == wire.Running {
				n++
			}
		}
		return n == times
	})
}

func TestProgramsAreMovedTwiceByEveryMethodThatCanSave(t *testing.T) {
	withSandbox(t)
	for method, script := range map[string]string{
		checkpointing.MethodSignal: countOnSignal, checkpointing.MethodExit85: countAndExit,
		checkpointing.MethodSandbox: countPlain,
	} {
		t.Run(method, func(t *testing.T) {
			h := newReal(t, method, script)
			h.attempt.Spec.Env = map[string]string{"HELD": "yes"}
			if method == checkpointing.MethodSignal {
				h.attempt.Spec.Checkpoint.Signal = "USR1"
			}
			if method != checkpointing.MethodSandbox {
				h.attempt.Spec.Checkpoint.Files = []string{"state"}
			}
			h.start()
			h.begin()
			for move := range 2 {
				h.until("output", func() bool { return strings.Contains(string(h.out[1]), fmt.Sprintf("line %d\n", 5+15*move)) })
				h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
				h.wait()
				list := h.endings()
				m := list[len(list)-1]
				if m.Kind != wire.Left || m.Saved == nil {
					t.Fatalf("left with %+v", m)
				}
				h.next(*m.Saved)
				h.begin()
			}
			h.untilRun(3)
			if err := os.WriteFile(filepath.Join(folder{h.dir}.workDir(), "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			h.wait()
			list := h.endings()
			if m := list[len(list)-1]; m.Kind != wire.Ended || m.Code != 6 || h.output(1) != lines(40) {
				t.Errorf("ended with %+v, output %q", m, h.output(1))
			} else if method == checkpointing.MethodSandbox {
				text, err := os.ReadFile(filepath.Join(h.fetch(m.Result), "file"))
				if err != nil || strings.Count(string(text), "\n") != 40 {
					t.Errorf("its file has %q, %v", text, err)
				}
			}
		})
	}
}

func TestWhatAProgramSavesByItselfIsKept(t *testing.T) {
	h := newReal(t, checkpointing.MethodAuto, countAndExit)
	h.attempt.Spec.Checkpoint.Files, h.attempt.Spec.Checkpoint.Every = []string{"state"}, time.Millisecond
	h.run()
	if m := h.ended(); m.Code != 6 || h.output(1) != lines(40) {
		t.Errorf("ended with %+v, output %q", m, h.output(1))
	}
	saved := h.all(wire.Checkpoint)
	if len(saved) == 0 || len(saved) > 3 {
		t.Fatalf("%d checkpoints", len(saved))
	}
	if s := saved[0].Saved; s.Out != int64(len(lines(10))) || s.Method != checkpointing.MethodExit85 {
		t.Errorf("saved %+v", s)
	}
}

func TestAProgramThatFailsInASandboxNobodyAskedForIsRunWithout(t *testing.T) {
	withSandbox(t)
	// It can see that it is in a sandbox, and does not like it.
	h := newReal(t, checkpointing.MethodAuto,
		`echo made >made; echo hello; if [ -d /godwit ]; then exit 3; fi; cat made | wc -l; echo fine`)
	h.attempt.Deadline, h.attempt.Need = h.attempt.Now.Add(time.Hour), []float64{99, 100, 101}
	h.run()
	m := h.ended()
	if m.Kind != wire.Ended || m.Code != 0 || h.output(1) != "hello\n1\nfine\n" {
		t.Fatalf("ended with %+v, output %q", m, h.output(1))
	}
	if m.State.SandboxCost != checkpointing.NeverSandbox {
		t.Errorf("the cost of the sandbox is said to be %v", m.State.SandboxCost)
	}
	run := h.all(wire.Running)
	if len(run) != 2 || run[0].Method != checkpointing.MethodSandbox || run[1].Method != checkpointing.MethodRestart {
		t.Errorf("it ran so: %s", kinds(run))
	}
}

func TestAProgramThatASandboxSlowsDownIsRunWithout(t *testing.T) {
	withSandbox(t)
	h := newReal(t, checkpointing.MethodAuto,
		`echo begin; dd if=/dev/zero of=/dev/null bs=1 count=1500000 2>/dev/null; echo end`)
	h.attempt.Deadline, h.attempt.Need = h.attempt.Now.Add(time.Hour), []float64{99, 100, 101}
	h.run()
	m := h.ended()
	if m.Code != 0 || h.output(1) != "begin\nend\n" {
		t.Fatalf("ended with %+v, output %q", m, h.output(1))
	}
	run := h.all(wire.Running)
	if last := run[len(run)-1]; last.Method != checkpointing.MethodRestart || len(run) != 2 {
		t.Errorf("it ran so: %s", kinds(run))
	}
}

// outsideFolder is a folder that programs can write, but not in the sandbox.
func outsideFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "godwit-outside")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// warnings are the entries of explain that its user is to see.
func (h *harness) warnings() []string {
	var list []string
	for _, m := range h.all(wire.Note) {
		if m.Entry != nil && m.Entry.Kind == kindWarning {
			list = append(list, m.Entry.Choice+": "+m.Entry.Why)
		}
	}
	return list
}

// It copes with the error and ends well, with other data than it would have had.
const copes = `echo x 2>/dev/null >%[1]s/new && echo wrote || echo could not write`

func TestAProgramThatWritesOutsideItsFolderIsRunWithoutASandboxNobodyAskedFor(t *testing.T) {
	withSandbox(t)
	dir := outsideFolder(t)
	h := newReal(t, checkpointing.MethodAuto, fmt.Sprintf(copes, dir))
	h.attempt.Deadline, h.attempt.Need = h.attempt.Now.Add(time.Hour), []float64{99, 100, 101}
	h.run()
	m := h.ended()
	if m.Code != 0 || h.output(1) != "wrote\n" {
		t.Fatalf("ended with %+v, output %q", m, h.output(1))
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
	want := "started again without the sandbox: it tried to write " + dir + "/new, which the sandbox does not allow"
	if got := h.warnings(); len(got) != 1 || got[0] != want {
		t.Errorf("warned %q, want %q", got, want)
	}
	if m.State.SandboxCost != checkpointing.NeverSandbox {
		t.Errorf("the next run is told that the sandbox costs %v", m.State.SandboxCost)
	}
}

func TestASandboxThatWasAskedForSaysWhatItDenied(t *testing.T) {
	withSandbox(t)
	dir := outsideFolder(t)
	h := newReal(t, checkpointing.MethodSandbox, fmt.Sprintf(copes, dir)+"; echo y >/tmp/left")
	h.run()
	if m := h.ended(); m.Code != 0 || h.output(1) != "could not write\n" {
		t.Fatalf("ended with %+v, output %q", m, h.output(1))
	}
	got := strings.Join(h.warnings(), "\n")
	for _, want := range []string{"the sandbox changed what the program did: ", "it tried to write " + dir + "/new",
		"what it left in /tmp is gone: /tmp/left"} {
		if strings.Count(got, want) < 1 {
			t.Errorf("warned %q, want %q", got, want)
		}
	}
}

func TestAProgramThatConnectsWhileItRunsIsStartedAgainWithoutTheSandbox(t *testing.T) {
	withSandbox(t)
	// Without the sandbox it goes on; in it, it waits until it is ended.
	h := newReal(t, checkpointing.MethodAuto,
		`if [ -d /godwit ]; then bash -c 'echo >/dev/tcp/192.0.2.1/80' 2>/dev/null; sleep 1000; fi; echo outside`)
	h.attempt.Deadline, h.attempt.Need = h.attempt.Now.Add(time.Hour), []float64{99, 100, 101}
	h.run()
	if m := h.ended(); m.Code != 0 || h.output(1) != "outside\n" {
		t.Fatalf("ended with %+v, output %q", m, h.output(1))
	}
	want := "started again without the sandbox: it tried to connect to 192.0.2.1:80, which the sandbox does not allow"
	if got := h.warnings(); len(got) != 1 || got[0] != want {
		t.Errorf("warned %q, want %q", got, want)
	}
}
