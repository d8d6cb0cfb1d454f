package engine

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// apartFor is how long clusters count as apart whose hosts did not reach each other when that was tried.
const apartFor = 10 * time.Minute

// recordApart: hosts of two clusters cannot reach each other, or can after all. A job whose parts found that out has
// run nothing: all of it is given back.
func (e *Engine) recordApart(in *core.Input) {
	one, other := e.apartClusters(in)
	if one == nil {
		return
	}
	if in.Reachable {
		e.joinClusters(one, other)
		return
	}
	e.emitEvent(core.Event{Kind: core.ClustersApart, Cluster: one.ID(), Aim: core.AimAt(other.ID()),
		When: e.now.Add(apartFor)})
	j := e.w.Job(in.Job)
	if j == nil || j.Epoch() != in.Epoch || j.State() != core.Queued || !j.Spec().Joint {
		return
	}
	e.refuseApart(j, core.Reason{Code: core.HostsApart, A: float64(one.ID()), B: float64(other.ID())})
}

// apartClusters are the two clusters that an input is about; nil if they are not two.
func (e *Engine) apartClusters(in *core.Input) (one, other *world.Cluster) {
	to, named := in.Aim.Cluster()
	n := len(e.w.Clusters())
	if !named || in.Cluster < 0 || int(in.Cluster) >= n || int(to) >= n || to == in.Cluster {
		return nil, nil
	}
	return e.w.Cluster(in.Cluster), e.w.Cluster(to)
}

// joinClusters: hosts of two clusters reach each other. Jobs that waited for others may have these.
func (e *Engine) joinClusters(one, other *world.Cluster) {
	if !one.IsApart(other, e.now) || one.Spec().Isolated || other.Spec().Isolated {
		return
	}
	e.emitEvent(core.Event{Kind: core.ClustersApart, Cluster: one.ID(), Aim: core.AimAt(other.ID())})
	e.clusterOpened(one)
	e.clusterOpened(other)
}

// refuseApart gives a job back whose parts cannot be one program where they are. If there is nowhere else for them,
// that was it.
func (e *Engine) refuseApart(j *world.Job, why core.Reason) {
	e.goBack(j, why)
	if _, ok := place.EverFits(e.viewFor(j.Spec().ID), j.Spec(), e.w.PlacePolicy(j.Spec())); !ok {
		e.changeState(j, core.Failed, why)
		return
	}
	e.again = append(e.again, j.Spec().ID)
}

// nameApart says in an event whose reason is that two clusters are apart which two.
func (e *Engine) nameApart(ev *core.Event) {
	ev.Between = &[2]string{e.w.Cluster(core.ClusterID(ev.Why.A)).Name(), e.w.Cluster(core.ClusterID(ev.Why.B)).Name()}
}
