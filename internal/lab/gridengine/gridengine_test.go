package gridengine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/gridengine/gridenginetest"
)

// until waits for something that takes its time.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1200 {
		if ok() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}

// run runs a command as the ordinary user.
func run(t *testing.T, c *gridenginetest.Cell, argv ...string) string {
	t.Helper()
	out, err := c.UserCommand(argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// home gives tests the files in the user's home.
type home struct {
	t   *testing.T
	dir string
}

func (h home) exists(name string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(h.dir, name)); return err == nil }
}

func (h home) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o755); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(text)
}

// ended says whether the accounts know of a job that ended well.
func ended(c *gridenginetest.Cell, id string) func() bool {
	return func() bool {
		out, err := c.UserCommand("qacct", "-j", id).CombinedOutput()
		return err == nil && strings.Contains(string(out), "exit_status  0")
	}
}

func TestAnOrdinaryUsersJobOutlivesTheMaster(t *testing.T) {
	t.Parallel()
	c := gridenginetest.Start(t, 2, 2)
	h := home{t, c.User.Home}
	h.write("wide", "#!/bin/sh\nid -un\nsort $PE_HOSTFILE\nprintenv TMPDIR\n[ $HOSTNAME = n1 ] && other=n2 || "+
		"other=n1\nqrsh -inherit $other printenv TMPDIR\n")
	wide := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "wide.out", "-pe", "mpi", "4", "wide")
	until(t, "a job on both hosts", ended(c, wide))
	for _, want := range []string{"alice", "n1 2", "n2 2", "/tmp/n1/", "/tmp/n2/"} {
		if out := h.read("wide.out"); !strings.Contains(out, want) {
			t.Errorf("the job wrote %q, without %q", out, want)
		}
	}
	h.write("long", "#!/bin/sh\ntouch begun\nuntil [ -e go ]; do sleep 0.1; done\necho done\n")
	long := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "long.out", "long")
	until(t, "the job", h.exists("begun"))
	c.RestartMaster()
	h.write("go", "")
	until(t, "its end", ended(c, long))
	if out := h.read("long.out"); out != "done\n" {
		t.Errorf("the job wrote %q", out)
	}
}

func TestAJobOutlivesTheDaemonOfItsHost(t *testing.T) {
	t.Parallel()
	c := gridenginetest.Start(t, 1, 1)
	h := home{t, c.User.Home}
	h.write("job", "#!/bin/sh\ntouch begun\nuntil [ -e go ]; do sleep 0.1; done\ntouch ended\n")
	id := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "out", "job")
	until(t, "the job", h.exists("begun"))
	c.KillExecd("n1")
	if down := c.ListDown(); !slices.Equal(down, []string{"sge_execd on n1"}) {
		t.Errorf("what is down is %q", down)
	}
	h.write("go", "")
	until(t, "the job that goes on there", h.exists("ended"))
	c.StartExecd("n1")
	until(t, "its end in the accounts", ended(c, id))
	c.AwaitReady()
	c.KillMaster()
	c.StartMaster() // hosts take half a minute to find it again
}

func TestNothingIsLeftOfAStoppedCell(t *testing.T) {
	t.Parallel()
	c := gridenginetest.Start(t, 1, 1)
	h := home{t, c.User.Home}
	h.write("job", "#!/bin/sh\ntouch begun\nsleep 1000\n")
	run(t, c, "qsub", "-cwd", "-j", "y", "-o", "out", "job")
	run(t, c, "qsub", "-cwd", "-j", "y", "-o", "out", "job")
	until(t, "the job", h.exists("begun"))
	c.Stop()
	if down := c.ListDown(); !slices.Equal(down, []string{"sge_qmaster on head", "sge_execd on n1"}) {
		t.Errorf("stopped, but what is down is %q", down)
	}
	left, err := c.Hosts.Head.Command(t.Context(), "ps", "-e", "-o", "comm=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(left)) {
		if !slices.Contains([]string{"sh", "cat", "sleep", "ps"}, name) {
			t.Errorf("%s is left of the cell", name)
		}
	}
	if n := strings.Count(string(left), "sleep"); n != 1 { // that of the host itself
		t.Errorf("%d jobs are left", n-1)
	}
}
