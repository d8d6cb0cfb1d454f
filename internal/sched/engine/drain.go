package engine

import (
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// drainCluster: nothing new is placed on a cluster, or on a host of it. Who only waits there
// is placed again; who runs there runs to its end.
func (e *Engine) drainCluster(in *core.Input) {
	c := e.drainedCluster(in)
	if c == nil || c.FindDrain(in.Drain.Host) != nil || in.Drain.Host != "" && !hasHost(c, in.Drain.Host) {
		return
	}
	e.noteWaits()
	d := *in.Drain
	d.Since = e.now
	e.emitEvent(core.Event{Kind: core.ClusterDrained, Cluster: c.ID(), Drain: &d,
		Why: core.Reason{Code: core.AskedByUser}})
	why := core.Reason{Code: core.ClusterIsDrained, A: float64(c.ID()), B: 1}
	if d.Host != "" {
		why.Code = core.HostIsDrained
	}
	for _, j := range e.w.Jobs() {
		if slices.ContainsFunc(j.Parts(), func(p *world.Part) bool {
			return p.Cluster() == c && leavesDrained(j, p, d.Host)
		}) {
			e.abandonPlacement(j, why)
		}
	}
}

// undrainCluster: a cluster, or a host of it, is used again. Who waits may have it at once.
func (e *Engine) undrainCluster(in *core.Input) {
	c := e.drainedCluster(in)
	if c == nil || c.FindDrain(in.Drain.Host) == nil {
		return
	}
	e.noteWaits()
	e.emitEvent(core.Event{Kind: core.ClusterUndrained, Cluster: c.ID(), Drain: in.Drain,
		Why: core.Reason{Code: core.AskedByUser}})
	e.clusterOpened(c)
}

// drainedCluster is the cluster that an input is about; nil if there is none.
func (e *Engine) drainedCluster(in *core.Input) *world.Cluster {
	if in.Drain == nil || in.Cluster < 0 || int(in.Cluster) >= len(e.w.Clusters()) {
		return nil
	}
	return e.w.Cluster(in.Cluster)
}

// hasHost reports whether hosts of the cluster are chosen here, and one has the name.
func hasHost(c *world.Cluster, name string) bool {
	spec := c.Spec()
	return !c.IsManaged() &&
		slices.ContainsFunc(spec.Hosts, func(h core.HostSpec) bool { return h.Name == name })
}

// leavesDrained reports whether a part has to go elsewhere when its cluster, or a host of it,
// is drained: it does not run there yet. One that a cluster without a queue was told to start
// is about to run, or does already: that news takes a moment.
func leavesDrained(j *world.Job, p *world.Part, host string) bool {
	c := p.Cluster()
	switch s := j.State(); {
	case s == core.Running || s == core.Stopping:
		return false
	case s == core.Queued && len(j.Parts()) == 1 && !c.IsManaged() && c.Share() > 0:
		return false
	}
	return host == "" || c.HoldsDrained(p.Procs())
}

// notedWait is a job of the placement queue, and why a drain keeps it there; NoReason: none
// does.
type notedWait struct {
	job core.JobID
	why core.Reason
}

// noteWaits notes why jobs wait that are in the placement queue, so that they are told when
// that is another reason after the step.
func (e *Engine) noteWaits() {
	for j := e.nextWaiting(nil); j != nil; j = e.nextWaiting(j) {
		e.noted = append(e.noted, notedWait{j.Spec().ID, e.drainReason(j)})
	}
}

// nextWaiting is the job behind another in the placement queue.
func (e *Engine) nextWaiting(j *world.Job) *world.Job {
	return e.w.NextCandidate(j, math.MaxInt32-1, math.MaxInt32-1)
}

// drainReason is which drain keeps a job waiting; NoReason: none does.
func (e *Engine) drainReason(j *world.Job) core.Reason {
	why, is := place.DrainReason(e.waitingView(j.Spec().ID), j.Spec(), e.w.PlacePolicy(j.Spec()))
	if !is {
		return core.Reason{}
	}
	return why
}

// explainWaits tells jobs that wait as before why they do, if a drain has begun or ended to
// be the reason.
func (e *Engine) explainWaits() {
	for _, n := range e.noted {
		j := e.w.Job(n.job)
		if j == nil || !j.IsQueued() {
			continue
		}
		why := e.drainReason(j)
		if why == n.why {
			continue
		}
		if why.Code == core.NoReason {
			var fits bool
			_, why, fits = place.Place(e.waitingView(n.job), j.Spec(), e.w.PlacePolicy(j.Spec()), e.choices[:0])
			if fits {
				continue // it was put off for a while
			}
		}
		e.emitEvent(core.Event{Kind: core.JobWaits, Job: n.job, Epoch: j.Epoch(), Why: why})
	}
	e.noted = e.noted[:0]
}

// nameDrain says in an event whose reason is a drain which one, by whom, since when and why.
func (e *Engine) nameDrain(ev *core.Event) {
	c := e.w.Cluster(core.ClusterID(ev.Why.A))
	d := c.FindDrain("")
	if drains := c.Drains(); ev.Why.Code == core.HostIsDrained {
		if i := slices.IndexFunc(drains, func(d core.Drain) bool { return d.Host != "" }); i >= 0 {
			d = &drains[i]
		}
	}
	if d != nil {
		named := *d
		ev.Cluster, ev.Drain = c.ID(), &named
	}
}
