package sim

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// A cluster's own queue knows a part by a number of its own; those below 0 are
// jobs of others.
const partsPerJob = 1 << 20

func queueID(id core.JobID, part int) int64 { return int64(id)*partsPerJob + int64(part) }

// enqueuePart hands a part to the cluster's own queue. Several parts of a job in one
// cluster are one request: if its queue started them one by one, jobs would
// hold some of their parts and wait for each other's.
func (s *Simulator) enqueuePart(t *task, c *core.Command) {
	p, st := t.partAt(c.Part), s.sites[c.Cluster]
	p.cluster, p.size, p.starts = c.Cluster, c.N, c.Kind == core.Start
	job := localq.Job{Procs: c.N, Estimate: s.queueEstimate(t, st)}
	if !p.starts { // it may hold its processors for a while before the program runs
		job.Estimate = time.Duration(core.Time(job.Estimate).Add(s.cfg.Engine.ClaimGrace))
	}
	lead := c.Part
	for i := range t.parts[:c.Part] {
		if q := &t.parts[i]; q.cluster == c.Cluster {
			lead = min(lead, i)
			job.Procs += q.size
		}
	}
	job.ID = queueID(c.Job, lead)
	if lead < c.Part {
		st.queue.CancelJob(s.now, job.ID)
	}
	t.parts[lead].queued, st.touched = true, true
	// The engine never hands over what cannot run: an error would be its mistake.
	if err := st.queue.Submit(s.now, job); err != nil {
		panic("sim: " + err.Error())
	}
}

// queueEstimate is what a cluster's own queue is told of the run time: what the
// user asked for, on the hosts that are there; if that is nothing, what it will
// be.
func (s *Simulator) queueEstimate(t *task, st *site) time.Duration {
	limit, speed := t.job.Limit, st.speedOf(nil)
	if limit == 0 {
		limit = t.job.Run
	}
	switch {
	case limit == 0 && t.job.Work > 0:
		return core.DurationFromSeconds(t.job.Work / t.job.App.WorkRate(s.eng.World().Job(t.job.Spec.ID).Size(), speed))
	case speed == 1:
		return limit
	}
	return core.DurationFromSeconds(limit.Seconds() / speed)
}

// scheduleQueues lets the clusters' own queues start what they start now. What
// that brings about may concern a queue that has had its turn.
func (s *Simulator) scheduleQueues() {
	for again := true; again; {
		again = false
		for _, st := range s.sites {
			if st.touched {
				st.touched, again = false, true
				s.startQueued(st)
			}
		}
	}
}

func (s *Simulator) startQueued(st *site) {
	s.starts = append(s.starts[:0], st.queue.StartJobs(s.now)...)
	for _, q := range s.starts {
		if q < 0 {
			s.foreignStarts(q)
			continue
		}
		t, lead := s.tasks[core.JobID(q/partsPerJob)], int(q%partsPerJob)
		switch {
		case lead >= firstHolder:
			if t != nil { // else the job has ended in this instant
				s.holderStarts(t, q)
			}
		case t.parts[lead].starts:
			s.runProgram(t)
		default:
			s.claimedInQueue(t, t.parts[lead].cluster)
		}
		s.drainInbox()
	}
}

// claimedInQueue tells that a job has its processors in a cluster, while those
// in others may still be waited for.
func (s *Simulator) claimedInQueue(t *task, c core.ClusterID) {
	for i := range t.parts {
		if t.parts[i].cluster == c {
			s.tellEngine(core.Input{Kind: core.Claimed, Job: t.job.Spec.ID, Epoch: t.epoch, Part: i})
		}
	}
}
