package native

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
)

// job is a shell script that runs.
type job struct {
	checkpoint.Run
	t   *testing.T
	p   *checkpoint.Program
	mu  sync.Mutex
	out bytes.Buffer
}

func (j *job) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.Write(b)
}

func (j *job) printed() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.out.String()
}

// script starts a shell script; change may alter what is asked for.
func script(t *testing.T, m checkpoint.Method, text string, change func(p *checkpoint.Program)) *job {
	t.Helper()
	return scriptFrom(t, m, text, "", change)
}

// scriptFrom starts a shell script from an image.
func scriptFrom(t *testing.T, m checkpoint.Method, text, image string, change func(p *checkpoint.Program)) *job {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	j := &job{t: t, p: &checkpoint.Program{Argv: []string{"sh", "-c", text}, Env: []string{"PATH=/usr/bin:/bin"},
		Dir:     t.TempDir(),
		Scratch: t.TempDir(), Stdout: w, Stderr: w, Mark: "native-" + rand.Text()}}
	if change != nil {
		change(j.p)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		io.Copy(j, r)
	}()
	j.Run, err = m.StartProgram(context.Background(), j.p, image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.KillProgram()
		w.Close()
		<-read
		r.Close()
		if pids, err := proctree.MarkedProcesses(j.p.Mark); err != nil || len(pids) > 0 {
			t.Errorf("left behind: %v, %v", pids, err)
		}
		proctree.TreeOf(j.p.Mark).Close()
	})
	return j
}

func signalled(p *checkpoint.Program) { p.Signal, p.Files = "USR1", []string{"state"} }

func selfSaving(p *checkpoint.Program) { p.Files = []string{"state"} }

func (j *job) waitFor(what string, ok func() bool) {
	j.t.Helper()
	clocktest.WaitFor(j.t, what, ok, func() string { return fmt.Sprintf("printed %q", j.printed()) })
}

func (j *job) prints(text string) {
	j.t.Helper()
	j.waitFor(text, func() bool { return strings.Contains(j.printed(), text) })
}

// ends waits for the end and the last output.
func (j *job) ends() checkpoint.Result {
	j.t.Helper()
	select {
	case <-j.Done():
	case <-time.After(time.Minute):
		j.t.Fatalf("it does not end; printed %q", j.printed())
	}
	return j.Result()
}

func (j *job) running() bool {
	select {
	case <-j.Done():
		return false
	default:
		return true
	}
}

func (j *job) write(name, text string) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.p.Dir, name), []byte(text), 0o644); err != nil {
		j.t.Fatal(err)
	}
}

func nothing() error { return nil }

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

const threeRounds = `n=$(cat state 2>/dev/null || echo 0); n=$((n+1)); echo round $n; echo $n >state; [ $n -lt 3 ] && exit 85; exit 6`

// gate keeps a script from going on before it may.
const gate = `while [ ! -e go ]; do sleep 0.01; done; `

func TestAProgramThatSavesItselfRunsOnIfNobodyCares(t *testing.T) {
	j := script(t, ExitMethod(quick), threeRounds, selfSaving)
	if r := j.ends(); r.Code != 6 {
		t.Errorf("ended with %+v", r)
	}
	j.prints("round 1\nround 2\nround 3\n")
}

func TestAProgramThatSavesItselfWaitsForWhoCares(t *testing.T) {
	j := script(t, ExitMethod(quick), gate+threeRounds, selfSaving)
	self := j.Run.(checkpoint.SelfSaver)
	told := self.SelfSaved()
	j.write("go", "")
	<-told
	j.prints("round 1\n")
	time.Sleep(100 * time.Millisecond) // in which one that does not wait would go on
	if j.printed() != "round 1\n" {
		t.Errorf("it did not wait: %q", j.printed())
	}
	image := t.TempDir()
	if err := j.SaveImage(within(t, time.Minute), image, false, nothing); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(image, filesName, "state")); err != nil || string(text) != "1\n" {
		t.Errorf("the image has %q, %v", text, err)
	}
	<-told
	self.SkipSave()
	self.SkipSave() // means nothing
	if r := j.ends(); r.Code != 6 {
		t.Errorf("ended with %+v", r)
	}
	j.prints("round 1\nround 2\nround 3\n")
}

func TestAProgramThatWaitsToBeSavedCanBeKilled(t *testing.T) {
	j := script(t, ExitMethod(quick), gate+threeRounds, selfSaving)
	told := j.Run.(checkpoint.SelfSaver).SelfSaved()
	j.write("go", "")
	<-told
	j.KillProgram()
	if r := j.Result(); r.Code != 137 || r.Saved {
		t.Errorf("ended with %+v", r)
	}
}

func TestExit85WithoutTheFilesIsAnEndThatIsExplained(t *testing.T) {
	for text, want := range map[string]string{
		"exit 85":              "state is missing",
		">state; exit 85":      "state is empty",
		"mkdir state; exit 85": "state is missing",
	} {
		j := script(t, ExitMethod(quick), text, selfSaving)
		if r := j.ends(); r.Code != 85 || !strings.Contains(r.Why, want) {
			t.Errorf("%s: ended with %+v", text, r)
		}
	}
}

// HTCondor's jobs need not name files; everything in their folder counts.
func TestExit85WithoutNamesTakesTheWholeFolder(t *testing.T) {
	j := script(t, ExitMethod(quick), gate+threeRounds, nil)
	image := t.TempDir()
	time.AfterFunc(50*time.Millisecond, func() { j.write("go", "") })
	if err := j.SaveImage(within(t, time.Minute), image, true, nothing); err != nil {
		t.Fatal(err)
	}
	if m, err := readManifest(image); err != nil || len(m.Files) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestAProgramMayBeAskedToSaveItselfWithCode85(t *testing.T) {
	j := script(t, ExitMethod(quick),
		`[ -e state ] && exit 9; trap 'echo 1 >state; exit 85' USR1; echo ready; while :; do sleep 0.01; done`, signalled)
	j.prints("ready")
	if err := j.SaveImage(within(t, time.Minute), t.TempDir(), false, nothing); err != nil {
		t.Fatal(err)
	}
	if r := j.ends(); r.Code != 9 {
		t.Errorf("ended with %+v", r)
	}
}

// The restart command continues, here and elsewhere.
func TestTheRestartCommandIsUsedToContinue(t *testing.T) {
	j := script(t, ExitMethod(quick), `echo 1 >state; exit 85`, func(p *checkpoint.Program) {
		selfSaving(p)
		p.Restart = []string{"sh", "-c", "echo again; exit $(cat state)"}
	})
	if r := j.ends(); r.Code != 1 {
		t.Errorf("ended with %+v", r)
	}
	j.prints("again")
	// One that cannot be executed.
	j = script(t, ExitMethod(quick), `echo 1 >state; exit 85`, func(p *checkpoint.Program) {
		selfSaving(p)
		p.Restart = []string{"./missing"}
	})
	if r := j.ends(); r.Code != 127 || !strings.Contains(r.Why, "./missing: no such file") {
		t.Errorf("ended with %+v", r)
	}
}

func TestAProgramWithoutAHandlerIsNotEndedByBeingSaved(t *testing.T) {
	j := script(t, SignalMethod(quick), "echo ready; sleep 1000", signalled)
	j.prints("ready")
	err := j.SaveImage(within(t, 500*time.Millisecond), t.TempDir(), true, nothing)
	if err == nil || !strings.Contains(err.Error(), "no process of the program handles the signal SIGUSR1") ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("save: %v", err)
	}
	if !j.running() {
		t.Errorf("it has ended: %+v", j.Result())
	}
}

func TestASignalIsHeldBackUntilTheProgramHandlesIt(t *testing.T) {
	j := script(t, SignalMethod(quick), "sleep 0.6; trap 'echo saved >state; exit 3' USR1; while :; do sleep 0.01; done",
		signalled)
	if err := j.SaveImage(within(t, time.Minute), t.TempDir(), true, nothing); err != nil {
		t.Fatal(err)
	}
	if r := j.ends(); !r.Saved {
		t.Errorf("ended with %+v", r)
	}
}

// calledOff has a program saved that prints got when it begins to save itself, and
// waits no longer than that.
func (j *job) calledOff() {
	j.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	image, over := j.t.TempDir(), make(chan error, 1)
	go func() { over <- j.SaveImage(ctx, image, true, nothing) }()
	j.prints("got")
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		j.t.Errorf("save: %v", err)
	}
}

// It takes longer than anybody waits. It must not be taken for an end.
func TestASaveThatComesTooLateDoesNotEndTheProgram(t *testing.T) {
	const text = `[ -e state ] && { echo second; exec sleep 1000; }; trap 'echo got; ` + gate +
		`echo 1 >state; exit 0' USR1; echo ready; while :; do sleep 0.01; done`
	j := script(t, SignalMethod(quick), text, signalled)
	j.prints("ready")
	j.calledOff()
	j.write("go", "")
	j.prints("second")
	if !j.running() {
		t.Errorf("it has ended: %+v", j.Result())
	}
}

// It is late too, but goes on: its end is its end.
func TestAProgramThatAnswersLateAndGoesOnEndsWhenItEnds(t *testing.T) {
	const text = `trap 'echo got; ` + gate +
		`echo 1 >state' USR1; echo ready; while [ ! -e end ]; do sleep 0.01; done; exit 4`
	j := script(t, SignalMethod(quick), text, signalled)
	j.prints("ready")
	j.calledOff()
	j.write("go", "")
	j.waitFor("its habit to be known", func() bool { return j.Run.(*run).knownHabit() == goesOn })
	j.write("end", "")
	if r := j.ends(); r.Code != 4 || r.Lost {
		t.Errorf("ended with %+v", r)
	}
	if strings.Count(j.printed(), "ready") != 1 {
		t.Errorf("it was started again: %q", j.printed())
	}
}

func TestAnEndWithoutTheFilesIsAnEnd(t *testing.T) {
	j := script(t, SignalMethod(quick), "trap 'exit 5' USR1; echo ready; while :; do sleep 0.01; done", signalled)
	j.write("state", "of an earlier run")
	j.prints("ready")
	if err := j.SaveImage(within(t, time.Minute), t.TempDir(), false, nothing); !errors.Is(err, errEnded) {
		t.Errorf("save: %v", err)
	}
	if r := j.ends(); r.Code != 5 || !strings.Contains(r.Why, "state was not written") {
		t.Errorf("ended with %+v", r)
	}
}

// Two files, one after the other, and a pattern: the save is whole when all
// are.
func TestAllFilesMustBeWritten(t *testing.T) {
	const text = `trap 'echo a >a; sleep 0.3; mkdir -p d; echo b >d/b.2; sleep 0.3; echo c >c.new; mv c.new c' USR1; echo ready; while :; do sleep 0.01; done`
	j := script(t, SignalMethod(quick), text,
		func(p *checkpoint.Program) { p.Signal, p.Files = "SIGUSR1", []string{"a", "d/b.*", "c"} })
	j.prints("ready")
	image := t.TempDir()
	if err := j.SaveImage(within(t, time.Minute), image, true, nothing); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "a\n", "d/b.2": "b\n", "c": "c\n"} {
		if text, err := os.ReadFile(filepath.Join(image, filesName, name)); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
}

// A file that is open for writing is not whole, unless it stays open.
func TestAFileThatIsBeingWrittenIsWaitedFor(t *testing.T) {
	const text = `trap '(echo one; sleep 0.4; echo two) >state' USR1; echo ready; while :; do sleep 0.01; done`
	const open = `exec 3>state; trap 'echo one >&3; echo two >&3' USR1; echo ready; while :; do sleep 0.01; done`
	for _, text := range []string{text, open} {
		j := script(t, SignalMethod(quick), text, signalled)
		j.prints("ready")
		image := t.TempDir()
		if err := j.SaveImage(within(t, time.Minute), image, false, nothing); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(image, filesName, "state")); err != nil || string(text) != "one\ntwo\n" {
			t.Errorf("the image has %q, %v", text, err)
		}
		if !j.running() {
			t.Error("it does not go on")
		}
	}
}

// Its exit takes longer than it is given at first. It is not taken for its end.
func TestAProgramThatTakesLongToEndAfterSavingItselfIsContinued(t *testing.T) {
	const text = `[ -e state ] && { echo second; exec sleep 1000; }; trap 'echo 1 >state; ` + gate +
		`exit 0' USR1; echo ready; while :; do sleep 0.01; done`
	// Ten times the patience is what it has for its end.
	j := script(t, SignalMethod(Options{Grace: quick.Grace, Patience: time.Second}), text, signalled)
	j.prints("ready")
	if err := j.SaveImage(within(t, time.Minute), t.TempDir(), false, nothing); err != nil {
		t.Fatal(err)
	}
	j.write("go", "")
	j.prints("second")
	if h := j.Run.(*run).knownHabit(); h != ends {
		t.Errorf("its habit is %q", h)
	}
}

// What it did the first time is expected the second time, also elsewhere.
func TestTheHabitOfAProgramIsRemembered(t *testing.T) {
	const text = `trap 'echo $$ >state.new; mv state.new state' USR1; echo ready; while :; do sleep 0.01; done`
	j := script(t, SignalMethod(quick), text, signalled)
	j.prints("ready")
	if err := j.SaveImage(within(t, time.Minute), t.TempDir(), false, nothing); err != nil {
		t.Fatal(err)
	}
	if h := j.Run.(*run).knownHabit(); h != unknown {
		t.Errorf("its habit is already %q", h)
	}
	j.waitFor("its habit to be known", func() bool { return j.Run.(*run).knownHabit() == goesOn })
	image := t.TempDir()
	if err := j.SaveImage(within(t, time.Minute), image, true, nothing); err != nil {
		t.Fatal(err)
	}
	k := script(t, continuing{SignalMethod(quick), image}, text, signalled)
	if h := k.Run.(*run).knownHabit(); h != goesOn {
		t.Errorf("elsewhere its habit is %q", h)
	}
	k.prints("ready")
	if err := k.SaveImage(within(t, time.Minute), t.TempDir(), true, nothing); err != nil {
		t.Fatal(err)
	}
}

// continuing is a method that always starts from an image.
type continuing struct {
	checkpoint.Method
	image string
}

func (c continuing) StartProgram(ctx context.Context, p *checkpoint.Program, _ string) (checkpoint.Run, error) {
	return c.Method.StartProgram(ctx, p, c.image)
}

func TestTooManyProcessesEndAProgram(t *testing.T) {
	j := script(t, RestartMethod(quick), "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done; wait",
		func(p *checkpoint.Program) { p.Limits.Processes = 5 })
	if r := j.ends(); r.Signal != int(syscall.SIGKILL) || !strings.Contains(r.Why, " processes; its limit is 5") {
		t.Errorf("ended with %+v", r)
	}
}

func TestADaemonIsWaitedForAndItsFirstProcessGivesTheExitCode(t *testing.T) {
	j := script(t, RestartMethod(quick), "setsid sh -c 'sleep 0.5; echo late' & exit 3", nil)
	if r := j.ends(); r.Code != 3 {
		t.Errorf("ended with %+v", r)
	}
	j.prints("late")
}

func TestBadSettingsAreRefusedBeforeAnythingRuns(t *testing.T) {
	for _, c := range []struct {
		m      checkpoint.Method
		signal string
		files  []string
		want   string
	}{
		{SignalMethod(quick), "", []string{"state"}, "signal"},
		{SignalMethod(quick), "USR1", nil, "files"},
		{SignalMethod(quick), "NOPE", []string{"state"}, "NOPE"},
		{SignalMethod(quick), "KILL", []string{"state"}, "KILL"},
		{SignalMethod(quick), "0", []string{"state"}, "0"},
		{SignalMethod(quick), "USR1", []string{"../state"}, "working directory"},
		{ExitMethod(quick), "", []string{"/etc/passwd"}, "working directory"},
		{ExitMethod(quick), "", []string{"a["}, "pattern"},
	} {
		p := &checkpoint.Program{Argv: []string{"true"}, Dir: t.TempDir(), Mark: "native-" + rand.Text(), Signal: c.signal,
			Files: c.files}
		if _, err := c.m.StartProgram(context.Background(), p, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q %q: %v", c.m.Name(), c.signal, c.files, err)
		}
		proctree.TreeOf(p.Mark).Close()
	}
}
