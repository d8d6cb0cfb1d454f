// Package driver is the port to whatever runs jobs: this machine, a batch
// system, a host behind SSH. A driver starts agents and finds them again; it
// must not know why. Every driver passes the one suite in drivertest.
package driver

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ID names an attempt: that of one part of one job. Jobs that run in one cluster have part 0
// alone.
type ID struct {
	Job   core.JobID
	Epoch core.Epoch
	Part  int `json:",omitempty"`
}

// AttemptID is the name of an attempt that is to be run.
func AttemptID(a *wire.Attempt) ID { return ID{Job: a.Job, Epoch: a.Epoch, Part: a.Part} }

// IsValid reports whether there can be such an attempt.
func (id ID) IsValid() bool {
	return id.Job > 0 && id.Epoch > 0 && id.Part >= 0 && id.Part < wire.MaxParts
}

// CompareIDs orders attempts by job, epoch and part.
func CompareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Part, b.Part))
}

// Driver runs the attempts of one cluster.
type Driver interface {
	// StartAttempt makes sure that an agent has run, or runs, the attempt: however
	// often it is called, with whatever crashes in between, the program is
	// started at most once. Calling it for an attempt whose agent died has the
	// loss, or the end that nobody heard of, reported by a new agent.
	StartAttempt(ctx context.Context, a *wire.Attempt) error
	// ReleaseAttempt ends the attempt if it still runs, sees to it that it can never
	// start, and forgets it. When it returns nil no process of it is left.
	ReleaseAttempt(ctx context.Context, id ID) error
	// FindAttempts lists the attempts the cluster knows, running or not; with an error,
	// those of them that it could ask for.
	FindAttempts(ctx context.Context) ([]Found, error)
	// MeasureLoad says how busy the cluster is with the work of others.
	MeasureLoad(ctx context.Context) (Load, error)
}

// Found is an attempt that a cluster knows.
type Found struct {
	ID
	Alive bool // its agent runs
}

// Load is how busy a cluster is, as a newcomer would feel it.
type Load struct {
	Share float64 // of a processor that a new process would get, 0 to 1
	Sd    float64 // how sure that is
	Why   string
	Away  []int `json:",omitempty"` // hosts that are out of reach, by their numbers; not all of them
	// Usage is who holds the processors of a cluster that has a manager; nil: it has none, or that is not known.
	Usage *Usage `json:",omitempty"`
}

// Usage is who holds the processors of a cluster that has a manager, as the manager says: whoever submitted the jobs.
type Usage struct {
	Procs int `json:"procs"` // of all its hosts
	// Others counts those that cannot be had: jobs hold them that are not of this driver, or their hosts take no jobs.
	Others int `json:"others"`
	// Brokers counts, of Others, those that jobs of other drivers like this one hold: of another broker, or of another
	// user of this one. They are told apart by what the names of their jobs begin with.
	Brokers map[string]int `json:"brokers,omitempty"`
}

// JobNamer is a driver whose attempts are jobs of a manager.
type JobNamer interface {
	// JobPrefix is what the names of its jobs begin with, and of no others; "": it is not known yet.
	JobPrefix() string
}

// What a driver answers besides "it did not work this time".
var (
	// ErrAway says that the cluster is out of reach and that nothing was done:
	// the attempt may be started elsewhere.
	ErrAway = errors.New("the cluster is out of reach")
	// ErrRefused says that the cluster will not have the attempt: asking it
	// again is of no use.
	ErrRefused = errors.New("the cluster refuses")
)

// Surveyor is a driver that can say what its cluster consists of.
type Surveyor interface {
	SurveyHosts(ctx context.Context) (*Survey, error)
}

// Survey is what a cluster consists of.
type Survey struct {
	Manager     string   `json:"manager"` // for people, such as "Slurm 22.05.8"; "": none
	Hosts       []Host   `json:"hosts"`
	Waiting     int      `json:"waiting,omitempty"`     // jobs in its queue, whoever's
	Held        Held     `json:"-"`                     // who holds its processors; of a cluster with a manager
	CPUFeatures []string `json:"cpuFeatures,omitempty"` // that all hosts have; nil: not known
	Methods     []string `json:"methods,omitempty"`     // checkpoint methods that work there; nil: not known
	Notes       []string `json:"notes,omitempty"`       // what of the settings does not work there, for the user
}

// Held counts the processors that jobs of a manager hold, by what the names of a driver's jobs begin with; "": those of
// all other jobs, and those of hosts that take no jobs. nil: nobody knows.
type Held map[string]int

// TotalProcs is the number of processors of all hosts, also of those that are down at
// the moment: they will be back.
func (s *Survey) TotalProcs() int {
	n := 0
	for _, h := range s.Hosts {
		n += h.Procs
	}
	return n
}

// Host is one host of a cluster.
type Host struct {
	Name       string   `json:"name"`
	Procs      int      `json:"procs"`
	Free       int      `json:"free"`
	Memory     int64    `json:"memory,omitempty"` // bytes; 0: not known
	Speed      float64  `json:"speed,omitempty"`  // relative to the reference host; 0: not known
	State      string   `json:"state,omitempty"`  // in the manager's words
	Down       bool     `json:"down,omitempty"`
	Features   []string `json:"features,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
}

// Estimator is a driver of a cluster with a queue of its own, that can say how
// long a newcomer would wait in it.
type Estimator interface {
	EstimateWait(ctx context.Context, n Need) (Wait, error)
}

// Need is what an attempt asks of a cluster.
type Need struct {
	Procs  int           `json:"procs"`
	Nodes  int           `json:"nodes,omitempty"`  // 0: as the cluster likes
	Memory int64         `json:"memory,omitempty"` // bytes on each node; 0: not said
	Time   time.Duration `json:"time,omitempty"`   // 0: as the cluster's settings say
}

// Wait is how long that would take to begin.
type Wait struct {
	Known   bool    `json:"known"`
	Seconds float64 `json:"seconds,omitempty"`
	Why     string  `json:"why,omitempty"`
}

// Explainer is a driver that can say, in the cluster's words, why an attempt
// waits. It answers at once, from what it saw last.
type Explainer interface {
	ExplainWait(ctx context.Context, id ID) (string, error) // "": there is nothing to say
}
