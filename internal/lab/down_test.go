package lab

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
)

// remains lists all that is left of a lab.
func remains(t *testing.T, name string) []string {
	t.Helper()
	var left []string
	g, err := findGroups(BaseFolder(), name)
	must(t, err)
	left = append(left, g.lab.ExistingFolders()...)
	if entries, err := os.ReadDir(BaseFolder()); err == nil {
		for _, e := range entries {
			left = append(left, filepath.Join(BaseFolder(), e.Name()))
		}
	}
	procs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	own := "/proc/" + strconv.Itoa(os.Getpid()) + "/"
	for _, path := range procs {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(name)) && !strings.HasPrefix(path, own) {
			left = append(left, path+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	must(t, err)
	if strings.Contains(string(mounts), name) {
		left = append(left, "a mount")
	}
	return left
}

func links(t *testing.T) string {
	t.Helper()
	dev, err := os.ReadFile("/proc/net/dev")
	must(t, err)
	var names []string
	for line := range strings.Lines(string(dev)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestNothingIsLeft(t *testing.T) {
	before := links(t)
	l := bed(t, small)
	if links(t) != before {
		t.Errorf("the machine's own network changed: %s", links(t))
	}
	must(t, host(t, l, "north1").SetLoad(context.Background(), 1))
	if len(remains(t, l.Name)) < 5 {
		t.Fatal("the test does not find what there is")
	}
	// As after a power cut in small: all its processes are gone, all else stays.
	must(t, l.groups.killAll())
	clocktest.WaitFor(t, "the host to be gone", func() bool { return !host(t, l, "north1").IsUp() })
	must(t, RemoveLab(context.Background(), l.Name))
	if left := remains(t, l.Name); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	must(t, RemoveLab(context.Background(), l.Name)) // again
	if _, err := Open(l.Name); err == nil {
		t.Error("a lab was opened that is gone")
	}
}

func TestWhoIsKilledWhileMakingALabLeavesNothingThatIsNotFound(t *testing.T) {
	needRoot(t)
	t.Setenv("GODWIT_LABS", labsFolder(t))
	file := filepath.Join(t.TempDir(), "plan.yaml")
	must(t, os.WriteFile(file, []byte(small), 0o600))
	name := labName(t)
	t.Cleanup(func() { RemoveLab(context.Background(), name) })
	make := func() *exec.Cmd {
		cmd := exec.Command(testBinary(t), "part-up", file, name)
		cmd.Stderr = os.Stderr
		return cmd
	}
	begin := time.Now()
	must(t, make().Run()) // and it stays
	whole := time.Since(begin)
	must(t, make().Run()) // in place of the first one
	const times = 12
	for i := range times {
		cmd := make()
		must(t, cmd.Start())
		at := time.Duration(rand.Int64N(int64(whole)))
		time.Sleep(at) // any moment
		cmd.Process.Kill()
		cmd.Wait()
		if i%3 == 2 {
			continue // the next one has to cope with what is left
		}
		must(t, RemoveLab(context.Background(), name))
		// A process that was just started ends by itself, a moment later.
		clocktest.WaitFor(t, fmt.Sprintf("nothing to be left of a lab whose maker was killed after %v: %q", at, remains(t, name)),
			func() bool { return len(remains(t, name)) == 0 })
	}
}

func TestOfAMakerThatWasKilledWithTheLockInItsHandNothingIsLeft(t *testing.T) {
	needRoot(t)
	t.Setenv("GODWIT_LABS", labsFolder(t))
	name := labName(t)
	unlock, err := lockLab(context.Background(), BaseFolder(), name)
	must(t, err)
	unlock() // as the kernel does it for the dead
	must(t, RemoveLab(context.Background(), name))
	if left := remains(t, name); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestWhatIsLeftOfALabIsFoundWithoutItsName(t *testing.T) {
	needRoot(t)
	t.Setenv("GODWIT_LABS", labsFolder(t))
	name := labName(t)
	t.Cleanup(func() { RemoveLab(context.Background(), name) })
	found := func(where string, want ...string) {
		t.Helper()
		names, err := ListRemains()
		must(t, err)
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", where, names, want)
		}
	}
	found("at first")
	unlock, err := lockLab(context.Background(), BaseFolder(), name)
	must(t, err)
	unlock()
	found("a lock", name)
	g, err := findGroups(BaseFolder(), name)
	must(t, err)
	must(t, g.makeGroups())
	found("a lock and cgroups", name)
	must(t, os.Remove(lockPath(BaseFolder(), name)))
	found("cgroups", name)
	must(t, RemoveLab(context.Background(), name))
	found("in the end")
}

func TestAFolderThatIsNoLabIsLeftAlone(t *testing.T) {
	needRoot(t)
	t.Setenv("GODWIT_LABS", labsFolder(t))
	name := labName(t)
	dir := filepath.Join(BaseFolder(), name)
	must(t, os.MkdirAll(filepath.Join(dir, "years of work"), 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	names, err := ListRemains()
	must(t, err)
	list, err := ListLabs()
	must(t, err)
	if len(names)+len(list) > 0 {
		t.Errorf("labs are %q and %q", names, list)
	}
	if err := RemoveLab(context.Background(), name); !badinput.Is(err) {
		t.Errorf("removing it ends with %v", err)
	}
	p, err := ReadPlan("p.yaml", []byte("name: "+name+"\nclusters: [{name: a, manager: none, hosts: 1}]\n"))
	must(t, err)
	if _, err := CreateLab(context.Background(), p, Options{NoManager: true}); !badinput.Is(err) {
		t.Errorf("making it ends with %v", err)
	}
	if left := remains(t, name); len(left) != 1 || isGone(filepath.Join(dir, "years of work")) {
		t.Errorf("there is %q", left)
	}
}

// labsFolder is a folder into which users of labs may look.
func labsFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gwlabs-")
	must(t, err)
	t.Cleanup(func() { os.Remove(dir) }) // and if it is not empty that is a mistake to be seen
	must(t, os.Chmod(dir, 0o755))
	return dir
}
