package gridengine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/lab/gridengine/gridenginetest"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
)

// run runs a command as the ordinary user.
func run(t *testing.T, c *gridenginetest.Cell, argv ...string) string {
	t.Helper()
	return placetest.MustOutput(t, c.UserCommand(argv...))
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
	h := placetest.UserHome{T: t, Dir: c.User.Home}
	h.WriteFile("wide", "#!/bin/sh\nid -un\nsort $PE_HOSTFILE\nprintenv TMPDIR\n[ $HOSTNAME = n1 ] && other=n2 || "+
		"other=n1\nqrsh -inherit $other printenv TMPDIR\n")
	wide := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "wide.out", "-pe", "mpi", "4", "wide")
	clocktest.WaitFor(t, "a job on both hosts", ended(c, wide))
	for _, want := range []string{"alice", "n1 2", "n2 2", "/tmp/n1/", "/tmp/n2/"} {
		if out := h.ReadFile("wide.out"); !strings.Contains(out, want) {
			t.Errorf("the job wrote %q, without %q", out, want)
		}
	}
	h.WriteFile("long", "#!/bin/sh\ntouch begun\nuntil [ -e go ]; do sleep 0.1; done\necho done\n")
	long := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "long.out", "long")
	clocktest.WaitFor(t, "the job", h.HasFile("begun"))
	c.RestartMaster()
	h.WriteFile("go", "")
	clocktest.WaitFor(t, "its end", ended(c, long))
	if out := h.ReadFile("long.out"); out != "done\n" {
		t.Errorf("the job wrote %q", out)
	}
}

func TestAJobOutlivesTheDaemonOfItsHost(t *testing.T) {
	t.Parallel()
	c := gridenginetest.Start(t, 1, 1)
	h := placetest.UserHome{T: t, Dir: c.User.Home}
	h.WriteFile("job", "#!/bin/sh\ntouch begun\nuntil [ -e go ]; do sleep 0.1; done\ntouch ended\n")
	id := run(t, c, "qsub", "-terse", "-cwd", "-j", "y", "-o", "out", "job")
	clocktest.WaitFor(t, "the job", h.HasFile("begun"))
	c.KillExecd("n1")
	if down := c.ListDown(); !slices.Equal(down, []string{"sge_execd on n1"}) {
		t.Errorf("what is down is %q", down)
	}
	h.WriteFile("go", "")
	clocktest.WaitFor(t, "the job that goes on there", h.HasFile("ended"))
	c.StartExecd("n1")
	clocktest.WaitFor(t, "its end in the accounts", ended(c, id))
	c.AwaitReady()
	c.KillMaster()
	c.StartMaster() // hosts take half a minute to find it again
}

func TestNothingIsLeftOfAStoppedCell(t *testing.T) {
	t.Parallel()
	c := gridenginetest.Start(t, 1, 1)
	h := placetest.UserHome{T: t, Dir: c.User.Home}
	h.WriteFile("job", "#!/bin/sh\ntouch begun\nsleep 1000\n")
	run(t, c, "qsub", "-cwd", "-j", "y", "-o", "out", "job")
	run(t, c, "qsub", "-cwd", "-j", "y", "-o", "out", "job")
	clocktest.WaitFor(t, "the job", h.HasFile("begun"))
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
