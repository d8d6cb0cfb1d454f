// Package slurm runs a Slurm cluster inside a lab: it writes the configuration,
// starts slurmctld on one host and a slurmd on each of the others, finds them
// again, breaks and mends them when asked, and ends them. The cluster decides as
// fast as Slurm can, since a lab is there to be watched. It must not know what
// jobs run, nor who submits them.
package slurm

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// Config says what the cluster consists of.
type Config struct {
	Name  string // of letters and digits
	Dir   string // for its files, the same on all hosts
	Head  place.Place
	Nodes []Node
	Munge string // socket of the munged that all hosts reach
	Port  int    // of slurmctld; 0: Slurm's own. Two clusters with one head need two
	// NodeTimeout is after how many seconds of silence a node is called down;
	// 0: 15. Slow machines are silent at times.
	NodeTimeout int
	More        []string // further lines for slurm.conf, which win over ours
}

// Node is a host that runs jobs.
type Node struct {
	place.Place
	CPUs   int
	Memory int // in MB; 0: 2000
}

// Cluster is a Slurm cluster, running or not.
type Cluster struct {
	config     Config
	controller place.Daemon
	nodes      map[string]*place.Daemon
}

// New is the cluster that the configuration describes. It may have been started
// by another process.
func New(c Config) *Cluster {
	s := &Cluster{config: c, nodes: map[string]*place.Daemon{}}
	conf := "SLURM_CONF=" + s.filePath("slurm.conf")
	s.controller = place.Daemon{At: c.Head, Comm: "slurmctld", PidFile: s.filePath("slurmctld.pid"),
		Argv: []string{"env", conf, "slurmctld"}}
	for _, n := range c.Nodes {
		s.nodes[n.Name()] = &place.Daemon{At: n, Comm: "slurmd", PidFile: s.filePath("slurmd-" + n.Name() + ".pid"),
			Argv: []string{"env", conf, "slurmd", "-N", n.Name()}}
	}
	return s
}

// filePath is one of the files of the cluster.
func (s *Cluster) filePath(name string) string { return filepath.Join(s.config.Dir, name) }

// EtcFolder is a folder that can stand in for /etc/slurm.
func (s *Cluster) EtcFolder() string { return s.filePath("etc") }

// UserEnv is what the commands of users need to find the cluster.
func (s *Cluster) UserEnv() map[string]string {
	return map[string]string{"SLURM_CONF": s.filePath("slurm.conf")}
}

// CommandOutput runs one of Slurm's commands on the head, as root.
func (s *Cluster) CommandOutput(ctx context.Context, argv ...string) (string, error) {
	return place.CommandOutput(ctx, s.config.Head,
		append([]string{"env", "SLURM_CONF=" + s.filePath("slurm.conf")}, argv...)...)
}

// Start starts what does not run yet and returns when all nodes take jobs.
func (s *Cluster) Start(ctx context.Context) error {
	if err := s.writeConfig(); err != nil {
		return err
	}
	if err := s.StartController(ctx); err != nil {
		return err
	}
	if err := place.StartAll(ctx, s.allDaemons()); err != nil {
		return err
	}
	return s.AwaitReady(ctx)
}

// AwaitReady waits until all nodes take jobs.
func (s *Cluster) AwaitReady(ctx context.Context) error {
	return place.WaitUntil(ctx, "the nodes of Slurm cluster "+s.config.Name, func(ctx context.Context) (bool, error) {
		out, err := s.CommandOutput(ctx, "sinfo", "-h", "-N", "-o", "%N %t")
		if err != nil {
			return false, err
		}
		up := map[string]bool{}
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); len(f) == 2 && isUsable(f[1]) {
				up[f[0]] = true
			}
		}
		if len(up) == len(s.config.Nodes) {
			return true, nil
		}
		return false, errors.New("sinfo says: " + strings.ReplaceAll(out, "\n", ", "))
	})
}

// isUsable says whether a node in this state, as sinfo writes it, runs jobs now
// or will when it is free.
func isUsable(state string) bool {
	switch state {
	case "idle", "alloc", "mix", "comp":
		return true
	}
	return false // also those with a mark: "idle*" does not answer
}

// StartController starts slurmctld, with all it knew, and returns when it
// answers.
func (s *Cluster) StartController(ctx context.Context) error {
	if err := s.controller.Start(ctx); err != nil {
		return err
	}
	return place.WaitUntil(ctx, "slurmctld of "+s.config.Name, func(ctx context.Context) (bool, error) {
		_, err := s.CommandOutput(ctx, "scontrol", "ping")
		return err == nil, err
	})
}

// StopController ends slurmctld in order. Jobs run on.
func (s *Cluster) StopController(ctx context.Context) error { return s.controller.Stop(ctx) }

// KillController ends slurmctld as a crash does. Jobs run on.
func (s *Cluster) KillController(ctx context.Context) error { return s.controller.KillAndWait(ctx) }

// RestartController ends slurmctld in order and starts it again.
func (s *Cluster) RestartController(ctx context.Context) error {
	if err := s.StopController(ctx); err != nil {
		return err
	}
	return s.StartController(ctx)
}

// KillNodeDaemon ends the slurmd of a node as a crash does. Its jobs run on, and
// after a while slurmctld calls the node down.
func (s *Cluster) KillNodeDaemon(ctx context.Context, node string) error {
	d, err := s.nodeDaemon(node)
	if err != nil {
		return err
	}
	return d.KillAndWait(ctx)
}

// StartNodeDaemon starts the slurmd of a node unless it runs.
func (s *Cluster) StartNodeDaemon(ctx context.Context, node string) error {
	d, err := s.nodeDaemon(node)
	if err != nil {
		return err
	}
	return d.Start(ctx)
}

func (s *Cluster) nodeDaemon(name string) (*place.Daemon, error) {
	if d := s.nodes[name]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("no node %s in Slurm cluster %s", name, s.config.Name)
}

// ListDown lists the daemons that do not run, such as "slurmd on n1".
func (s *Cluster) ListDown(ctx context.Context) ([]string, error) {
	return place.ListDown(ctx, s.allDaemons())
}

// allDaemons are all of them, the controller first.
func (s *Cluster) allDaemons() []*place.Daemon {
	all := []*place.Daemon{&s.controller}
	for _, n := range s.config.Nodes {
		all = append(all, s.nodes[n.Name()])
	}
	return all
}

// jobsEndTimeout is how long jobs that are cancelled may take to end.
const jobsEndTimeout = time.Minute

// cancelAll ends all jobs: they would outlive the daemons. What cannot be ended
// in time is left.
func (s *Cluster) cancelAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, jobsEndTimeout)
	defer cancel()
	_, _ = s.CommandOutput(ctx, "scancel", "--partition="+Partition)
	_ = place.WaitUntil(ctx, "the end of all jobs", func(ctx context.Context) (bool, error) {
		jobs, err := s.CommandOutput(ctx, "squeue", "-h", "-o", "%A")
		return err == nil && jobs == "", err
	})
}

// Stop cancels all jobs and ends all daemons. Files are left.
func (s *Cluster) Stop(ctx context.Context) error {
	if running, err := s.controller.IsRunning(ctx); err == nil && running {
		s.cancelAll(ctx)
	}
	return place.StopAll(ctx, s.allDaemons())
}
