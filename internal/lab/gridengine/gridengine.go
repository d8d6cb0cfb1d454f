// Package gridengine runs a Grid Engine cell inside a lab: it writes the
// configuration, starts sge_qmaster on one host and an sge_execd on each of the
// others, finds them again, breaks and mends them when asked, and ends them. The
// cell decides as fast as Grid Engine can, since a lab is there to be watched.
// It must not know what jobs run, nor who submits them.
package gridengine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/lab/place"
)

// Commands is the folder of the programs themselves. Those in /usr/bin are
// scripts around them that take ten times as long.
const Commands = "/usr/lib/gridengine"

// Config says what the cell consists of.
type Config struct {
	Name  string // of letters and digits
	Dir   string // for its files, the same on all hosts
	Head  place.Place
	Nodes []Node
	// FirstGID is the first of the group ids by which jobs are told apart, 200
	// for each host; 0: 40000. Hosts that see each other's processes, and cells
	// on one host, need their own.
	FirstGID int
	Port     int // of sge_qmaster; that of sge_execd is the next; 0: 6444
}

// Node is a host that runs jobs.
type Node struct {
	place.Place
	CPUs int // slots in the queue
}

// Cell is a Grid Engine cell, running or not.
type Cell struct {
	config Config
	master place.Daemon
	nodes  map[string]*place.Daemon
}

// New is the cell that the configuration describes. It may have been started by
// another process.
func New(c Config) *Cell {
	s := &Cell{config: c, nodes: map[string]*place.Daemon{}}
	s.master = place.Daemon{At: c.Head, Comm: "sge_qmaster", PidFile: s.filePath("qmaster", "qmaster.pid"),
		Argv: s.withEnv("/usr/sbin/sge_qmaster")}
	for _, n := range c.Nodes {
		s.nodes[n.Name()] = &place.Daemon{At: n, Comm: "sge_execd", PidFile: s.filePath("execd", n.Name(), "execd.pid"),
			Argv: s.withEnv("/usr/sbin/sge_execd")}
	}
	return s
}

// filePath is one of the files of the cell.
func (s *Cell) filePath(names ...string) string {
	return filepath.Join(append([]string{s.config.Dir}, names...)...)
}

// RootFolder is the folder that Grid Engine calls SGE_ROOT.
func (s *Cell) RootFolder() string { return s.config.Dir }

func (s *Cell) masterPort() int {
	if s.config.Port != 0 {
		return s.config.Port
	}
	return 6444
}

// UserEnv is what the commands of users need to find the cell.
func (s *Cell) UserEnv() map[string]string {
	return map[string]string{
		"SGE_ROOT":         s.config.Dir,
		"SGE_CELL":         "default",
		"SGE_CLUSTER_NAME": s.config.Name,
		"SGE_QMASTER_PORT": fmt.Sprint(s.masterPort()),
		"SGE_EXECD_PORT":   fmt.Sprint(s.masterPort() + 1),
		"SGE_ARCH":         arch,
	}
}

// arch is how Grid Engine calls the machine.
const arch = "lx-amd64"

// withEnv is a command with the environment that it needs.
func (s *Cell) withEnv(argv ...string) []string {
	all := []string{"env"}
	env := s.UserEnv()
	for _, key := range slices.Sorted(maps.Keys(env)) {
		all = append(all, key+"="+env[key])
	}
	return append(all, argv...)
}

// CommandOutput runs one of Grid Engine's commands on the head, as root.
func (s *Cell) CommandOutput(ctx context.Context, command string, args ...string) (string, error) {
	return place.CommandOutput(ctx, s.config.Head,
		s.withEnv(append([]string{filepath.Join(Commands, command)}, args...)...)...)
}

// Start starts what does not run yet and returns when all hosts take jobs.
func (s *Cell) Start(ctx context.Context) error {
	fresh, err := s.layFiles(ctx)
	if err != nil {
		return err
	}
	if err := s.StartMaster(ctx); err != nil {
		return err
	}
	if fresh {
		if err := s.configureCell(ctx); err != nil {
			return err
		}
	}
	if err := place.StartAll(ctx, s.allDaemons()); err != nil {
		return err
	}
	return s.AwaitReady(ctx)
}

// AwaitReady waits until all hosts take jobs.
func (s *Cell) AwaitReady(ctx context.Context) error {
	return place.WaitUntil(ctx, "the hosts of Grid Engine cell "+s.config.Name, func(ctx context.Context) (bool, error) {
		out, err := s.CommandOutput(ctx, "qstat", "-f")
		if err != nil {
			return false, err
		}
		ready := 0
		for line := range strings.Lines(out) {
			// queue type slots load arch [states]: a host in order has no states.
			if f := strings.Fields(line); len(f) == 5 && strings.HasPrefix(f[0], Queue+"@") && f[4] == arch {
				ready++
			}
		}
		if ready == len(s.config.Nodes) {
			return true, nil
		}
		return false, errors.New("qstat says: " + strings.ReplaceAll(out, "\n", ", "))
	})
}

// StartMaster starts sge_qmaster, with all it knew, and returns when it answers.
func (s *Cell) StartMaster(ctx context.Context) error {
	if err := s.master.Start(ctx); err != nil {
		return err
	}
	return place.WaitUntil(ctx, "sge_qmaster of "+s.config.Name, func(ctx context.Context) (bool, error) {
		_, err := s.CommandOutput(ctx, "qconf", "-sh")
		return err == nil, err
	})
}

// StopMaster ends sge_qmaster in order. Jobs run on.
func (s *Cell) StopMaster(ctx context.Context) error { return s.master.Stop(ctx) }

// KillMaster ends sge_qmaster as a crash does. Jobs run on.
func (s *Cell) KillMaster(ctx context.Context) error { return s.master.KillAndWait(ctx) }

// RestartMaster ends sge_qmaster in order and starts it again.
func (s *Cell) RestartMaster(ctx context.Context) error {
	if err := s.StopMaster(ctx); err != nil {
		return err
	}
	return s.StartMaster(ctx)
}

// KillExecd ends the sge_execd of a host as a crash does. Its jobs run on, and
// after a while sge_qmaster has heard nothing of the host for too long.
func (s *Cell) KillExecd(ctx context.Context, node string) error {
	d, err := s.nodeDaemon(node)
	if err != nil {
		return err
	}
	return d.KillAndWait(ctx)
}

// StartExecd starts the sge_execd of a host unless it runs.
func (s *Cell) StartExecd(ctx context.Context, node string) error {
	d, err := s.nodeDaemon(node)
	if err != nil {
		return err
	}
	return d.Start(ctx)
}

func (s *Cell) nodeDaemon(name string) (*place.Daemon, error) {
	if d := s.nodes[name]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("no host %s in Grid Engine cell %s", name, s.config.Name)
}

// ListDown lists the daemons that do not run, such as "sge_execd on n1".
func (s *Cell) ListDown(ctx context.Context) ([]string, error) {
	return place.ListDown(ctx, s.allDaemons())
}

// allDaemons are all of them, the master first.
func (s *Cell) allDaemons() []*place.Daemon {
	all := []*place.Daemon{&s.master}
	for _, n := range s.config.Nodes {
		all = append(all, s.nodes[n.Name()])
	}
	return all
}

// jobsEndTimeout is how long jobs that are deleted may take to end.
const jobsEndTimeout = time.Minute

// deleteAll ends all jobs: they would outlive the daemons. What cannot be ended
// in time is left.
func (s *Cell) deleteAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, jobsEndTimeout)
	defer cancel()
	_, _ = s.CommandOutput(ctx, "qdel", "-u", "*") // fails if there are none
	_ = place.WaitUntil(ctx, "the end of all jobs", func(ctx context.Context) (bool, error) {
		jobs, err := s.CommandOutput(ctx, "qstat", "-u", "*")
		return err == nil && jobs == "", err
	})
}

// Stop deletes all jobs and ends all daemons. Files are left.
func (s *Cell) Stop(ctx context.Context) error {
	if running, err := s.master.IsRunning(ctx); err == nil && running {
		s.deleteAll(ctx)
	}
	return place.StopAll(ctx, s.allDaemons())
}
