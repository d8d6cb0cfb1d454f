// Package world is the state of the grid as the engine knows it: clusters
// with their processors, live jobs with their parts, the placement queue, and
// what has been measured of the programs. It changes by ApplyEvent alone, one
// event at a time, so that replaying a log gives the same world again;
// policies see it through a read-only View. It decides nothing.
package world

import (
	"math"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Spec is what is known of the grid before the first event.
type Spec struct {
	Clusters []ClusterSpec
	Files    []FileSpec
	// Paths[a][b] is the way from cluster a to cluster b; nil when nothing is
	// known, then transfers are taken to cost nothing.
	Paths [][]Path
	// MaxTries is how many placement tries a job has that names no limit of its
	// own; 0 means any number.
	MaxTries int
	// DefaultPlace is the policy of jobs that name none.
	DefaultPlace core.PlacePolicy
}

// FileSpec is a file of the replica table.
type FileSpec struct {
	Name  string
	Bytes int64
	At    []core.ClusterID
}

// Path is the way between two clusters.
type Path struct {
	Mbps    float64 // 0: unreachable
	Latency time.Duration
}

// World is the whole state. Its methods that read are safe to hand out; the
// only one that changes it is ApplyEvent.
type World struct {
	spec         Spec
	clusters     []*Cluster
	jobs         map[core.JobID]*Job
	recent       [recentJobs]recentJob // some of them, by the last bits of their numbers
	apps         map[string]*Scaling
	replicas     []map[core.ClusterID]bool // by file
	queue        queue
	targets      map[targetKey]*target     // what held jobs depend on
	arrays       map[core.JobID]*arrayLoad // that have a limit
	nowhere      jobList                   // jobs that may run on none of the clusters
	putOff       int                       // jobs in the queue that were not to be tried before some time
	retries      timers                    // when these may be tried
	scans        int64                     // looks through the queue so far
	scanned      core.Time
	starts       int64
	timers       timers
	rescheduling rescheduling
	accuracy     []core.Accuracy // how predictions held, by cluster
	spare        []*Job          // finished jobs to be used again
	copying      *StateCopying   // the copy that is being made; nil: none is
	last         core.Time
}

// New is the world before its first event.
func New(spec Spec) *World {
	w := &World{spec: spec, jobs: map[core.JobID]*Job{}, apps: map[string]*Scaling{}, scanned: math.MinInt64,
		targets: map[targetKey]*target{}, arrays: map[core.JobID]*arrayLoad{}}
	if spec.DefaultPlace == core.PlaceDefault {
		w.spec.DefaultPlace = core.WorstFit
	}
	for i, c := range spec.Clusters {
		w.clusters = append(w.clusters, newCluster(core.ClusterID(i), c))
	}
	for _, f := range spec.Files {
		at := map[core.ClusterID]bool{}
		for _, c := range f.At {
			at[c] = true
		}
		w.replicas = append(w.replicas, at)
	}
	return w
}

// Now is the time of the last event.
func (w *World) Now() core.Time { return w.last }

// Clusters lists the clusters by number. The caller must not change the slice.
func (w *World) Clusters() []*Cluster { return w.clusters }

// Cluster is one cluster.
func (w *World) Cluster(id core.ClusterID) *Cluster { return w.clusters[id] }

// Job is a live job, or nil if it is unknown or over.
func (w *World) Job(id core.JobID) *Job {
	if r := &w.recent[uint64(id)%recentJobs]; r.id == id && r.job != nil {
		return r.job
	}
	return w.jobs[id]
}

// recentJobs is how many jobs are found without asking the map: those that live at once
// mostly have numbers near each other.
const recentJobs = 256

type recentJob struct {
	id  core.JobID
	job *Job // nil: none
}

func (w *World) addJob(id core.JobID, j *Job) {
	w.jobs[id] = j
	w.recent[uint64(id)%recentJobs] = recentJob{id, j}
}

func (w *World) dropJob(id core.JobID) {
	delete(w.jobs, id)
	if r := &w.recent[uint64(id)%recentJobs]; r.id == id {
		*r = recentJob{}
	}
}

// LiveCount is the number of jobs that are not over.
func (w *World) LiveCount() int { return len(w.jobs) }

// Jobs lists the live jobs by number.
func (w *World) Jobs() []*Job {
	list := make([]*Job, 0, len(w.jobs))
	for _, id := range sortedKeys(w.jobs) {
		list = append(list, w.jobs[id])
	}
	return list
}

// HoldersOf lists the jobs that hold any of the processors, by number. It looks
// at all live jobs: hosts fail rarely.
func (w *World) HoldersOf(c *Cluster, procs core.ProcSet) []*Job {
	var list []*Job
	for _, j := range w.jobs { // order-free: sorted below
		for _, p := range j.parts {
			if p.cluster == c && p.procs.Intersects(procs) {
				list = append(list, j)
				break
			}
		}
	}
	slices.SortFunc(list, func(a, b *Job) int { return int(a.spec.ID - b.spec.ID) })
	return list
}

// QueueLength is the length of the placement queue.
func (w *World) QueueLength() int { return w.queue.count }

// QueueHead is the first job of the placement queue, or nil.
func (w *World) QueueHead() *Job { return w.queue.headJob() }

// LastScan is when the placement queue was last looked through, or when
// somebody joined it to whom that matters.
func (w *World) LastScan() core.Time { return w.scanned }

// NeedsRescan reports whether looking through the queue again may change anything
// although nothing else has: somebody's tries are counted, or somebody was put
// off for a while.
func (w *World) NeedsRescan() bool {
	return w.queue.count > 0 && (w.putOff > 0 || w.queue.tree[1].expire < unlimited)
}

// IsPutOff reports whether a job in the queue is not to be tried now. One that lost its claim in a cluster is tried as
// soon as that cluster goes out of reach or comes back: until then it would have been sent there again, as nobody knew
// better.
func (w *World) IsPutOff(j *Job, now core.Time) bool {
	if j.notBefore <= now {
		return false
	}
	at, lost := j.lostAt.Cluster()
	return !lost || int(at) >= len(w.clusters) || w.clusters[at].turns == j.lostTurn
}

// HasPutOff reports whether any job in the queue was not to be tried before some time.
func (w *World) HasPutOff() bool { return w.putOff > 0 }

// NextCandidate is the first job in the queue behind `after` (nil: from the
// head) whose minimum could fit if `room` processors were free in one cluster
// and `total` in all.
func (w *World) NextCandidate(after *Job, room, total int) *Job {
	return w.queue.firstAfter(ticketOf(after), func(k key) bool { return int(k.need) <= room || int(k.total) <= total })
}

// ticketOf is the place of a job in the queue; nil: before all.
func ticketOf(j *Job) int64 {
	if j == nil {
		return math.MinInt64 / 2
	}
	return j.ticket
}

// OutOfTries is the first job in the queue behind `after` (nil: from the head) whose
// placement tries are used up, or nil.
func (w *World) OutOfTries(after *Job) *Job {
	return w.queue.firstAfter(ticketOf(after), func(k key) bool { return k.expire <= w.scans })
}

// PlacementTries is how often placing the job has been tried.
func (w *World) PlacementTries(j *Job) int {
	if !j.queued {
		return j.tries
	}
	return j.tries + int(w.scans-j.firstScan)
}

// MaxTries is the job's limit of placement tries; 0 means none.
func (w *World) MaxTries(j *Job) int {
	if j.spec.MaxTries > 0 {
		return j.spec.MaxTries
	}
	return w.spec.MaxTries
}

// PlacePolicy is the policy by which the job is placed.
func (w *World) PlacePolicy(j *core.Job) core.PlacePolicy {
	if j.Place != core.PlaceDefault {
		return j.Place
	}
	return w.spec.DefaultPlace
}

// TransferTime estimates how long it takes to bring the files a component
// lacks in cluster c there, one after the other, each from its nearest
// replica. It reports false if some file cannot be brought at all.
func (w *World) TransferTime(comp *core.Component, c core.ClusterID) (time.Duration, bool) {
	sum := comp.BringTime(c)
	for _, f := range comp.Inputs {
		_, d, ok := w.NearestReplica(f, c)
		if !ok {
			return 0, false
		}
		sum = time.Duration(core.Time(sum).Add(d))
	}
	return sum, true
}

// NearestReplica is the cluster from which file f reaches cluster c soonest,
// and how long that takes.
func (w *World) NearestReplica(f core.FileID, c core.ClusterID) (from core.ClusterID, d time.Duration, ok bool) {
	if f < 0 || int(f) >= len(w.replicas) || w.replicas[f][c] {
		return c, 0, true // a file that nobody listed is everywhere
	}
	for at := range core.ClusterID(len(w.clusters)) {
		if !w.replicas[f][at] {
			continue
		}
		t, reachable := w.pathTime(at, c, w.spec.Files[f].Bytes)
		if reachable && (!ok || t < d) {
			from, d, ok = at, t, true
		}
	}
	return from, d, ok
}

func (w *World) pathTime(a, b core.ClusterID, bytes int64) (time.Duration, bool) {
	if w.spec.Paths == nil {
		return 0, true
	}
	if int(max(a, b)) >= len(w.spec.Paths) {
		return 0, false // a cluster that was added later
	}
	p := w.spec.Paths[a][b]
	if p.Mbps <= 0 {
		return 0, false
	}
	return time.Duration(core.Time(p.Latency).Add(core.DurationFromSeconds(float64(bytes) * 8 / (p.Mbps * 1e6)))), true
}
