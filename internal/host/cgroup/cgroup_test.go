package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
)

// The test binary runs itself for what must happen in another process.
func TestMain(m *testing.M) {
	switch os.Getenv("CGROUP_TEST_AS") {
	case "nobody":
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil &&
			os.Getuid() == 0 {
			fmt.Println(err)
			os.Exit(1)
		}
		a := ProbeAbility()
		_, err := CreateGroup("refused", Limits{Pids: 5})
		fmt.Printf("any=%v pids=%v\nwhy=%s\nerr=%v\n", a.IsUsable(), a.Pids, a.Why, err)
		os.Exit(0)
	case "guest": // in a group that root handed to nobody
		os.Stdin.Read(make([]byte, 1))
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(65534), syscall.Setuid(65534)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		guest()
		os.Exit(0)
	case "spinner": // burns processor time until it is ended
		os.Stdin.Read(make([]byte, 1)) // once it is in its group
		for n := 0; ; n++ {
		}
	case "forker": // counts how many children it can have
		os.Stdin.Read(make([]byte, 1))
		n := 0
		for range 100 {
			if c := exec.Command("sleep", "1000"); c.Start() != nil {
				break
			}
			n++
		}
		fmt.Println(n)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// again runs this binary in a role. It reads one byte before it does anything.
func again(t *testing.T, role string) (cmd *exec.Cmd, begin func()) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CGROUP_TEST_AS="+role)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return cmd, func() { in.Write([]byte{1}) }
}

// create makes a group that is gone at the end of the test.
func create(t *testing.T, l Limits) *Group {
	t.Helper()
	name := fmt.Sprintf("test-%d-%s", os.Getpid(), strings.ToLower(strings.Map(onlyLetters, t.Name())))
	g, err := CreateGroup(name[:min(len(name), 90)], l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.KillAll()
		if err := g.RemoveGroup(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func onlyLetters(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return -1
}

// able is what can be had here. The machine that tests run on gives everything
// to root; to others it may give nothing, and then there is a reason.
func able(t *testing.T) Ability {
	t.Helper()
	a := ProbeAbility()
	if os.Getuid() == 0 && !(a.IsUsable() && a.Kill && a.Usage && a.Pids) {
		t.Fatalf("root has no cgroups here: %s", a.Why)
	}
	if !a.IsUsable() && a.Why == "" {
		t.Fatal("no cgroups, and no reason why")
	}
	return a
}

func TestWhatIsNotAvailableHasAReason(t *testing.T) {
	a := able(t)
	t.Logf("%+v", a)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CGROUP_TEST_AS=nobody")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	text := string(out)
	t.Log(text)
	if !strings.Contains(text, "any=false") || !strings.Contains(text, "number of processes: ") ||
		strings.Contains(text, "err=<nil>") {
		t.Errorf("an ordinary user is told %q", text)
	}
}

func TestAGroupMeasuresAndEndsWhatIsInIt(t *testing.T) {
	if a := able(t); !a.Usage || !a.Kill {
		return // said why not, above
	}
	g := create(t, Limits{})
	cmd, begin := again(t, "spinner")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.AddProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	begin()
	before, err := g.UsedCPU()
	if err != nil {
		t.Fatal(err)
	}
	clocktest.WaitFor(t, "processor time to be counted", func() bool {
		now, err := g.UsedCPU()
		return err == nil && now > before+20*time.Millisecond
	})
	if pids, err := g.ListPids(); err != nil || !slices.Equal(pids, []int{cmd.Process.Pid}) {
		t.Errorf("processes %v, %v, want %d", pids, err, cmd.Process.Pid)
	}
	if err := g.KillAll(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended with %v", err)
	}
	if pids, err := g.ListPids(); err != nil || len(pids) > 0 {
		t.Errorf("processes %v, %v after the end", pids, err)
	}
	for range 2 { // the second time it is gone already
		if err := g.RemoveGroup(); err != nil {
			t.Error(err)
		}
		if err := g.KillAll(); err != nil {
			t.Error(err)
		}
	}
	for _, f := range g.folders {
		if pathExists(f.path) {
			t.Errorf("%s is still there", f.path)
		}
	}
}

func TestAGroupHoldsAForkBomb(t *testing.T) {
	if a := able(t); !a.Pids {
		return
	}
	const most = 30
	g := create(t, Limits{Pids: most})
	cmd, begin := again(t, "forker")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.AddProcess(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	begin()
	var n int
	if _, err := fmt.Fscan(out, &n); err != nil {
		t.Fatal(err)
	}
	// Its own threads count too.
	if n == 0 || n >= most {
		t.Errorf("%d children under a limit of %d", n, most)
	}
	if err := g.KillAll(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	clocktest.WaitFor(t, "the group to be empty",
		func() bool { pids, err := g.ListPids(); return err == nil && len(pids) == 0 })
}

func TestAGroupWithAllLimitsIsFoundAgainByAnotherProcess(t *testing.T) {
	a := able(t)
	if !(a.CPU && a.CPUs && a.Memory && a.Pids) {
		if os.Getuid() == 0 {
			t.Fatalf("root does not get all limits here: %s", a.Why)
		}
		return
	}
	l := Limits{CPU: 0.5, CPUs: []int{0}, Memory: 64 << 20, Pids: 50}
	g := create(t, l)
	other, err := OpenGroup(g.String())
	if err != nil {
		t.Fatal(err)
	}
	if !other.HasController("pids") || other.HasController("blkio") {
		t.Errorf("%v has other controllers than were asked for", other)
	}
	if other.String() != g.String() {
		t.Errorf("%q was read as %q", g, other)
	}
	cmd, _ := again(t, "spinner")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := other.AddProcess(cmd.Process.Pid); err != nil {
		t.Error(err)
	}
	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"cpu", "cpuset", "memory", "pids"} {
		if path := parseOwn(own)[c]; !strings.HasPrefix(filepath.Base(path), prefix) &&
			!strings.HasPrefix(filepath.Base(parseOwn(own)[""]), prefix) {
			t.Errorf("the process is in %s of %s", path, c)
		}
	}
	// Made again it is the same one, with the new limits.
	l.Memory, l.CPU, l.Pids = 128<<20, 1.5, 60
	name := strings.TrimPrefix(filepath.Base(g.folders[0].path), prefix)
	if again, err := CreateGroup(name, l); err != nil || again.String() != g.String() {
		t.Errorf("made again it is %v, %v", again, err)
	}
	other.KillAll()
	cmd.Wait()
}

func TestALimitThatCannotBeKeptLeavesNoGroupBehind(t *testing.T) {
	if a := able(t); !a.CPUs {
		return
	}
	name := fmt.Sprintf("test-%d-impossible", os.Getpid())
	if _, err := CreateGroup(name, Limits{CPUs: []int{4000}}); err == nil {
		t.Error("no error for a processor that does not exist")
	}
	h, err := thisHost()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range h.places {
		if path := filepath.Join(p.base, prefix+name); pathExists(path) {
			t.Errorf("%s was left behind", path)
		}
	}
}

func TestOnlyOurOwnGroupsAreOpened(t *testing.T) {
	for _, s := range []string{
		"", "pids", "pids=/sys/fs/cgroup/pids", "pids=/sys/fs/cgroup/pids/other", "pids=sys/godwit-a",
		"pids=/sys/fs/cgroup/pids/godwit-a/..", "pids=/sys/fs/cgroup/pids/godwit-a:", "pids=" + t.TempDir() + "/godwit-a",
		"pids=/sys/fs/cgroup/pids/../../../../etc/godwit-a",
	} {
		if g, err := OpenGroup(s); err == nil {
			t.Errorf("%q was opened as %v", s, g)
		}
	}
	for _, name := range []string{"", "..", "a/b", "../a", ".a", "a b", strings.Repeat("a", 200)} {
		if _, err := CreateGroup(name, Limits{}); err == nil {
			t.Errorf("a group of the name %q was made", name)
		}
	}
}
