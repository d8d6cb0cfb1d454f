// Package slurmtest is a real Slurm cluster for one test, made in a second or
// two: on hosts of its own, so that any number may run side by side, and gone
// with the test, however that ends. It must not know what is tested.
package slurmtest

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/munge"
	"github.com/godwit-hpc/godwit/internal/lab/place/placetest"
	"github.com/godwit-hpc/godwit/internal/lab/slurm"
)

// Cluster is a Slurm cluster with one partition, batch, on nodes n1, n2, …
// The methods of slurm.Cluster break and mend it; those here do the same and
// fail the test if that does not work.
type Cluster struct {
	// Env is what commands need to find the cluster, on its hosts.
	Env map[string]string
	// Commands is a folder with sbatch and the like that enter the cluster's
	// hosts: how a program outside, such as a test, is a user of it. They run
	// as whoever calls them, that is as root; so do the jobs.
	Commands string
	// UserCommands are the same as an ordinary user, whoever calls them.
	UserCommands string
	User         placetest.User // ordinary, and known on the hosts only
	Dir          string         // for files that everybody on the hosts may see
	Hosts        *placetest.Hosts

	slurm *slurm.Cluster
	t     testing.TB
}

// testTimeout is how long anything may take on a machine that is busy.
const testTimeout = 2 * time.Minute

// commands are what a user of Slurm calls.
var commands = []string{"sbatch", "squeue", "scancel", "scontrol", "sinfo", "srun", "salloc", "sacct", "sstat", "sprio",
	"sshare"}

// Start starts a cluster of nodes with cpus processors each. Further lines of
// slurm.conf win over those of the lab.
func Start(t testing.TB, nodes, cpus int, more ...string) *Cluster {
	t.Helper()
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is needed for this test: run make deps", program)
		}
	}
	hosts := placetest.Start(t, nodes)
	dir := func(name string) string { return filepath.Join(hosts.Dir, name) }
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	m := munge.New(dir("munge"), hosts.Head)
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	config := slurm.Config{Name: "test", Dir: dir("slurm"), Head: hosts.Head, Munge: m.SocketPath(), More: more}
	for _, n := range hosts.Nodes {
		config.Nodes = append(config.Nodes, slurm.Node{Place: n, CPUs: cpus})
	}
	c := &Cluster{Commands: dir("commands"), UserCommands: dir("user-commands"), User: hosts.User, Dir: hosts.Dir,
		Hosts: hosts,
		slurm: slurm.New(config), t: t}
	c.Env = c.slurm.UserEnv()
	c.mustSucceed(hosts.Head.WrapCommands(c.Commands, nil, c.Env, commands...))
	c.mustSucceed(hosts.Head.WrapCommands(c.UserCommands, &c.User, c.Env, commands...))
	c.mustSucceed(c.slurm.Start(ctx))
	return c
}

// mustSucceed fails the test unless it worked.
func (c *Cluster) mustSucceed(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// withTimeout runs something that may take a while.
func (c *Cluster) withTimeout(f func(context.Context) error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	c.mustSucceed(f(ctx))
}

// UserCommand is one of the ordinary user on the head of the cluster.
func (c *Cluster) UserCommand(argv ...string) *exec.Cmd {
	env := []string{"env"}
	for key, value := range c.Env {
		env = append(env, key+"="+value)
	}
	return c.Hosts.Head.CommandAs(context.Background(), c.User, append(env, argv...)...)
}

// StopController ends slurmctld.
func (c *Cluster) StopController() { c.t.Helper(); c.withTimeout(c.slurm.StopController) }

// StartController starts slurmctld, which remembers everything.
func (c *Cluster) StartController() { c.t.Helper(); c.withTimeout(c.slurm.StartController) }

// RestartController does both.
func (c *Cluster) RestartController() { c.t.Helper(); c.withTimeout(c.slurm.RestartController) }

// KillController ends slurmctld as a crash does.
func (c *Cluster) KillController() { c.t.Helper(); c.withTimeout(c.slurm.KillController) }

// KillNodeDaemon kills the slurmd of a node; jobs there run on.
func (c *Cluster) KillNodeDaemon(node string) {
	c.t.Helper()
	c.withTimeout(func(ctx context.Context) error { return c.slurm.KillNodeDaemon(ctx, node) })
}

// StartNodeDaemon starts it again.
func (c *Cluster) StartNodeDaemon(node string) {
	c.t.Helper()
	c.withTimeout(func(ctx context.Context) error { return c.slurm.StartNodeDaemon(ctx, node) })
}

// AwaitReady waits until all nodes take jobs.
func (c *Cluster) AwaitReady() { c.t.Helper(); c.withTimeout(c.slurm.AwaitReady) }

// ListDown lists the daemons that do not run.
func (c *Cluster) ListDown() []string {
	c.t.Helper()
	var down []string
	c.withTimeout(func(ctx context.Context) (err error) { down, err = c.slurm.ListDown(ctx); return err })
	return down
}

// Stop ends all jobs and daemons in order, as a lab does.
func (c *Cluster) Stop() { c.t.Helper(); c.withTimeout(c.slurm.Stop) }
