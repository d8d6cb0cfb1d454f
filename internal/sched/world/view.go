package world

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// View is the world as a policy may see it: at one moment, on behalf of one
// job, read-only. With Reclaim set it is the world as it could be if the
// running malleable jobs were shrunk to their minima.
type View struct {
	Now     core.Time
	For     core.JobID // for whom room is sought; 0 for nobody in particular
	Reclaim bool
	// RunningFirst hides clusters in which running jobs are being asked whether
	// they want what is free: those who wait come after them.
	RunningFirst bool
	NeverShrinks bool // what a running job is given it keeps until it ends
	Empty        bool // the world as it would be if nobody used it
	// Whole leaves no job split over clusters.
	Whole bool
	// Except hides a cluster: the one that the job is to leave.
	Except core.Aim
	// Without hides clusters: those that are apart from others where the job's parts are.
	Without []core.ClusterID
	world   *World
}

// ViewFor is the world as it is now, seen on behalf of job `for_`.
func (w *World) ViewFor(now core.Time, for_ core.JobID) View {
	return View{Now: now, For: for_, world: w}
}

// Clusters lists the clusters by number. The caller must not change the slice.
func (v View) Clusters() []*Cluster { return v.world.clusters }

// Cluster is one cluster.
func (v View) Cluster(id core.ClusterID) *Cluster { return v.world.clusters[id] }

// OtherWaiting is how many other jobs wait to be placed.
func (v View) OtherWaiting() int {
	if j := v.world.Job(v.For); j != nil && j.queued {
		return v.world.queue.count - 1
	}
	return v.world.queue.count
}

// Job is a live job, or nil.
func (v View) Job(id core.JobID) *Job { return v.world.Job(id) }

// TransferTime estimates how long the missing input files of a component take
// to reach cluster c; false if they cannot.
func (v View) TransferTime(comp *core.Component, c core.ClusterID) (time.Duration, bool) {
	return v.world.TransferTime(comp, c)
}

// RoomIn is how many processors of c the job could be given now. While
// processors are being reclaimed in a cluster for one job, nobody else gets
// any there.
func (v View) RoomIn(c *Cluster) int {
	if v.Empty {
		return max(0, c.UsableProcs())
	}
	if c.IsClosed() || c.reclaimFor != 0 && c.reclaimFor != v.For || v.RunningFirst && c.offers > 0 {
		return 0
	}
	return max(0, v.IdleIn(c)-c.spec.KeepFree)
}

// IdleIn is how many processors of c nobody uses; where room has to be made, what
// could be reclaimed counts as idle.
func (v View) IdleIn(c *Cluster) int {
	switch {
	case v.Empty:
		return c.procs
	case v.Reclaim:
		return c.IdleProcs() + c.reclaimableProcs()
	}
	return c.IdleProcs()
}

// WidestRoom is the most room in any one cluster, and the room in all of them; what
// may wait in a cluster's own queue finds room there.
func (v View) WidestRoom() (widest, total int) {
	for _, c := range v.world.clusters {
		r := v.RoomIn(c)
		if c.HasQueueLimit() {
			r = max(r, c.QueueRoom())
		}
		widest = max(widest, r)
		total += r
	}
	return widest, total
}

// SomebodyFits reports whether a job that waits to be placed could use what is
// free in the cluster. Of those whom its size suits it asks the first few only
// whether they may run there: a queue full of jobs for other clusters must not
// be walked through at every step.
func (v View) SomebodyFits(c *Cluster) bool {
	const few = 8
	room := v.RoomIn(c)
	var j *Job
	for range few {
		if j = v.world.NextCandidate(j, room, 0); j == nil {
			return false
		}
		if !v.world.IsPutOff(j, v.Now) && c.meetsSome(j.spec) {
			return true
		}
	}
	return false
}

// meetsSome reports whether the cluster meets the requirements of some
// component of the job.
func (c *Cluster) meetsSome(spec *core.Job) bool {
	for i := range spec.Components {
		if c.MeetsRequirements(&spec.Components[i]) {
			return true
		}
	}
	return false
}
