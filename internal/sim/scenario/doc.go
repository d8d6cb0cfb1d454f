// Package scenario reads the files that describe an experiment: a platform,
// the jobs that are run on it, what disturbs them meanwhile, and which policy
// is used unless a flag says otherwise. It decides what such a file means,
// what to tell a user whose file is wrong, and in which order background jobs,
// failures, changes of links and drains come; all of it follows from a seed. It must
// not know how any of this is simulated. docs/scenarios.md describes the
// format for users.
package scenario

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/resched"
	"github.com/godwit-hpc/godwit/internal/sim/workload"
)

// Scenario is an experiment as its file describes it. Either Workload or Trace
// is set. Clusters and files are numbered as in Platform.
type Scenario struct {
	Name       string
	File       string // as the user named it
	Platform   *platform.Platform
	Seed       uint64 // 1 unless the file says otherwise
	Policy     Policy
	KeepFree   []int // of each cluster, what is left to its own users
	GrowFree   []int // of each cluster, what growing leaves free besides
	Workload   *workload.Spec
	Trace      *workload.TraceOptions
	Background []Background
	Failures   []Failure
	Links      []LinkChange // in the order of time
	Drains     []DrainChange
	HostLoads  []HostLoad
	Moves      Moves
	Sweep      *Sweep   // nil: one run
	Expect     []string // what is expected to come out, for people
}

// Policy is what the file proposes; zero values leave the choice open.
type Policy struct {
	Place         core.PlacePolicy
	Approach      string // pra or pwa
	Malleable     string // a name that malleable.ByName knows, or none
	Local         string // none, fcfs or easy: instead of what the platform says
	MaxTries      int
	ScanEvery     time.Duration // placement queue
	PollEvery     time.Duration // what others use of a cluster
	ProgressEvery time.Duration // reports of running jobs
	ShrinkGrace   time.Duration
	ClaimMargin   time.Duration
	Gain          resched.GainConfig // of the rescheduler
}

// Background is a stream of jobs that the users of one cluster run without
// going through the broker.
type Background struct {
	Cluster     core.ClusterID
	Arrivals    workload.Arrivals
	Procs       [2]int           // drawn evenly, both ends included
	Run         [2]time.Duration // drawn evenly
	From, Until core.Time        // Until is core.Never when left out
}

// Failure takes hosts of one cluster away: once, from At for For, or, if MTBF
// is above 0, each by itself again and again at random.
type Failure struct {
	Cluster core.ClusterID
	Hosts   []int // indices within the cluster
	At      core.Time
	For     time.Duration // 0 means for good
	MTBF    time.Duration // mean time from a repair to the next failure
	Repair  time.Duration // mean time from a failure to its repair
}

// LinkChange gives one link of the platform another rate.
type LinkChange struct {
	At   core.Time
	Link int // index into Platform.Links
	Mbps float64
}

// DrainChange says that a cluster is drained, or used again.
type DrainChange struct {
	At      core.Time
	Cluster core.ClusterID
	Drained bool
}

// OpenJobs is the stream of jobs, drawn from the seed given, which need not be
// that of the file.
func (s *Scenario) OpenJobs(seed uint64) (workload.Source, workload.Stats, error) {
	if s.Trace != nil {
		o := *s.Trace
		o.Seed = seed
		return workload.ReadTrace(o)
	}
	source, err := workload.Generate(*s.Workload, seed)
	if err != nil {
		return nil, workload.Stats{}, err
	}
	return source, workload.Stats{Jobs: source.Len()}, nil
}
