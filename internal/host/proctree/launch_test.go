package proctree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/host/cgroup"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"golang.org/x/sys/unix"
)

var background = context.Background()

func uintptrOf(s string) uintptr {
	b := append([]byte(s), 0)
	return uintptr(unsafe.Pointer(&b[0]))
}

func TestAProgramRunsInTheSurroundingsAskedFor(t *testing.T) {
	tree := newTree(t)
	s := role("surroundings")
	s.Dir = t.TempDir()
	s.CPUs = []int{0}
	s.Nice = 3
	s.Env = append(s.Env, Variable+"=another")
	out := output(t, &s)
	p := mustStart(t, tree, s)
	lines := bufio.NewScanner(out)
	lines.Scan()
	want := fmt.Sprintf("cpus=1 cpu0=true nice=%d leader=true dir=%s mark=%s", ourNice(t)+3, s.Dir, tree.mark)
	if lines.Text() != want {
		t.Errorf("%s\nwant\n%s", lines.Text(), want)
	}
	lines.Scan()
	if lines.Text() != "stdin is empty" {
		t.Error(lines.Text())
	}
	if e := ended(t, p); e.Code != 0 || e.CPU <= 0 {
		t.Errorf("ended with %+v", e)
	}
	// What was set for the child has not stuck to us.
	if n := ourNice(t); n >= 3 && n == ourNice(t)+3 {
		t.Errorf("our niceness is %d", n)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil || set.Count() < 2 && cpus(t) > 1 {
		t.Errorf("we run on %d processors, %v", set.Count(), err)
	}
}

func ourNice(t *testing.T) int {
	t.Helper()
	n, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return 20 - n
}

// cpus counts the processors that the parent of the tests may use.
func cpus(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getppid(), &set); err != nil {
		t.Fatal(err)
	}
	return set.Count()
}

func TestExitCodesAreThoseOfAShell(t *testing.T) {
	tree := newTree(t)
	for script, want := range map[string]Exit{
		"exit 0":        {},
		"exit 7":        {Code: 7},
		"exit 255":      {Code: 255},
		"kill -9 $$":    {Code: 137, Signal: 9},
		"kill -TERM $$": {Code: 143, Signal: 15},
	} {
		got := ended(t, mustStart(t, tree, shell(script)))
		got.CPU = 0
		if got != want {
			t.Errorf("%s: %+v, want %+v", script, got, want)
		}
	}
}

func TestAProgramThatCannotBeExecutedSaysWhy(t *testing.T) {
	tree := newTree(t)
	dir := t.TempDir()
	writeFile(t, dir, "plain", "echo hello\n", 0o644)
	writeFile(t, dir, "binary", "\x01\x02\x00\x03", 0o755)
	writeFile(t, dir, "empty", "", 0o755)
	writeFile(t, dir, "lost", "#!/no/such/interpreter -x\n", 0o755)
	writeFile(t, dir, "windows", "#!/bin/sh\r\necho\r\n", 0o755)
	writeFile(t, dir, "byfolder", "#!/tmp\n", 0o755)
	writeFile(t, dir, "arm", armProgram(t), 0o755)
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		argv []string
		code int
		want string
	}{
		{nil, 127, "no program"},
		{[]string{""}, 127, "no program"},
		{[]string{"no-such-program-at-all"}, 127, "no-such-program-at-all: not found in PATH (/usr/bin, /bin)"},
		{[]string{"plain"}, 127, "the file in the working directory is ./plain"},
		{[]string{"./nothing"}, 127, "./nothing: no such file"},
		{[]string{"./dangling"}, 127, "link"},
		{[]string{"./plain/x"}, 127, "is a file, not a folder"},
		{[]string{"./plain"}, 126, "not executable"},
		{[]string{"/tmp"}, 126, "is a folder"},
		{[]string{"/dev/null"}, 126, "not a file"},
		{[]string{"./binary"}, 126, "neither a program nor a script"},
		{[]string{"./empty"}, 126, "empty"},
		{[]string{"./lost"}, 127, "its interpreter /no/such/interpreter does not exist"},
		{[]string{"./windows"}, 127, "Windows"},
		{[]string{"./byfolder"}, 126, "its interpreter /tmp cannot be executed"},
		{[]string{"./arm"}, 126, "is a program for"},
		{[]string{"echo", strings.Repeat("x", 10<<20)}, 126, "too long"},
	} {
		s := role()
		s.Argv, s.Dir = c.argv, dir
		_, err := tree.Start(s)
		var launch *checkpoint.LaunchError
		if !errors.As(err, &launch) || launch.Code != c.code || !strings.Contains(launch.Why, c.want) {
			t.Errorf("%.40q: %v (%+v), want %d and %q", c.argv, err, launch, c.code, c.want)
		}
		// Held for its limits it fails no differently.
		s.Limits.FileSize = 1 << 40
		if _, again := tree.Start(s); again == nil || again.Error() != err.Error() {
			t.Errorf("%.40q: with limits %v", c.argv, again)
		}
	}
	s := role("sleep")
	s.Dir = filepath.Join(dir, "missing")
	var launch *checkpoint.LaunchError
	if _, err := tree.Start(s); err == nil || errors.As(err, &launch) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a folder that is not there: %v", err)
	}
	s = role("sleep")
	s.CPUs = []int{900}
	if _, err := tree.Start(s); err == nil || !strings.Contains(err.Error(), "900") {
		t.Errorf("a processor that is not there: %v", err)
	}
}

// armProgram is the smallest header of a program for another machine.
func armProgram(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	head := []byte(string(b[:4096]))
	head[18], head[19] = 243, 0 // RISC-V
	return string(head)
}

func TestAScriptWithoutAnInterpreterIsRunByTheShell(t *testing.T) {
	tree := newTree(t)
	s := role()
	s.Dir = t.TempDir()
	writeFile(t, s.Dir, "script", "echo $0 $1; exit 3\n", 0o755)
	s.Argv = []string{"./script", "one"}
	out := output(t, &s)
	if e := ended(t, mustStart(t, tree, s)); e.Code != 3 {
		t.Errorf("ended with %+v", e)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != filepath.Join(s.Dir, "script")+" one\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestLimitsHoldForTheProgramAndNotForUs(t *testing.T) {
	tree := newTree(t)
	s := shell("ulimit -f; ulimit -d; ulimit -S -n; exec dd if=/dev/zero of=big bs=1000 count=100 2>/dev/null")
	s.Dir = t.TempDir()
	s.Limits = checkpoint.Limits{FileSize: 51200, Memory: 1 << 30}
	out := output(t, &s)
	p := mustStart(t, tree, s)
	if e := ended(t, p); e.Signal != int(unix.SIGXFSZ) {
		t.Errorf("ended with %+v", e)
	}
	s.Stdout.Close()
	text, err := io.ReadAll(out)
	if err != nil || !strings.HasPrefix(string(text), "100\n1048576\n") {
		t.Errorf("limits %q, %v", text, err)
	}
	info, err := os.Stat(filepath.Join(s.Dir, "big"))
	if err != nil || info.Size() != 51200 {
		t.Errorf("%v, %v", info, err)
	}
	var mine unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &mine); err != nil || mine.Cur == 51200 {
		t.Errorf("our own limit is %+v, %v", mine, err)
	}
}

func TestAnOrdinaryUserHasALimitOfProcesses(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "nobody", fmt.Sprintf("test-%d-nobody", os.Getpid()))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "annot fork") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAProgramIsInItsCgroupFromTheFirstInstruction(t *testing.T) {
	t.Run("Started", func(t *testing.T) { inItsCgroup(t, cgroup.Limits{}) })
	if cgroup.ProbeAbility().Pids {
		t.Run("Moved", func(t *testing.T) { inItsCgroup(t, cgroup.Limits{Pids: 1000}) })
	}
}

func inItsCgroup(t *testing.T, l cgroup.Limits) {
	g, err := cgroup.CreateGroup(fmt.Sprintf("proctree-%d", os.Getpid()), l)
	if err != nil {
		if os.Getuid() != 0 {
			return // an ordinary user may not have any
		}
		t.Fatal(err)
	}
	defer g.RemoveGroup()
	tree := newTree(t)
	tree.UseCgroup(g)
	s := shell("cat /proc/self/cgroup")
	s.Cgroup = g
	out := output(t, &s)
	ended(t, mustStart(t, tree, s))
	s.Stdout.Close()
	if text, err := io.ReadAll(out); err != nil || !strings.Contains(string(text), "godwit-proctree-") {
		t.Errorf("%s%v", text, err)
	}
	s = role("burn", "100")
	s.Cgroup = g
	before := tree.ReadUsage().CPU
	ended(t, mustStart(t, tree, s))
	if used := tree.ReadUsage().CPU - before; used < 99e6 {
		t.Errorf("the cgroup says that %v was used", used)
	}
}

func TestAProgramDiesWithTheProcessThatStartedIt(t *testing.T) {
	mark := fmt.Sprintf("test-%d-deathsig", os.Getpid())
	cmd := exec.Command("/proc/self/exe", "launcher", mark)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if pids, err := MarkedProcesses(mark); err != nil || len(pids) != 1 || fmt.Sprintf("%d <nil>\n", pids[0]) != line {
		t.Errorf("%v, %v; the launcher says %s", pids, err, line)
	}
	cmd.Process.Kill()
	cmd.Wait()
	clocktest.WaitFor(t, "the program to die",
		func() bool { pids, err := MarkedProcesses(mark); return err == nil && len(pids) == 0 })
}

func TestAFolderOfPathThatMayNotBeReadHasNoProgramInIt(t *testing.T) {
	closed := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // root may look into it: be somebody else, as far as files go
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if _, err := unix.SetfsuidRetUid(54321); err != nil {
			t.Fatal(err)
		}
		defer unix.SetfsuidRetUid(0) // it is what it was
	}
	_, err := findProgram([]string{"nosuchprogram"}, []string{"PATH=" + closed + ":/usr/bin:/bin"}, "/")
	var launch *checkpoint.LaunchError
	if !errors.As(err, &launch) || launch.Code != notFound ||
		!strings.Contains(launch.Why, "nosuchprogram: not found in PATH") {
		t.Errorf("said %+v", err)
	}
}
