package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// JobView is what the caller of Step may know of a live job between two steps: enough to
// carry commands out and to tell agents that come back where they stand, nothing to
// decide by. What it points to must not be changed.
type JobView struct {
	State      core.State
	Epoch      core.Epoch // of its latest attempt; 0 before the first
	Hold       core.Hold  // what keeps it out of the placement queue
	Cancelled  bool       // its user did, and it is ending
	HeldByUser bool       // who has not released it
	Suspended  bool       // its program is stopped, or is to be
	Due        core.Time  // until when it may stop; 0 or core.Never: no limit
	Runs       int        // attempts that have begun to run
	Losses     int        // of which were lost
	Spec       *core.Job

	Parts   int            // where it is placed; 0: nowhere
	Claimed bool           // the clusters have confirmed the claims of all of them
	Cluster core.ClusterID // of the first part, if there is one
}

// OfferView is a change of size that a part of a job has been offered and has not answered yet.
type OfferView struct {
	Size      int // what it would have
	Serial    int
	Mandatory bool
	Due       core.Time
	Accepted  int // of what is offered, which the manager of its cluster is asked for
}

// FindOffer is the open offer to a part of a job that runs; false if there is none.
func (e *Engine) FindOffer(id core.JobID, part int) (OfferView, bool) {
	j := e.w.Job(id)
	if j == nil || j.Part(part) == nil || j.State() != core.Running {
		return OfferView{}, false
	}
	p := j.Part(part)
	n, mandatory, due := p.OpenOffer()
	return OfferView{Size: p.Size() + n, Serial: p.OfferSerial(), Mandatory: mandatory, Due: due,
		Accepted: p.AcceptedProcs()}, n != 0
}

// FindJob is a live job as it is now; false if there is none of that number.
func (e *Engine) FindJob(id core.JobID) (JobView, bool) {
	j := e.w.Job(id)
	if j == nil {
		return JobView{}, false
	}
	v := JobView{State: j.State(), Epoch: j.Epoch(), Hold: j.CurrentHold(), Cancelled: j.IsCancelled(), Due: j.DueTime(),
		HeldByUser: j.IsHeldByUser(), Suspended: j.IsSuspended(),
		Runs: j.AttemptCount(), Losses: j.LossCount(), Spec: j.Spec(), Parts: len(j.Parts()), Cluster: core.Nowhere}
	if p := j.Part(0); p != nil {
		v.Cluster, v.Claimed = p.Cluster().ID(), j.IsClaimed()
	}
	return v, true
}

// PartView is what the caller of Step may know of a part of a live job.
type PartView struct {
	Component int
	Cluster   core.ClusterID
	Size      int
	Procs     core.ProcSet
	Ranks     []int // host of each node of its pattern; nil: in no order
}

// FindPart is a part of a live job as it is now; false if there is none of that number.
func (e *Engine) FindPart(id core.JobID, part int) (PartView, bool) {
	j := e.w.Job(id)
	if j == nil || j.Part(part) == nil {
		return PartView{}, false
	}
	p := j.Part(part)
	return PartView{p.Component(), p.Cluster().ID(), p.Size(), p.Procs(), p.Ranks()}, true
}

// IsLive reports whether a job is known and not over.
func (e *Engine) IsLive(id core.JobID) bool { return e.w.Job(id) != nil }

// Now is the time of the last step or event.
func (e *Engine) Now() core.Time { return e.w.Now() }

// LiveCount is how many jobs are.
func (e *Engine) LiveCount() int { return e.w.LiveCount() }

// JobsIn counts the live jobs that are placed in each cluster, by its number.
func (e *Engine) JobsIn() []int {
	count := make([]int, len(e.w.Clusters()))
	for _, j := range e.w.Jobs() {
		for i, p := range j.Parts() {
			if !slices.ContainsFunc(j.Parts()[:i], func(q *world.Part) bool { return q.Cluster() == p.Cluster() }) {
				count[p.Cluster().ID()]++
			}
		}
	}
	return count
}

// NextWaiter is the first of the jobs after the one with a number that are held until
// something has happened to a job, or to the array that it belongs to; 0 if there is none.
func (e *Engine) NextWaiter(job, array, after core.JobID) core.JobID {
	return e.w.NextWaiter(job, array, after)
}

// AwaitedWithin lists the jobs from first on and below end, by number, for which others are
// held; not those for whose array they are.
func (e *Engine) AwaitedWithin(first, end core.JobID) []core.JobID {
	return e.w.AwaitedWithin(first, end)
}

// HasWaiters reports whether any job is held until something has happened to a job, or to
// its array.
func (e *Engine) HasWaiters(job, array core.JobID) bool { return e.w.HasWaiters(job, array) }

// ClusterView is what the caller of Step may know of a cluster between two steps.
type ClusterView struct {
	Spec  core.ClusterSpec
	Procs int
	Idle  int
	// Others counts the processors that others use, as of the last poll.
	Others int
	Speed  float64 // of its processors, relative to the reference host
	Share  float64 // of a processor that a new job gets, as last felt
	Wait   float64 // seconds that it waits in the queue of the cluster, likewise
	// Drains is what of it is drained: all of it, or hosts. It must not be changed.
	Drains []core.Drain
}

// ClusterCount is how many clusters there are, those that were removed too.
func (e *Engine) ClusterCount() int { return len(e.w.Clusters()) }

// ClusterNames lists the names of the clusters, by number.
func (e *Engine) ClusterNames() []string {
	names := make([]string, 0, e.ClusterCount())
	for _, c := range e.w.Clusters() {
		names = append(names, c.Name())
	}
	return names
}

// Cluster is a cluster as it is now. Its number must be below ClusterCount.
func (e *Engine) Cluster(id core.ClusterID) ClusterView {
	c := e.w.Cluster(id)
	return ClusterView{Spec: c.Spec(), Procs: c.Procs(), Idle: c.IdleProcs(), Others: c.ForeignProcs(), Speed: c.Speed(),
		Share: c.Share(), Wait: c.QueueWait(), Drains: c.Drains()}
}

// Drains lists what of a cluster is drained: another list whenever that changes.
func (e *Engine) Drains(id core.ClusterID) []core.Drain { return e.w.Cluster(id).Drains() }

// JobsOn counts the live jobs that are placed in a cluster, or, if host is not "", that hold
// processors of that host of it.
func (e *Engine) JobsOn(id core.ClusterID, host string) int {
	count, c := 0, e.w.Cluster(id)
	var at []int
	for h, spec := range c.Spec().Hosts {
		if spec.Name == host {
			at = append(at, h)
		}
	}
	for _, j := range e.w.Jobs() {
		if slices.ContainsFunc(j.Parts(), func(p *world.Part) bool {
			return p.Cluster() == c && (host == "" ||
				slices.ContainsFunc(c.HostsOf(p.Procs()), func(h int) bool { return slices.Contains(at, h) }))
		}) {
			count++
		}
	}
	return count
}

// FindDrain is the drain of a host of a cluster, or of all of it if host is ""; nil if that
// is not drained. It must not be changed.
func (e *Engine) FindDrain(id core.ClusterID, host string) *core.Drain {
	return e.w.Cluster(id).FindDrain(host)
}

// InUse reports whether jobs are placed in a cluster.
func (e *Engine) InUse(id core.ClusterID) bool { return e.w.InUse(e.w.Cluster(id)) }

// FreeByHost is how many processors of each host of a cluster are free.
func (e *Engine) FreeByHost(id core.ClusterID) []int {
	c := e.w.Cluster(id)
	free := make([]int, c.HostCount())
	for h := range free {
		free[h] = c.FreeOn(h)
	}
	return free
}

// IdleProcs is how many processors of a cluster nobody uses.
func (e *Engine) IdleProcs(id core.ClusterID) int { return e.w.Cluster(id).IdleProcs() }

// EncodeSnapshot is the state in a form that Restore reads.
func (e *Engine) EncodeSnapshot() ([]byte, error) { return e.w.EncodeSnapshot() }

// StateCopying is a copy of the state that is being made.
type StateCopying = world.StateCopying

// BeginCopy begins a copy of the state, which is made some jobs at a time and encoded while
// the engine goes on.
func (e *Engine) BeginCopy() *StateCopying { return e.w.BeginCopy() }

// ErrSnapshot says that a snapshot cannot be used: it is damaged, or of another version.
var ErrSnapshot = errors.New("the snapshot cannot be used")

// Restore is an engine in the state of a snapshot, which says itself what its clusters
// are, and of the events after it. An error other than ErrSnapshot means that the events
// are damaged.
func Restore(cfg Config, policy core.PlacePolicy, snapshot []byte, events []core.Event) (*Engine, error) {
	clusters, err := world.SnapshotClusters(snapshot)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	w, err := world.RestoreSnapshot(world.Spec{DefaultPlace: policy, Clusters: clusters}, snapshot)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	return replay(cfg, w, events)
}

// FromEvents is an engine in the state that events made of clusters in which nobody was.
func FromEvents(cfg Config, policy core.PlacePolicy, clusters []core.ClusterSpec,
	events []core.Event) (*Engine, error) {
	return replay(cfg, world.New(world.Spec{DefaultPlace: policy, Clusters: clusters}), events)
}

func replay(cfg Config, w *world.World, events []core.Event) (*Engine, error) {
	for i := range events {
		events[i].Modernize()
		if err := w.ApplyEvent(&events[i]); err != nil {
			return nil, err
		}
	}
	return New(cfg, w), nil
}

// IsReadable reports whether a snapshot is one of this version.
func IsReadable(snapshot []byte) bool {
	_, err := world.SnapshotClusters(snapshot)
	return err == nil
}
