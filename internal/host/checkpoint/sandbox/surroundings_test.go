package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/host/checkpoint"
	"github.com/godwit-hpc/godwit/internal/host/checkpoint/sandbox"
)

// said runs a line of shell to its end and gives what it wrote.
func said(t *testing.T, p *checkpoint.Program, line string) (string, checkpoint.Result) {
	t.Helper()
	p.Argv = []string{"sh", "-c", line}
	a, err := try(t, p, "")
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return a.end()
}

func TestAProgramFindsItsFolderAndIsItself(t *testing.T) {
	p := program(t, t.TempDir())
	p.Env = append(p.Env, "HERE="+p.Dir+"/x", "TMPDIR=/scratch/me", "PWD="+p.Dir, "ODD="+p.Dir+"0")
	got, _ := said(t, p, "pwd; echo $HERE $TMPDIR $HOME $ODD; id -u; id -g; hostname; echo "+p.Dir+"/y:"+p.Dir)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("/godwit\n/godwit/x /tmp %s %s0\n%d\n%d\n%s\n/godwit/y:/godwit\n",
		os.Getenv("HOME"), p.Dir, os.Geteuid(), os.Getegid(), name)
	if got != want {
		t.Errorf("it says\n%swant\n%s", got, want)
	}
}

func TestTheProgramMayBeNamedInAnyWay(t *testing.T) {
	work := folder(t)
	letEnd(t, work)
	for _, name := range []string{"./pipeline.sh", "bin/pipeline.sh", filepath.Join(work, "pipeline.sh"),
		filepath.Join(work, "bin", "pipeline.sh")} {
		if out, res := begin(t, work, "", name, "1").end(); res.Code != 3 || !strings.HasPrefix(out, "step 0") {
			t.Errorf("%s: %+v %q", name, res, out)
		}
	}
}

func TestOnlyTheWorkFolderAndTmpCanBeWritten(t *testing.T) {
	p := program(t, t.TempDir())
	outside := filepath.Join(libraries(t), "x")
	got, _ := said(t, p, `for f in `+outside+
		` /etc/godwit-test /usr/godwit-test /x; do echo 2>/dev/null >$f && echo wrote $f; done
		echo a >here; mkdir -p d/e; mv here d/e; echo b >/tmp/there; cat /tmp/there d/e/here; df / >/dev/null; echo $?`)
	if got != "b\na\n0\n" {
		t.Errorf("it says %q", got)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Errorf("%s was written", outside)
	}
	if text, err := os.ReadFile(filepath.Join(p.Dir, "d/e/here")); err != nil || string(text) != "a\n" {
		t.Errorf("the work folder has %q (%v)", text, err)
	}
	if _, err := os.Stat("/tmp/there"); err == nil {
		t.Error("the host's /tmp was written")
	}
}

func TestThereIsNoNetworkButTheLoopback(t *testing.T) {
	got, _ := said(t, program(t, t.TempDir()), `python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
print("loopback")
try:
    socket.create_connection(("192.0.2.1", 80), 3)
except OSError as e:
    print(e)'`)
	if got != "loopback\n[Errno 101] Network is unreachable\n" {
		t.Errorf("it says %q", got)
	}
}

func TestAProgramRunsOnItsProcessorsOnly(t *testing.T) {
	p := program(t, t.TempDir(), "sh", "-c", "nproc; sleep 1000")
	p.CPUs = []int{0}
	a, err := try(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	a.awaitLines(1)
	if got := a.text(); got != "1\n" {
		t.Errorf("it counts %q processors", got)
	}
	family := descendants(a.run.RootPID())
	if len(family) < 4 {
		t.Fatalf("the sandbox is %v", family)
	}
	for _, pid := range family {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil || !strings.Contains(string(status), "\nCpus_allowed_list:\t0\n") {
			t.Errorf("process %d may run on other processors (%v)", pid, err)
		}
	}
}

func TestFeaturesOfTheProcessorCanBeHidden(t *testing.T) {
	all, err := sandbox.CPUFeatures(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hide := "sse4_2"
	if !slices.Contains(all, hide) {
		t.Fatalf("this processor has only %v", all)
	}
	const ask = "grep -m1 ^flags /proc/cpuinfo"
	p := program(t, t.TempDir())
	open, _ := said(t, p, ask)
	p.CPUFeatures = slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == hide })
	masked, _ := said(t, p, ask)
	if !slices.Contains(strings.Fields(open), hide) || slices.Contains(strings.Fields(masked), hide) {
		t.Errorf("shown\n%s\nmasked\n%s", open, masked)
	}
	if len(strings.Fields(masked)) < len(strings.Fields(open))/2 {
		t.Errorf("more than one feature is hidden: %s", masked)
	}

	// And it moves so.
	p.Argv = []string{"sh", "-c", "echo; while [ ! -e go ]; do sleep .01; done; " + ask}
	a, err := try(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	a.awaitLines(1)
	image := a.save(true, nil)
	a.end()
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if after, res := begin(t, p.Dir, image, p.Argv...).end(); after != masked || res.Code != 0 {
		t.Errorf("after the move %+v, masked\n%s", res, after)
	}
}

func TestProcessesAndFilesAreLimited(t *testing.T) {
	p := program(t, t.TempDir())
	p.Limits = checkpoint.Limits{Processes: 20, FileSize: 1 << 20}
	got, res := said(t, p, `bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep .3 2>/dev/null; echo survived`)
	if got != "survived\n" || res.Lost || res.Signal != 0 {
		t.Errorf("after a fork bomb it says %q, %+v", got, res)
	}
	got, res = said(t, p, `head -c 2000000 /dev/zero >big; wc -c <big`)
	if !strings.HasSuffix(got, "1048576\n") {
		t.Errorf("a file of at most 1 MB has %q bytes, %+v", got, res)
	}
	got, _ = said(t, p, `(i=0; while [ $i -lt 40 ]; do sleep 1000 & i=$((i+1)); done) 2>/dev/null; set -- /proc/[0-9]*; echo $#`)
	if n, err := strconv.Atoi(strings.TrimSpace(got)); err != nil || n > 20 || n < 10 {
		t.Errorf("of 40 processes and a limit of 20 there are %q", got)
	}
}

func TestFoldersWithLongNames(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 50))
	p := program(t, filepath.Join(long, "work"), "sh", "-c", "echo; while [ ! -e go ]; do sleep .01; done")
	p.Scratch = filepath.Join(long, "scratch")
	for _, dir := range []string{p.Dir, p.Scratch} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a, err := try(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	a.awaitLines(1)
	a.save(true, nil)
	a.end()
}

func TestWhatOnlyAFurtherGroupMayReadCanBeRead(t *testing.T) {
	// Made by root for the group of the ordinary user.
	got, _ := said(t, program(t, t.TempDir()), "cat "+filepath.Join(programs(t), forAGroup))
	if got != forAGroup {
		t.Errorf("it reads %q", got)
	}
}

func TestTheTimeOfAllProcessesIsCounted(t *testing.T) {
	// The same work takes more processor time when others use the machine.
	_, before := plain(t, "compute", "800")
	_, res := begin(t, folder(t), "", "sh", "-c", "./cost compute 400 & ./cost compute 400 & wait").end()
	_, after := plain(t, "compute", "800")
	if res.CPU < min(before, after)*7/10 || res.CPU > max(before, after)*3 {
		t.Errorf("counted %v, outside it takes %v and %v", res.CPU, before, after)
	}
}
