package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/output"
	"github.com/godwit-hpc/godwit/internal/agent/report"
	"github.com/godwit-hpc/godwit/internal/protocol/selfreport"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/checkpointing"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// shellReport is a shell's way of writing on the page: bytes, and where.
const shellReport = `put() { printf "$1" | dd of="$GODWIT_FOLDER/page" bs=1 seek=$2 conv=notrunc 2>/dev/null; }
	steps() { put "\\$1" 128; put "\\$2" 136; }
	`

// newReporter is a program that reports 3 of 8 steps, which only its page says, and then does the rest
// once the file of that name is there.
func newReporter(t *testing.T, rest string) (h *harness, allow func()) {
	t.Helper()
	h = newHarness(t)
	file := filepath.Join(t.TempDir(), "allowed")
	h.attempt.Spec.Argv = []string{"/bin/sh", "-c",
		shellReport + "steps 3 10\necho reported $GODWIT_FOLDER\nuntil [ -e " + file + " ]; do sleep 0.01; done\n" + rest}
	return h, func() {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// reportedIn waits until the program has reported and is the folder in which it did.
func (h *harness) reportedIn() string {
	h.t.Helper()
	h.until("a report", func() bool { return strings.HasSuffix(string(h.out[1]), "\n") })
	dir, ok := strings.CutPrefix(strings.TrimSpace(h.output(1)), "reported ")
	if !ok || dir == "" {
		h.t.Fatalf("the program says %q", h.output(1))
	}
	return dir
}

// Octal 10 is 8.
func TestStepsThatAProgramReportsAreItsProgress(t *testing.T) {
	h, allow := newReporter(t, "steps 6 10")
	h.start()
	h.begin()
	dir := h.reportedIn()
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 || !info.IsDir() {
		t.Errorf("the folder: %v, %v", info, err)
	}
	h.order(wire.Order{Kind: wire.Watch, Every: 20 * time.Millisecond})
	h.until("the progress", func() bool { return h.vitals != nil && h.vitals.Done == 3.0/8 })
	allow()
	h.wait()
	if m := h.ended(); m.Kind != wire.Ended || m.Code != 0 || m.State.Done != 6.0/8 {
		t.Errorf("it ended with %+v, %+v", m, m.State)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestWhatAProgramReportsCountsAndNotItsOutput(t *testing.T) {
	h, allow := newReporter(t, "echo step 1/10")
	h.attempt.Spec.Progress = `step (\d+)/(\d+)`
	allow()
	h.run()
	if m := h.ended(); m.State.Done != 3.0/8 {
		t.Errorf("progress %v", m.State.Done)
	}
}

func TestWhatAProgramReportedSurvivesItsAgent(t *testing.T) {
	h, _ := newReporter(t, "")
	h.start()
	h.write()
	agent := h.spawn()
	dir := h.reportedIn()
	_ = agent.Process.Kill()
	_ = agent.Wait()
	if err := h.spawn().Wait(); err != nil {
		t.Fatal(err)
	}
	if m := h.ended(); m.Kind != wire.Lost || m.State.Done != 3.0/8 {
		t.Errorf("the next agent tells %+v, %+v", m, m.State)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestAProgramSeesOnItsPageThatItIsToStop(t *testing.T) {
	const look = `look() { od -An -tu1 -j64 -N1 "$GODWIT_FOLDER/page" | tr -d ' '; }
		trap 'echo stop $(look); exit 3' TERM
		echo stop $(look)
		while :; do sleep 0.01; done`
	h := newHarness(t, "/bin/sh", "-c", look)
	h.start()
	h.begin()
	h.until("its first look", func() bool { return string(h.out[1]) == "stop 0\n" })
	h.order(wire.Order{Kind: wire.Cancel, Within: patience})
	h.wait()
	if got := h.output(1); got != "stop 0\nstop 1\n" {
		t.Errorf("the program saw %q", got)
	}
}

// Only what runs without a signal can see that a checkpoint is wanted: a number that rises.
func TestAProgramSeesOnItsPageThatACheckpointIsWanted(t *testing.T) {
	h := newSteps(t, 300, "1ms")
	h.holdAt(290)
	h.begin()
	h.upTo(3)
	page := filepath.Join(pageFolder(t, h), selfreport.PageFile)
	wanted := func() byte {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		return text[selfreport.CheckpointAt]
	}
	for n := byte(0); n < 3; n++ {
		if got := wanted(); got != n {
			t.Errorf("checkpoint %d is wanted, not %d", got, n)
		}
		h.order(wire.Order{Kind: wire.Save})
		h.until("the checkpoint", func() bool {
			return slices.ContainsFunc(h.messages, func(m wire.Message) bool {
				return m.Kind == wire.Checkpoint && m.Saved.N == int(n)+1
			})
		})
	}
	h.holdAt(0)
	h.wait()
}

// pageFolder is the folder of the attempt that runs.
func pageFolder(t *testing.T, h *harness) string {
	t.Helper()
	f := report.OpenFolder(h.around.memory, h.dir, h.attempt.Mark)
	defer f.Close()
	if f.Path() == "" {
		t.Fatal("the attempt has no folder for what its program reports")
	}
	return f.Path()
}

// What a program does to its page harms nobody: the attempt ends as any other.
func TestAHostilePageHarmsNobody(t *testing.T) {
	for name, harm := range map[string]string{
		"cut short":       `: > "$GODWIT_FOLDER/page"`,
		"one byte":        `printf x > "$GODWIT_FOLDER/page"`,
		"gone":            `rm -rf "$GODWIT_FOLDER"`,
		"a pipe":          `rm "$GODWIT_FOLDER/page"; mkfifo "$GODWIT_FOLDER/page"`,
		"somebody else's": `rm "$GODWIT_FOLDER/page"; ln -s /dev/zero "$GODWIT_FOLDER/page"`,
		"all ones":        `tr '\0' '\377' </dev/zero | dd of="$GODWIT_FOLDER/page" bs=4096 count=1 conv=notrunc 2>/dev/null`,
		"very long":       `dd if=/dev/urandom of="$GODWIT_FOLDER/page" bs=4096 seek=100 count=1 conv=notrunc 2>/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, "/bin/sh", "-c", harm+"; echo did; exit 4")
			h.run() // its last sample is taken when it has ended
			if m := h.ended(); m.Kind != wire.Ended || m.Code != 4 || m.State.Done > 1 || h.output(1) != "did\n" {
				t.Errorf("it ended with %+v, %+v after %q", m, m.State, h.output(1))
			}
		})
	}
}

func TestWithoutAFolderInMemoryTheAttemptsOwnIsUsed(t *testing.T) {
	h, allow := newReporter(t, "")
	h.around.memory = filepath.Join(h.dir, "nothing")
	h.start()
	h.begin()
	if dir := h.reportedIn(); dir != filepath.Join(h.dir, "program") {
		t.Errorf("it reports in %s", dir)
	}
	allow()
	h.wait()
	if m := h.ended(); m.State.Done != 3.0/8 {
		t.Errorf("progress %v", m.State.Done)
	}
}

// The folder of a job within which another one was submitted is not that one's.
func TestTheFolderOfAnotherJobIsNotNamed(t *testing.T) {
	dir := t.TempDir()
	f, err := report.MakeFolder(dir, dir, "mark")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Remove()
	p := &preparation{attempt: &wire.Attempt{Job: 1, Epoch: 1, Mark: "mark"}, folder: folder{dir}, report: f}
	p.attempt.Spec.Env = map[string]string{selfreport.FolderVariable: "/dev/shm/godwit-of-another"}
	for _, method := range []string{checkpointing.MethodSandbox, checkpointing.MethodRestart, checkpointing.MethodSignal} {
		env := fmt.Sprintln(strings.Join(p.buildProgram(new(output.Pipes), method).Env, "\n"))
		if !strings.Contains(env, selfreport.FolderVariable+"="+f.Path()+"\n") || strings.Contains(env, "of-another") {
			t.Errorf("%s: %q", method, env)
		}
	}
}

// sandboxedReporter reports through the Python module, is moved in between and goes on with the page of the next
// attempt, which has to say what it said on the first.
const sandboxedReporter = `import os, sys, time
sys.path.insert(0, ".")
import godwit
godwit.set_steps(3, 8)
godwit.begin_phase("first half")
print("reported", flush=True)
while not os.path.exists("go"):
    time.sleep(0.01)
godwit.add_steps(2)
godwit.send_message("nearly done")
print("stop", godwit.stop_wanted(), godwit.checkpoint_wanted(), flush=True)
`

func TestAProgramInTheSandboxReportsAlsoAfterAMove(t *testing.T) {
	withSandbox(t)
	h := newReal(t, checkpointing.MethodSandbox, "exec python3 reporter.py")
	module, err := os.ReadFile("../../program/python/godwit.py")
	if err != nil {
		t.Fatal(err)
	}
	h.pushWork(map[string]string{"reporter.py": sandboxedReporter, "godwit.py": string(module)})
	h.start()
	h.begin()
	h.until("a report", func() bool { return string(h.out[1]) == "reported\n" })
	h.order(wire.Order{Kind: wire.Watch, Every: 20 * time.Millisecond})
	h.until("the progress", func() bool { return h.vitals != nil && h.vitals.Done == 3.0/8 })
	h.order(wire.Order{Kind: wire.Stop, By: core.AtSecond(1600)})
	h.wait()
	list := h.endings()
	m := list[len(list)-1]
	if m.Kind != wire.Left || m.Saved == nil || m.Saved.StepsDone != 3 || m.Saved.StepsAll != 8 {
		t.Fatalf("left with %+v, %+v", m, m.Saved)
	}
	h.next(*m.Saved)
	h.begin()
	h.untilRun(2)
	if err := os.WriteFile(filepath.Join(folder{h.dir}.workDir(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.wait()
	list = h.endings()
	if m := list[len(list)-1]; m.Kind != wire.Ended || m.Code != 0 || m.State.Done != 5.0/8 {
		t.Errorf("ended with %+v, %+v", m, m.State)
	}
	if got := h.output(1); got != "reported\nstop False False\n" {
		t.Errorf("it wrote %q", got)
	}
	var said []string
	for _, m := range h.all(wire.Note) {
		if k := m.Entry.Kind; k == "phase" || k == "message" {
			said = append(said, k+" "+m.Entry.Choice)
		}
	}
	if !slices.Equal(said, []string{"phase first half", "message nearly done"}) {
		t.Errorf("it is told that it said %q", said)
	}
}

func TestWhatAProgramSaysIsShownAndMalformedLinesHarmNobody(t *testing.T) {
	h := newHarness(t, "/usr/bin/env", "python3", "-c", `
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["GODWIT_FOLDER"] + "/socket")
f = s.makefile("rw")
for line in ['{"v":1,"kind":"progress","done":1,"of":4}', '{"v":1,"kind":"phase","name":"solve"}', 'rubbish', '\0' * 100,
             '{"v":1,"kind":"message","text":"half done"}', '{"v":1,"kind":"ask","procs":7}']:
    print(line, file=f, flush=True)
    print(f.readline().strip(), flush=True)
for i in range(50): # connections that it never closes
    t = socket.socket(socket.AF_UNIX); t.setblocking(False)
    try: t.connect(os.environ["GODWIT_FOLDER"] + "/socket")
    except BlockingIOError: pass
    t.detach()
`)
	h.run()
	m := h.ended()
	if m.Kind != wire.Ended || m.Code != 0 || m.State.Done != 1.0/4 {
		t.Errorf("it ended with %+v, %+v: %s", m, m.State, h.output(2))
	}
	if said := h.output(1); strings.Count(said, `{"v":1,"ok":true}`) != 3 || strings.Count(said, `"ok":false`) != 3 ||
		!strings.Contains(said, `\"ask\" cannot be carried out`) {
		t.Errorf("the answers: %s", said)
	}
	var shown []string
	for _, m := range h.all(wire.Note) {
		if m.Entry.Kind == "message" || m.Entry.Kind == "phase" {
			shown = append(shown, fmt.Sprint(m.Entry.Kind, " ", m.Entry.Choice, " ", m.Entry.Inputs))
		}
	}
	if fmt.Sprint(shown) != "[phase solve map[of:4 step:1] message half done map[]]" {
		t.Errorf("shown: %q", shown)
	}
}
