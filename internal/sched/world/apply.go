package world

import (
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ApplyEvent changes the world by one event. An error means that the event cannot
// have happened in this world: a damaged log, or a mistake of the engine. The
// world must not be used after that.
func (w *World) ApplyEvent(ev *core.Event) error {
	if ev.At < w.last {
		return w.impossibleEvent(ev, "is older than the one before it")
	}
	w.last = ev.At
	if w.copying != nil {
		w.copying.changed[ev.Job] = true // an event changes no job but the one that it names
	}
	switch ev.Kind {
	case core.JobSubmitted:
		return w.applySubmitted(ev)
	case core.QueueScanned:
		w.scans++
		w.scanned = ev.At
		return nil
	case core.ClusterDefined:
		return w.applyDefined(ev)
	case core.ResultsReturned:
		return w.applyReturned(ev)
	case core.OthersPolled, core.HostsFailed, core.HostsJoined, core.ReclaimBegan, core.ReclaimEnded, core.ClusterFelt,
		core.ClusterRated, core.NetworkFelt, core.ClusterDrained, core.ClusterUndrained, core.ClustersApart:
		return w.applyCluster(ev)
	}
	j := w.Job(ev.Job)
	if j == nil {
		return w.impossibleEvent(ev, "names a job that is not live")
	}
	switch ev.Kind {
	case core.JobBecame:
		return w.applyBecame(j, ev)
	case core.JobEnqueued:
		return w.applyEnqueued(j, ev)
	case core.PartPlanned:
		return w.applyPlanned(j, ev)
	case core.JobJudged:
		return w.applyJudged(j, ev)
	case core.RescheduleAsked, core.RescheduleBegan:
		return w.applyReschedule(j, ev)
	case core.InputRouted, core.JobWaits:
		return nil // told for those who ask why; what follows from it are events of their own
	case core.JobPinned:
		if at, pinned := ev.Aim.Cluster(); pinned && int(at) >= len(w.clusters) || ev.Aim < 0 {
			return w.impossibleEvent(ev, "names a cluster that is not there")
		}
		j.pin = ev.Aim
		return nil
	case core.JobSized:
		return w.applySized(j, ev)
	case core.JobHeld:
		return w.applyHeld(j, ev)
	case core.JobReleased:
		return w.applyReleased(j, ev)
	case core.JobDescribed:
		return w.applyDescribed(j, ev)
	case core.JobHeldByUser, core.JobReleasedByUser:
		return w.applyUserHold(j, ev)
	case core.JobSuspended, core.JobContinued:
		return w.applySuspended(j, ev)
	case core.JobUpdated:
		return w.applyUpdated(j, ev)
	case core.JobProgressed:
		j.pace.recordProgress(ev.At, ev.Done, j.Size(), j.scaling)
		return nil
	}
	p := j.Part(ev.Part)
	if p == nil || ev.Epoch != j.epoch {
		return w.impossibleEvent(ev, "names a part or an epoch that is not there")
	}
	return w.applyPart(p, ev)
}

func (w *World) applyCluster(ev *core.Event) error {
	if int(ev.Cluster) < 0 || int(ev.Cluster) >= len(w.clusters) || !ev.Procs.IsValid(w.clusters[ev.Cluster].procs) {
		return w.impossibleEvent(ev, "names a cluster or processors that are not there")
	}
	c := w.clusters[ev.Cluster]
	switch ev.Kind {
	case core.OthersPolled:
		c.setForeignUse(ev.Procs)
		c.offerAgain()
	case core.HostsFailed:
		c.markDown(ev.Procs)
	case core.HostsJoined:
		c.markUp(ev.Procs)
	case core.ClusterFelt:
		was := c.share
		if c.share, c.wait = ev.Share, ev.QueueWait; !ev.Reachable {
			c.share = 0
		}
		if (c.share == 0) != (was == 0) {
			c.turns++
			c.turned = ev.At
		}
	case core.ClusterRated:
		c.rating = ev.Rating
	case core.NetworkFelt:
		if !ev.Net.CoversHosts(len(c.spec.Hosts)) {
			return w.impossibleEvent(ev, "is of another number of hosts")
		}
		c.net = ev.Net
	case core.ClusterDrained, core.ClusterUndrained:
		return w.applyDrain(c, ev)
	case core.ClustersApart:
		return w.applyApart(c, ev)
	case core.ReclaimBegan:
		c.reclaimFor = ev.Job
	case core.ReclaimEnded:
		c.reclaimFor = 0
		if j := w.jobs[ev.Job]; j != nil && ev.When > 0 {
			j.roomAfter = ev.When
		}
	}
	return nil
}

func (w *World) applyPart(p *Part, ev *core.Event) error {
	switch ev.Kind {
	case core.PartStaged:
		p.staged = true
		for _, f := range p.job.spec.Components[p.component].Inputs {
			if int(f) < len(w.replicas) {
				w.replicas[f][p.cluster.id] = true
			}
		}
	case core.PartHeld:
		return w.applyHold(p, ev)
	case core.RanksOrdered:
		return w.applyRanks(p, ev)
	case core.PartClaimed:
		p.claimed = true
		if ev.When != 0 {
			w.setDue(p.job, ev.When)
		}
	case core.PartOffered:
		return w.applyOffered(p, ev)
	case core.PartSilent:
		return w.applySilent(p, ev)
	case core.PartAccepted:
		return w.applyAccepted(p, ev)
	case core.PartAnswered:
		return w.applyAnswered(p, ev)
	case core.PartAsked:
		return w.applyAsked(p, ev)
	case core.PartGaveBack:
		return w.gaveBack(p, ev)
	default:
		return w.impossibleEvent(ev, "is of an unknown kind")
	}
	return nil
}

// applyRanks puts the nodes of a pattern on hosts, each on one of its own that the part
// holds processors of.
func (w *World) applyRanks(p *Part, ev *core.Event) error {
	held := p.cluster.HostsOf(p.procs)
	if ranks := slices.Sorted(slices.Values(ev.Ranks)); len(ranks) > 0 && !slices.Equal(ranks, held) {
		return w.impossibleEvent(ev, "names hosts that the part does not hold")
	}
	p.ranks = ev.Ranks
	return nil
}

func (w *World) applySubmitted(ev *core.Event) error {
	if ev.Spec == nil || ev.Spec.ID != ev.Job || w.jobs[ev.Job] != nil || ev.Spec.CheckSpec() != nil {
		return w.impossibleEvent(ev, "has no job description, or one that is there already")
	}
	j := w.freshJob()
	j.spec, j.state, j.since, j.submitted = ev.Spec, core.Submitted, ev.At, ev.At
	j.scaling = w.scalingOf(ev.Spec)
	w.addJob(ev.Job, j)
	w.beginHold(j, core.NotHeld)
	return nil
}

// freshJob takes a job that is over from the store of spares, if there is one:
// a simulation of a million jobs needs only as many as live at once.
func (w *World) freshJob() *Job {
	n := len(w.spare)
	if n == 0 {
		return &Job{}
	}
	j := w.spare[n-1]
	w.spare = w.spare[:n-1]
	*j = Job{}
	return j
}

func (w *World) scalingOf(spec *core.Job) *Scaling {
	if spec.Kind == core.Rigid {
		return nil
	}
	if spec.App == "" {
		return newScaling()
	}
	s := w.apps[spec.App]
	if s == nil {
		s = newScaling()
		w.apps[spec.App] = s
	}
	return s
}

func (w *World) applyEnqueued(j *Job, ev *core.Event) error {
	if at, _ := ev.Aim.Cluster(); j.queued || !j.state.IsWaiting() || j.hold != core.NotHeld || ev.N < 0 ||
		int(at) >= len(w.clusters) || ev.Aim < 0 {
		return w.impossibleEvent(ev, "queues a job that does not wait to be placed")
	}
	if !w.NeedsRescan() {
		w.scanned = ev.At // nobody missed being looked at until now
	}
	w.dropTarget(j)
	j.tries += ev.N
	j.lostAt, j.lostTurn = ev.Aim, 0
	if at, lost := ev.Aim.Cluster(); lost {
		j.lostTurn = w.clusters[at].turns
	}
	if j.notBefore = ev.When; ev.When > 0 {
		w.putOff++
		w.retries.addTimer(Timer{At: ev.When, Job: ev.Job})
	}
	j.firstScan = w.scans
	expire := int64(unlimited)
	if limit := w.MaxTries(j); limit > 0 {
		expire = w.scans + int64(limit-j.tries)
	}
	w.queue.pushJob(j, w.queueKey(j.spec, expire))
	return nil
}

func (w *World) applyPlanned(j *Job, ev *core.Event) error {
	first := core.Epoch(1)
	if len(j.parts) > 0 {
		first = 0
	}
	if !j.state.IsWaiting() || j.hold != core.NotHeld || ev.Part != len(j.parts) || ev.Epoch != j.epoch+first ||
		ev.Cluster < 0 || int(ev.Cluster) >= len(w.clusters) || ev.Component < 0 || ev.Component >= len(j.spec.Components) ||
		ev.Min < 1 || ev.N < ev.Min || ev.N > ev.Max || ev.N > w.clusters[ev.Cluster].procs {
		return w.impossibleEvent(ev, "plans a part that cannot be")
	}
	w.releaseTarget(j)
	j.epoch = ev.Epoch
	p := j.addPart(Part{cluster: w.clusters[ev.Cluster], index: ev.Part, component: ev.Component,
		size: ev.N, min: ev.Min, max: ev.Max, claimAt: ev.When})
	switch {
	case p.cluster.spec.Managed:
		p.held = true // by its own queue
		p.cluster.setQueued(p, true)
	case len(ev.Procs) > 0:
		return w.applyHold(p, ev)
	default:
		w.timers.addTimer(Timer{At: ev.When, Kind: ClaimDue, Job: ev.Job, Epoch: ev.Epoch, Part: ev.Part})
	}
	return nil
}

func (w *World) applyHold(p *Part, ev *core.Event) error {
	if p.held || ev.Procs.CountProcs() != p.size || !p.cluster.takeProcs(ev.Procs) {
		return w.impossibleEvent(ev, "takes processors that are not free")
	}
	p.held, p.procs = true, ev.Procs
	return nil
}

func (w *World) impossibleEvent(ev *core.Event, what string) error {
	return fmt.Errorf("event %s of job %d at %g s %s", ev.Kind, ev.Job, ev.At.Seconds(), what)
}
