package core

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// JobID is the short number of a job, given by whoever submits it to the
// engine (the broker, the simulator), positive and never used again.
type JobID int64

// Epoch counts the attempts of a job, from 1. Commands and messages carry it:
// those of an old epoch are dropped, so that no job ever runs twice.
type Epoch int32

// ClusterID numbers the clusters of a world from 0.
type ClusterID int32

// FileID numbers the files that the replica table knows, from 0.
type FileID int32

// Nowhere is the cluster of what has not been placed.
const Nowhere = ClusterID(-1)

// Aim is the cluster where a job is to go: 0 anywhere, else its number plus
// one, so that the zero value of whatever carries one aims at nothing.
type Aim int32

// AimNowhere is the aim of a job that its user cancelled: it ends when it has left.
const AimNowhere Aim = -1

// AimAt aims at a cluster.
func AimAt(c ClusterID) Aim { return Aim(c) + 1 }

// Cluster is the cluster aimed at, if there is one.
func (a Aim) Cluster() (ClusterID, bool) { return ClusterID(a) - 1, a > 0 }

// Kind says whether and when the size of a job may change.
type Kind uint8

const (
	Rigid     Kind = iota // exactly Min processors
	Moldable              // chosen at the start in [Min, Max]
	Malleable             // chosen at the start, may grow and shrink while running
)

var kindNames = [...]string{Rigid: "rigid", Moldable: "moldable", Malleable: "malleable"}

func (k Kind) String() string { return nameOf(kindNames[:], int(k)) }

// PlacePolicy names a placement policy; the zero value stands for the
// broker's default.
type PlacePolicy uint8

const (
	PlaceDefault  PlacePolicy = iota
	WorstFit                  // WF: most idle processors
	CloseToFiles              // CF: least transfer time of missing input files
	ClusterMin                // CM: fewest clusters
	FlexibleMin               // FCM: fewest clusters, the job split by what is idle
	DeadlineFirst             // best chance of meeting the deadline, then lowest cost
)

var placeNames = [...]string{
	PlaceDefault: "default", WorstFit: "wf", CloseToFiles: "cf",
	ClusterMin: "cm", FlexibleMin: "fcm", DeadlineFirst: "deadline",
}

func (p PlacePolicy) String() string { return nameOf(placeNames[:], int(p)) }

// Component is a part of a job that runs within one cluster.
type Component struct {
	Min, Max int         // processors; equal for a rigid job
	Initial  int         // wanted first size; 0 lets the scheduler choose
	Inputs   []FileID    // files that must be present before it starts
	Clusters []ClusterID // where it may run; empty means anywhere
	Memory   int64       // bytes needed on each host; 0 means any
	// Bring is how long it takes to bring to each cluster what the replica table
	// knows nothing of, by its number; 0, or none: nothing has to be brought.
	Bring []time.Duration `json:",omitempty"`
	// Pattern says who talks to whom in it; nil: nothing is known.
	Pattern *Pattern `json:",omitempty"`
	// Trials are short runs of it, the best first.
	Trials []Trial `json:",omitempty"`
	// OneHost keeps all its processors on one host, in clusters where a host has so
	// many: its program shares memory, or may.
	OneHost bool `json:",omitempty"`
	// Reliability is the part of jobs that a cluster must be expected to bring to their
	// end; 0: any.
	Reliability float64 `json:",omitempty"`
}

// Trial is hosts of a cluster, by their numbers, on which a job was tried: node i of
// its pattern on the i-th.
type Trial struct {
	Cluster ClusterID
	Hosts   []int
	Seconds float64
	Until   Time `json:",omitempty"` // from then on the network may be another one; 0: it stays as it is
}

// IsOver reports whether the network may be another one by now.
func (t *Trial) IsOver(now Time) bool { return t.Until > 0 && t.Until <= now }

// Pattern says which of a program's nodes, 0 … Nodes-1, talk to each other, so that
// its hosts can be chosen by how well they are connected. Every node has as many
// processors.
type Pattern struct {
	Name  string // for people
	Nodes int
	Edges []Edge `json:"Pairs"` // the name that it has in the log
}

// Edge is a pair of nodes that communicate. One with weight 2 sends twice as much
// as one with weight 1, so half of its bandwidth counts.
type Edge struct {
	A, B   int
	Weight float64
}

// Network is how well the hosts of a cluster are connected: Mbit/s of each host
// with each of those before it, the second host's first; 0: nothing is known.
type Network struct {
	Mbps []float64 `json:"mbps"`
	// Free is the part of a processor that each host has free; nil: all of it.
	Free []float64 `json:"free,omitempty"`
}

// NewNetwork is one of so many hosts of which nothing is known.
func NewNetwork(hosts int) *Network { return &Network{Mbps: make([]float64, hosts*(hosts-1)/2)} }

// PairBandwidth is the bandwidth between two different hosts.
func (n *Network) PairBandwidth(u, v int) float64 { return n.Mbps[numberOf(u, v)] }

// SetBandwidth says what two different hosts have.
func (n *Network) SetBandwidth(u, v int, mbps float64) { n.Mbps[numberOf(u, v)] = mbps }

// numberOf is the place of a pair of hosts.
func numberOf(u, v int) int {
	u, v = max(u, v), min(u, v)
	return u*(u-1)/2 + v
}

// HasMeasurements reports whether anything is known of any pair.
func (n *Network) HasMeasurements() bool {
	return n != nil && slices.ContainsFunc(n.Mbps, func(mbps float64) bool { return mbps > 0 })
}

// CoversHosts reports whether it is a network of so many hosts.
func (n *Network) CoversHosts(hosts int) bool {
	return n != nil && len(n.Mbps) == hosts*(hosts-1)/2 && (n.Free == nil || len(n.Free) == hosts)
}

// FreeOn is the part of a processor that a host has free.
func (n *Network) FreeOn(host int) float64 {
	if n.Free == nil {
		return 1
	}
	return n.Free[host]
}

// BringTime is how long it takes to bring what Bring is about to a cluster.
func (c *Component) BringTime(to ClusterID) time.Duration {
	if to < 0 || int(to) >= len(c.Bring) {
		return 0
	}
	return c.Bring[to]
}

// Job is what a user asked for. It never changes after submission.
type Job struct {
	ID         JobID
	Name       string
	User       string
	App        string // the program: jobs of one program are expected to scale alike
	Kind       Kind
	Place      PlacePolicy
	Components []Component
	Estimate   time.Duration // run time at the minimal size on a reference host; 0 if unknown
	Spread     float64       // standard deviation of the logarithm of that time; 0 if unknown
	Waiting    float64       // part of that time in which it waits for something else than processors
	Deadline   Time          // 0 if none
	MaxTries   int           // placement tries before the submission fails; 0 takes the broker's default
	Retries    int           // how often it may be started again after its attempt was lost
	StaysPut   bool          `json:",omitempty"` // it is not moved for its deadline
	RetryOn    []string      `json:",omitempty"` // causes of loss after which it is; none: all but RetryFailed

	After      []Dependency `json:",omitempty"` // what must have happened before it is placed
	Begin      Time         `json:",omitempty"` // it is not placed before; 0: at any time
	Array      JobID        `json:",omitempty"` // the array that it belongs to, by its first job; 0: none
	ArrayLimit int          `json:",omitempty"` // jobs of its array that may be placed at once; 0: any number

	// Joint says that its parts are one parallel program: the hosts of all of them must reach each other.
	Joint bool `json:",omitempty"`
	// Contract: it is held to the speed that is promised where it is placed; nil: nothing is promised.
	Contract *Contract `json:",omitempty"`
}

// maxProcs is more than any grid has, so that sums of sizes cannot overflow.
const maxProcs = 1 << 40

// CheckSpec reports what makes a job impossible to run on any grid.
func (j *Job) CheckSpec() error {
	switch {
	case j.ID <= 0:
		return fmt.Errorf("job number %d is not positive", j.ID)
	case j.Kind > Malleable:
		return fmt.Errorf("job %d is of no known kind", j.ID)
	case len(j.Components) == 0:
		return fmt.Errorf("job %d has no components", j.ID)
	case j.Begin < 0, j.ArrayLimit < 0, j.Array < 0, j.Array > j.ID:
		return fmt.Errorf("job %d cannot be one of array %d, at most %d at once, and begin at %d", j.ID, j.Array,
			j.ArrayLimit, j.Begin)
	}
	if err := j.Contract.checkLimits(); err != nil {
		return fmt.Errorf("job %d: %w", j.ID, err)
	}
	for i := range j.After {
		if err := j.After[i].checkDependency(j.ID); err != nil {
			return fmt.Errorf("job %d: %w", j.ID, err)
		}
	}
	for i := range j.Components {
		if err := j.Components[i].checkSpec(); err != nil {
			return fmt.Errorf("job %d component %d: %w", j.ID, i, err)
		}
	}
	return nil
}

func (c *Component) checkSpec() error {
	if !(c.Reliability >= 0 && c.Reliability <= 1) {
		return fmt.Errorf("no cluster can have a reliability of %g", c.Reliability)
	}
	if c.Min < 1 || c.Max < c.Min || c.Max > maxProcs || c.Initial < 0 || c.Memory < 0 {
		return fmt.Errorf("cannot have between %d and %d cores, %d at first, and %d bytes", c.Min, c.Max, c.Initial, c.Memory)
	}
	for _, f := range c.Inputs {
		if f < 0 {
			return errors.New("a file has a negative number")
		}
	}
	for _, d := range c.Bring {
		if d < 0 {
			return errors.New("files arrive before they are sent")
		}
	}
	for _, t := range c.Trials {
		if c.Pattern == nil || len(t.Hosts) != c.Pattern.Nodes || slices.Min(t.Hosts) < 0 || !(t.Seconds > 0) {
			return fmt.Errorf("a trial of %g s on %d hosts is none of its pattern", t.Seconds, len(t.Hosts))
		}
	}
	return c.Pattern.CheckSize(c.Min, c.Max)
}

// CheckSize reports what makes a pattern, if there is one, impossible for a program
// with so many processors at least and at most.
func (p *Pattern) CheckSize(least, most int) error {
	if p == nil {
		return nil
	}
	if p.Nodes < 2 || least != most || least%p.Nodes != 0 {
		return fmt.Errorf("a pattern of %d nodes cannot have %d to %d cores, the same number on each", p.Nodes, least, most)
	}
	for _, t := range p.Edges {
		if t.A < 0 || t.B < 0 || t.A >= p.Nodes || t.B >= p.Nodes || t.A == t.B || !(t.Weight > 0) {
			return fmt.Errorf("nodes %d and %d of %d cannot talk with weight %g", t.A, t.B, p.Nodes, t.Weight)
		}
	}
	return nil
}

// MinSize is the sum of the components' smallest sizes.
func (j *Job) MinSize() int {
	n := 0
	for i := range j.Components {
		n += j.Components[i].Min
	}
	return n
}

// MaxSize is the sum of the components' largest sizes.
func (j *Job) MaxSize() int {
	n := 0
	for i := range j.Components {
		n += j.Components[i].Max
	}
	return n
}

func nameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return "unknown"
}
