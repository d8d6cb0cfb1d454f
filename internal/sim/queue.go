package sim

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// A cluster's own queue knows a part by a number of its own; those below 0 are
// jobs of others.
const partsPerJob = 1 << 20

func queueID(id core.JobID, part int) int64 { return int64(id)*partsPerJob + int64(part) }

// enqueue hands a part to the cluster's own queue.
func (s *Simulator) enqueue(t *task, c *core.Command) {
	p := t.part(c.Part)
	st := s.sites[c.Cluster]
	p.cluster, p.size, p.queued, p.starts = c.Cluster, c.N, true, c.Kind == core.Start
	st.touched = true
	job := localq.Job{ID: queueID(c.Job, c.Part), Procs: c.N, Estimate: s.estimate(t, st)}
	// The engine never hands over what cannot run: an error would be its mistake.
	if err := st.queue.Submit(s.now, job); err != nil {
		panic("sim: " + err.Error())
	}
}

// estimate is what a cluster's own queue is told of the run time: what the
// user asked for, on the hosts that are there; if that is nothing, what it will
// be.
func (s *Simulator) estimate(t *task, st *site) time.Duration {
	limit, speed := t.job.Limit, st.speed(nil)
	if limit == 0 {
		limit = t.job.Run
	}
	switch {
	case limit == 0 && t.job.Work > 0:
		return core.Seconds(t.job.Work / t.job.App.Rate(s.eng.World().Job(t.job.Spec.ID).Size(), speed))
	case speed == 1:
		return limit
	}
	return core.Seconds(limit.Seconds() / speed)
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
	s.starts = append(s.starts[:0], st.queue.Schedule(s.now)...)
	for _, q := range s.starts {
		if q < 0 {
			s.foreignStarts(q)
			continue
		}
		t, part := s.tasks[core.JobID(q/partsPerJob)], int(q%partsPerJob)
		if t.parts[part].starts {
			s.run(t)
		} else {
			s.claimedInQueue(t, part)
		}
		s.drain()
	}
}

// shortestClaim is how long a claim lasts at least, however short the job.
const shortestClaim = time.Minute

// claimedInQueue tells that a cluster's own queue has given one part of several
// its processors. It does not give them for ever: if the others have not got
// theirs by the time at which the job said it would be over, the claim is lost.
// So two jobs that wait for each other, each in the queue that the other has
// passed, do not wait for ever.
func (s *Simulator) claimedInQueue(t *task, part int) {
	id := t.job.Spec.ID
	lasts := max(shortestClaim, s.estimate(t, s.sites[t.parts[part].cluster]))
	s.agenda.add(s.now.Add(lasts), claimExpires, entry{job: id, version: t.version, part: int32(part)})
	s.tell(core.Input{Kind: core.Claimed, Job: id, Epoch: t.epoch, Part: part})
}
