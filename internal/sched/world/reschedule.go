package world

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// rescheduling is the queue of the rescheduler. It looks at one job at a time, until that is where it was sent, so that
// no two jobs are sent to the same processors.
type rescheduling struct {
	queue     []core.JobID
	assessing core.JobID // what is predicted of it was asked for; 0: of nobody
	moving    core.JobID // on its way; 0: nobody is
	// contracted lists the running jobs with a contract, ascending.
	contracted []core.JobID
}

// heldTarget is what is held for a job that is to move, from the decision until it is there.
type heldTarget struct {
	at    core.Aim // 0: nothing is held
	size  int
	procs core.ProcSet // none in a cluster with a queue of its own
}

// foretold is a prediction that will be held against what happens.
type foretold struct {
	at      core.Time
	seconds float64 // from then to the end; 0: there is none
	cluster core.ClusterID
}

// HeldTarget is what is held for a job that is to move; no size: nothing is, or it cannot be used any more.
func (w *World) HeldTarget(j *Job) (at core.ClusterID, size int, procs core.ProcSet) {
	at, held := j.held.at.Cluster()
	if !held || len(j.held.procs) == 0 || w.clusters[at].IsClosed() || !w.clusters[at].isUsable(j.held.procs) {
		return core.Nowhere, 0, nil
	}
	return at, j.held.size, j.held.procs
}

// isUsable reports whether none of the processors failed, was drained, or is used by others.
func (c *Cluster) isUsable(procs core.ProcSet) bool {
	for _, s := range []bitset{c.down, c.others, c.drained} {
		if s == nil {
			continue
		}
		if _, some := s.containsAny(procs); some {
			return false
		}
	}
	return true
}

// RescheduleQueue lists the jobs that the rescheduler is to look at.
func (w *World) RescheduleQueue() []core.JobID { return w.rescheduling.queue }

// RescheduleBusy is the job that the rescheduler looks at, or that is on its way; 0: none.
func (w *World) RescheduleBusy() core.JobID {
	return max(w.rescheduling.assessing, w.rescheduling.moving)
}

// IsAssessed reports whether what is predicted of the job was asked for.
func (w *World) IsAssessed(j *Job) bool { return w.rescheduling.assessing == j.spec.ID }

// ContractedJobs lists the running jobs with a contract, ascending. The caller must not change the slice.
func (w *World) ContractedJobs() []core.JobID { return w.rescheduling.contracted }

// PredictionAccuracy is how predictions held in some clusters together.
func (w *World) PredictionAccuracy(clusters []core.ClusterID) core.Accuracy {
	var sum core.Accuracy
	for c := range w.accuracy {
		if slices.Contains(clusters, core.ClusterID(c)) {
			sum.Squares += w.accuracy[c].Squares
			sum.Weight += w.accuracy[c].Weight
		}
	}
	return sum
}

func (w *World) applyReschedule(j *Job, ev *core.Event) error {
	r := &w.rescheduling
	at := slices.Index(r.queue, ev.Job)
	if ev.Kind == core.RescheduleAsked {
		if at >= 0 || j.state != core.Running || ev.Epoch != j.epoch {
			return w.impossibleEvent(ev, "is asked for while the job is "+j.state.String()+" or waits for it")
		}
		r.queue = append(r.queue, ev.Job)
		return nil
	}
	if at < 0 || w.RescheduleBusy() != 0 {
		return w.impossibleEvent(ev, "begins with a job that is not asked for, or before another is where it was sent")
	}
	r.queue = slices.Delete(r.queue, at, at+1)
	r.assessing = ev.Job
	return nil
}

// applyJudged notes what is held for a job that is to move, and what was predicted. Other decisions are told for those
// who ask why; what follows from them are events of their own.
func (w *World) applyJudged(j *Job, ev *core.Event) error {
	g := ev.Gain
	if g == nil {
		return nil
	}
	r := &w.rescheduling
	if r.assessing == ev.Job {
		r.assessing = 0
	}
	if len(j.parts) != 1 {
		return w.impossibleEvent(ev, "judges a job that is not in one place")
	}
	j.foretold = foretold{at: ev.At, seconds: g.Current, cluster: j.parts[0].cluster.id}
	at, aimed := ev.Aim.Cluster()
	if !aimed {
		return nil
	}
	if int(at) >= len(w.clusters) || r.moving != 0 || j.held.at != 0 || ev.N < 1 {
		return w.impossibleEvent(ev, "sends a job where it cannot go, or while another is on its way")
	}
	c := w.clusters[at]
	if len(ev.Procs) > 0 && (ev.Procs.CountProcs() != ev.N || !c.takeProcs(ev.Procs)) {
		return w.impossibleEvent(ev, "holds processors that are not free")
	}
	j.held = heldTarget{at: ev.Aim, size: ev.N, procs: ev.Procs}
	j.foretold.seconds, j.foretold.cluster = g.New+g.Cost.TotalSeconds(), at
	r.moving = ev.Job
	return nil
}

// releaseTarget gives back what was held for a job.
func (w *World) releaseTarget(j *Job) {
	if at, held := j.held.at.Cluster(); held {
		procs := j.held.procs
		j.held = heldTarget{}
		w.clusters[at].returnProcs(procs)
	}
}

// dropTarget does so because the job does not go there.
func (w *World) dropTarget(j *Job) {
	w.releaseTarget(j)
	if w.rescheduling.moving == j.spec.ID {
		w.rescheduling.moving = 0
	}
}

// noteRescheduling keeps the lists of the rescheduler true while a job changes its state.
func (w *World) noteRescheduling(j *Job, ev *core.Event) {
	if j.spec.Contract == nil {
		return
	}
	r, id := &w.rescheduling, j.spec.ID
	i, found := slices.BinarySearch(r.contracted, id)
	switch {
	case ev.To == core.Running && !found && j.HasContract():
		r.contracted = slices.Insert(r.contracted, i, id)
	case ev.To != core.Running && found:
		r.contracted = slices.Delete(r.contracted, i, i+1)
		r.queue = slices.DeleteFunc(r.queue, func(q core.JobID) bool { return q == id })
		if r.assessing == id {
			r.assessing = 0
		}
	}
	switch {
	case ev.To == core.Running, ev.To.IsTerminal():
		w.dropTarget(j)
	case ev.To == core.Queued && len(j.parts) > 0 && j.parts[0].cluster.spec.Managed && r.moving == id:
		r.moving = 0 // nobody knows how long it waits there, and nothing is held for it
	}
	if ev.To == core.Running && ev.From == core.Stopping || ev.Lost {
		j.foretold = foretold{} // it did not go there, or lost what it had done
	}
	if f := j.foretold; ev.To == core.Done && f.seconds > 0 {
		for int(f.cluster) >= len(w.accuracy) {
			w.accuracy = append(w.accuracy, core.Accuracy{})
		}
		w.accuracy[f.cluster].AddRatio(ev.At.Sub(f.at).Seconds() / f.seconds)
	}
}
