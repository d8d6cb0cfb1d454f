package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
)

func TestTheEndOfAProgramIsToldExactly(t *testing.T) {
	for _, c := range []struct {
		line         string
		code, signal int
	}{
		{"exit 0", 0, 0},
		{"exit 3", 3, 0},
		{"exit 137", 137, 0},
		{"exit 255", 255, 0},
		{"kill -9 $$", 137, 9},
		{"kill -TERM $$", 143, 15},
		{"kill -SEGV $$", 139, 11},
		{"sleep 1000 & setsid sleep 1000 & exit 2", 2, 0},
	} {
		out, res := begin(t, t.TempDir(), "", "sh", "-c", c.line).end()
		if res.Code != c.code || res.Signal != c.signal || res.Lost || res.Saved || res.Why != "" || out != "" {
			t.Errorf("%s: %+v %q, want code %d, signal %d", c.line, res, out, c.code, c.signal)
		}
	}
}

func TestAProgramThatCannotBeExecutedIsALaunchError(t *testing.T) {
	work := t.TempDir()
	for name, text := range map[string]string{
		"plain": "text", "script": "#!/nowhere/interpreter\n", "broken": "\x7fELF and nothing more",
	} {
		mode := os.FileMode(0o755)
		if name == "plain" {
			mode = 0o644
		}
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	hidden := filepath.Join(os.TempDir(), "godwit-hidden-"+strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(hidden, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(hidden)
	for name, want := range map[string]checkpoint.LaunchError{
		"nonesuch":     {Code: 127, Why: "nonesuch was not found in $PATH"},
		"./nonesuch":   {Code: 127, Why: "./nonesuch was not found"},
		"/no/such":     {Code: 127, Why: "/no/such was not found"},
		"./plain":      {Code: 126, Why: "./plain is not executable"},
		"/etc":         {Code: 126, Why: "/etc is not executable"},
		"./broken":     {Code: 126, Why: "./broken is not a program for this machine"},
		"./script":     {Code: 127, Why: "./script needs another program to run it, and that was not found"},
		"":             {Code: 127, Why: "no program is named"},
		"./plain/more": {Code: 127, Why: "./plain/more was not found"},
	} {
		_, err := try(t, program(t, work, name), "")
		var got *checkpoint.LaunchError
		if !errors.As(err, &got) || *got != want {
			t.Errorf("%q: %v, want %+v", name, err, want)
		}
	}
	if !strings.HasPrefix(hidden, "/tmp/") {
		return // an ordinary user of the tests has another folder for such files
	}
	_, err := try(t, program(t, work, hidden), "")
	if err == nil || !strings.Contains(err.Error(), "has a /tmp of its own") {
		t.Errorf("a program in /tmp: %v", err)
	}
}

func TestASandboxThatDiesIsLostAndLeavesNothing(t *testing.T) {
	for _, part := range []string{"runsc-sandbox", "runsc-gofer", "supervise", "program"} {
		t.Run(part, func(t *testing.T) {
			a := begin(t, t.TempDir(), "", "sh", "-c", "(sleep 1000; :) & while :; do echo; sleep .01; done")
			a.awaitLines(3)
			family := descendants(a.run.RootPID())
			began := starts(family)
			if len(family) < 4 {
				t.Fatalf("the sandbox is %v", family)
			}
			victims := family[3:] // those in which the program's code runs
			if part != "program" {
				victims = []int{find(t, a.p.Mark, part)}
			}
			for _, pid := range victims {
				_ = syscall.Kill(pid, syscall.SIGKILL) // one may have ended
			}
			_, res := a.end()
			if !res.Lost || res.Why == "" || res.Saved || res.Code != 0 {
				t.Errorf("it ended with %+v, want lost and why", res)
			}
			t.Log(res.Why)
			wantGone(t, began)
		})
	}
}

// wantGone waits: a process that began just before the end may take a moment longer
// to die. Another one may get its number then.
func wantGone(t *testing.T, began map[int]string) {
	t.Helper()
	for pid, start := range began {
		clocktest.WaitFor(t, fmt.Sprintf("the end of process %d", pid),
			func() bool { return start == "" || started(pid) != start })
	}
}

// gVisor ends the program when the part that opens files dies; an image made then
// would hold a program that is about to die.
func TestAProgramThatIsDyingIsNotSaved(t *testing.T) {
	a := begin(t, t.TempDir(), "", "sh", "-c", "while :; do echo; sleep .01; done")
	a.awaitLines(3)
	err := a.run.SaveImage(t.Context(), t.TempDir(), false, func() error {
		gofer := find(t, a.p.Mark, "runsc-gofer")
		began := starts([]int{gofer})
		err := syscall.Kill(gofer, syscall.SIGKILL)
		wantGone(t, began)
		time.Sleep(200 * time.Millisecond) // gVisor notices, of which nothing can be seen from outside
		return err
	})
	if err == nil {
		t.Error("it was saved")
	}
	if _, res := a.end(); !res.Lost {
		t.Errorf("it ended with %+v, want lost", res)
	}
}

func TestKillLeavesNothing(t *testing.T) {
	// Ignores signals, daemonizes itself twice, and forks all the time.
	const stubborn = `trap '' TERM INT HUP; setsid sh -c 'trap "" TERM; sleep 1000 & setsid sleep 1000' &
		while :; do sleep .001 & echo; sleep .01; done`
	for _, c := range []string{"running", "standing still"} {
		t.Run(c, func(t *testing.T) {
			a := begin(t, t.TempDir(), "", "sh", "-c", stubborn)
			a.awaitLines(5)
			family := starts(descendants(a.run.RootPID()))
			if c == "standing still" {
				err := a.run.SaveImage(t.Context(), t.TempDir(), false, func() error {
					a.run.KillProgram()
					return nil
				})
				if err == nil {
					t.Error("a program was saved that had been killed")
				}
			}
			a.run.KillProgram()
			a.run.KillProgram() // once more does no harm
			_, res := a.end()
			if res.Code != 137 || res.Signal != 9 || res.Lost || res.Saved {
				t.Errorf("it ended with %+v, want code 137", res)
			}
			wantGone(t, family)
		})
	}
}

func TestAStartThatIsCalledOffLeavesNothing(t *testing.T) {
	for i := range 6 {
		p := program(t, t.TempDir(), "sleep", "1000")
		_, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.Stdout, p.Stderr = out, out
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*5*time.Millisecond)
		a, err := sandbox.Method{}.StartProgram(ctx, p, "")
		cancel()
		out.Close()
		if err == nil {
			a.KillProgram()
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("called off: %v", err)
		}
		if left := marked(t, p.Mark); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		if entries, err := os.ReadDir(p.Scratch); err != nil || len(entries) > 0 {
			t.Errorf("left over: %v (%v)", entries, err)
		}
	}
}

// A supervisor that does not hear, and that starts something after it was asked to end: what it started is waited for.
func TestWhatASupervisorStartedLateIsWaitedFor(t *testing.T) {
	p := program(t, t.TempDir(), "true")
	_, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.Stdout, p.Stderr = out, out
	deaf := filepath.Join(t.TempDir(), "supervisor")
	const script = `#!/bin/sh
sleep 2 3>&-
sh -c 'while kill -0 $0; do sleep 0.1; done; sleep 0.5' $$ 3>&- &
while :; do sleep 1 3>&-; done
`
	if err := os.WriteFile(deaf, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := (sandbox.Method{Binary: deaf}).StartProgram(ctx, p, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("called off: %v", err)
	}
	for _, left := range marked(t, p.Mark) {
		if strings.Contains(left, "kill") {
			t.Errorf("left over: %s", left)
		}
	}
}

// find is the marked process that a word at the beginning of its command names.
func find(t *testing.T, mark, word string) int {
	t.Helper()
	for _, line := range marked(t, mark) {
		number, command, _ := strings.Cut(line, " ")
		if words := strings.Fields(command); slices.Contains(words[:min(2, len(words))], word) {
			pid, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("no process %q among %v", word, marked(t, mark))
	return 0
}

// descendants are a process and all that it and they started.
func descendants(root int) []int {
	list := []int{root}
	for i := 0; i < len(list); i++ {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", list[i]))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			for _, field := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil {
					list = append(list, pid)
				}
			}
		}
	}
	return list
}

// ticks is the processor time of one process.
func ticks(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// remove removes a folder that is no longer needed.
func remove(t testing.TB, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// started is when a process began, which tells it from another of its number; ""
// if it has ended.
func started(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if f[0] == "Z" || f[0] == "X" {
		return ""
	}
	return f[19]
}

// starts are the times at which processes began.
func starts(pids []int) map[int]string {
	began := map[int]string{}
	for _, pid := range pids {
		began[pid] = started(pid)
	}
	return began
}
