// Package config reads the broker's settings: which clusters there are, how
// jobs are placed, how often things are looked at, what is kept and for how
// long. It decides what the file means and what to tell a user whose file is
// wrong. It must not know what is done with the settings.
package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Config is the settings of a broker.
type Config struct {
	File     string // where they stand; "" if these are the defaults
	Clusters []Cluster
	Policy   Policy
	Sample   time.Duration  // how often running jobs and loads are looked at
	Grace    *time.Duration // between SIGTERM and SIGKILL for a job that is cancelled; nil: the usual
	Graces   Graces
	Retry    time.Duration // before the attempt after one that was lost soon after it began; 0: none
	Keep     Keep
	Limits   Limits
	Weather  weather.Settings
}

// Cluster is a place where jobs run: a part of this machine, or a batch system,
// or another machine.
type Cluster struct {
	Name   string
	Driver string  // Local, Slurm, GridEngine
	CPUs   []int   // of this machine; nil for the clusters that are elsewhere or have a manager
	Slots  int     // processors offered, by each of SSHHosts; 0: as many as there turn out to be
	Quota  float64 // share of each CPU that jobs may use; 1: all
	Speed  float64 // relative to the reference host; 0: to be measured
	Nice   int
	Memory int64 // bytes; 0: not limited

	KeepFree int // processors that are always left to others; 0: none
	GrowFree int // processors that running jobs leave free besides when they are given more; 0: none

	Queue int // processors that jobs may wait for in the manager's queue; 0: as many as slots

	SSH        string   // user@host, as the OpenSSH client takes it; "": on this machine
	SSHHosts   []string // all of them, if the cluster is several machines without a manager; the first is SSH
	SSHOptions []string // for that client
	Untrusted  bool     // checkpoints made there are continued there alone
	Indirect   bool     // its files go to and from other clusters through the broker only
	Dir        string   // folder there that all hosts of the cluster see; "": the usual one
	Partition  string   // of Slurm, or queue of Grid Engine; "": the usual one
	PE         string   // parallel environment of Grid Engine
	Options    []string // handed to sbatch or qsub as they are
	Time       time.Duration
	Poll       time.Duration
	Env        map[string]string // for the manager's commands
	Commands   string            // folder of the manager's commands; "": found by PATH
	MPI        wire.MPI
}

// IsHere reports whether the cluster is a part of this machine and nothing else.
func (c *Cluster) IsHere() bool { return c.Driver == Local && c.SSH == "" }

// IsManaged reports whether the cluster has a queue of its own.
func (c *Cluster) IsManaged() bool { return c.Driver != Local }

// Policy is how jobs are placed and resized.
type Policy struct {
	Place     core.PlacePolicy
	Approach  string // pra or pwa
	Malleable string // a policy of package malleable, or none
	Tries     int    // how often placing a job is tried before it fails; 0: no limit
	Predict   string // how the share of a job is foretold: change-point, fixed-n, mean
}

// Graces is how long what the broker asks for is waited for; nil: the usual time, 0: no limit.
type Graces struct {
	Stop    *time.Duration // a job that is to leave saves itself and does
	Collect *time.Duration // beyond its own time of grace: a cancelled job says that it has ended
	Shrink  *time.Duration // a job releases processors that it must
	Grow    *time.Duration // the manager of a cluster gives a job that runs the processors that it accepted
	Claim   *time.Duration // all parts of a job are claimed
}

// Keep is what is kept of jobs that have ended.
type Keep struct {
	Jobs time.Duration // records, logs and checkpoints of a job, after its end
	Logs int64         // bytes of output kept of one job; the oldest go first
}

// Limits bound what a job may bring along, and how many jobs there may be.
type Limits struct {
	Work  int64 // bytes in a work folder
	Files int   // in a work folder
	Jobs  int   // of one user that have not ended
	// Workflows of one user that are not over, and the tasks of all of them together.
	Workflows, Tasks int
	// Pools of work items of one user that are not over, and the items of all of them together.
	Pools, Items int
	Depot        int64 // bytes that the files of one user's jobs may take in the broker's depot
	Log          int64 // bytes of output that are kept of all jobs of one user
	// Memory is what the broker itself is to stay below. What it needs for jobs that live
	// it takes all the same; from three quarters on it gives back at once what it does not need.
	Memory int64
}

// maxFile bounds how much of a file is read: settings are short.
const maxFile = 1 << 20

// LoadSettings finds and reads the settings: from the file that flag names, else from
// that of GODWIT_CONFIG, else from godwit/config.yaml in the user's folder of
// settings if there is one; else it gives the defaults. cpus are those of this
// machine that may be used.
func LoadSettings(flag string, getenv func(string) string, cpus []int) (*Config, error) {
	path, asked := FindFile(flag, getenv)
	if !asked {
		if _, err := os.Stat(path); path == "" || errors.Is(err, fs.ErrNotExist) {
			return DefaultSettings(cpus), nil
		}
	}
	data, err := yamlfile.ReadFile(path, "a file of settings", maxFile)
	if err != nil {
		return nil, err
	}
	return ReadSettings(path, data, cpus)
}

// FindFile says where the settings stand. asked is false for the file that is read
// only if it is there; "" if there is no such place.
func FindFile(flag string, getenv func(string) string) (path string, asked bool) {
	if flag != "" {
		return flag, true
	}
	if path := getenv("GODWIT_CONFIG"); path != "" {
		return path, true
	}
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // others are to be ignored, says the specification
		home := getenv("HOME")
		if home == "" {
			return "", false
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "godwit", "config.yaml"), false
}

// DefaultSettings is one cluster, local, of all CPUs.
func DefaultSettings(cpus []int) *Config {
	return &Config{
		Clusters: []Cluster{{Name: "local", Driver: Local, CPUs: cpus, Slots: len(cpus), Quota: 1}},
		Policy:   Policy{Place: core.DeadlineFirst, Approach: "pwa", Malleable: "marginal"},
		Sample:   2 * time.Second,
		Retry:    time.Second,
		Keep:     Keep{Jobs: 30 * 24 * time.Hour, Logs: 256 << 20},
		Limits: Limits{Work: 16 << 30, Files: 1_000_000, Jobs: 200_000, Workflows: 100, Tasks: 50_000, Pools: 100,
			Items: 1_000_000, Depot: 256 << 30,
			Log: 64 << 30, Memory: 512 << 20},
	}
}

// The drivers.
const (
	Local      = "local" // plain processes
	Slurm      = "slurm"
	GridEngine = "gridengine"
)
