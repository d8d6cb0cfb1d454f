// Package gridenginetest is a real Grid Engine cell for one test, made in a few
// seconds: on hosts of its own, so that any number may run side by side, and
// gone with the test, however that ends. It must not know what is tested.
package gridenginetest

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/gridengine"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
)

// Cell is a Grid Engine cell with the queue all.q and the parallel environment
// mpi, on hosts n1, n2, … The methods break and mend it, and fail the test if
// that does not work.
type Cell struct {
	// Env is what commands need to find the cell, on its hosts.
	Env map[string]string
	// Commands is a folder with qsub and the like that enter the cell's hosts:
	// how a program outside, such as a test, is a user of it. They run as
	// whoever calls them, that is as root; so do the jobs.
	Commands string
	// UserCommands are the same as an ordinary user, whoever calls them.
	UserCommands string
	User         placetest.User // ordinary, and known on the hosts only
	Dir          string         // for files that everybody on the hosts may see
	Hosts        *placetest.Hosts

	cell *gridengine.Cell
	t    testing.TB
}

// testTimeout is how long anything may take on a machine that is busy.
const testTimeout = 2 * time.Minute

// commands are what a user of Grid Engine calls.
var commands = []string{"qsub", "qstat", "qdel", "qacct", "qconf", "qhost", "qmod", "qalter", "qhold", "qrls", "qrsh",
	"qselect", "qquota"}

// Start starts a cell of hosts with as many slots each.
func Start(t testing.TB, nodes, slots int) *Cell {
	t.Helper()
	for _, program := range []string{"/usr/sbin/sge_qmaster", "/usr/sbin/sge_execd", gridengine.Commands + "/qsub"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is needed for this test: run make deps", program)
		}
	}
	hosts := placetest.Start(t, nodes)
	dir := func(name string) string { return filepath.Join(hosts.Dir, name) }
	config := gridengine.Config{Name: "test", Dir: dir("sge"), Head: hosts.Head}
	for _, n := range hosts.Nodes {
		config.Nodes = append(config.Nodes, gridengine.Node{Place: n, CPUs: slots})
	}
	c := &Cell{Commands: dir("commands"), UserCommands: dir("user-commands"), User: hosts.User, Dir: hosts.Dir,
		Hosts: hosts,
		cell:  gridengine.New(config), t: t}
	c.Env = c.cell.UserEnv()
	var paths []string
	for _, name := range commands {
		paths = append(paths, filepath.Join(gridengine.Commands, name))
	}
	c.mustSucceed(hosts.Head.WrapCommands(c.Commands, nil, c.Env, paths...))
	c.mustSucceed(hosts.Head.WrapCommands(c.UserCommands, &c.User, c.Env, paths...))
	c.withTimeout(c.cell.Start)
	return c
}

// mustSucceed fails the test unless it worked.
func (c *Cell) mustSucceed(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// withTimeout runs something that may take a while.
func (c *Cell) withTimeout(f func(context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	c.mustSucceed(f(ctx))
}

// UserCommand is one of the ordinary user on the head of the cell.
func (c *Cell) UserCommand(argv ...string) *exec.Cmd {
	env := []string{"env", "PATH=" + gridengine.Commands + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
	for key, value := range c.Env {
		env = append(env, key+"="+value)
	}
	return c.Hosts.Head.CommandAs(context.Background(), c.User, append(env, argv...)...)
}

// StopMaster ends sge_qmaster.
func (c *Cell) StopMaster() { c.t.Helper(); c.withTimeout(c.cell.StopMaster) }

// StartMaster starts sge_qmaster, which remembers everything.
func (c *Cell) StartMaster() { c.t.Helper(); c.withTimeout(c.cell.StartMaster) }

// RestartMaster does both.
func (c *Cell) RestartMaster() { c.t.Helper(); c.withTimeout(c.cell.RestartMaster) }

// KillMaster ends sge_qmaster as a crash does.
func (c *Cell) KillMaster() { c.t.Helper(); c.withTimeout(c.cell.KillMaster) }

// KillExecd kills the sge_execd of a host; jobs there run on.
func (c *Cell) KillExecd(node string) {
	c.t.Helper()
	c.withTimeout(func(ctx context.Context) error { return c.cell.KillExecd(ctx, node) })
}

// StartExecd starts it again.
func (c *Cell) StartExecd(node string) {
	c.t.Helper()
	c.withTimeout(func(ctx context.Context) error { return c.cell.StartExecd(ctx, node) })
}

// AwaitReady waits until all hosts take jobs.
func (c *Cell) AwaitReady() { c.t.Helper(); c.withTimeout(c.cell.AwaitReady) }

// ListDown lists the daemons that do not run.
func (c *Cell) ListDown() []string {
	c.t.Helper()
	var down []string
	c.withTimeout(func(ctx context.Context) (err error) { down, err = c.cell.ListDown(ctx); return err })
	return down
}

// Stop ends all jobs and daemons in order, as a lab does.
func (c *Cell) Stop() { c.t.Helper(); c.withTimeout(c.cell.Stop) }
