package sim

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// carryOut does what the engine wants and queues the answer.
func (s *Simulator) carryOut(c *core.Command) {
	t := s.tasks[c.Job]
	if t == nil {
		return
	}
	if c.Kind == core.Release {
		s.vacateTask(t) // what was not saved is lost
		return
	}
	if t.epoch != c.Epoch {
		t.epoch, t.parts = c.Epoch, nil
	}
	switch c.Kind {
	case core.Stage:
		s.stageFiles(t, c)
	case core.Claim:
		s.claimPart(t, c)
	case core.Start:
		s.startTask(t, c)
	case core.Offer:
		s.answerOffer(t, c)
	case core.Acquire:
		s.acquireProcs(t, c)
	case core.Stop:
		s.saveCheckpoint(t)
	case core.Suspend:
		s.suspendTask(t)
	case core.Inform: // there is no agent that foretells its end
	case core.Assess:
		s.assessTask(t, c)
	case core.RaiseLimits:
		if t.monitor != nil && t.monitor.HasRatios() {
			t.monitor.Refused()
		}
	default:
		panic(fmt.Sprintf("sim: nobody carries out %v", c.Kind))
	}
}

// claimPart takes the processors of one part of several, or of a job whose files
// are still under way.
func (s *Simulator) claimPart(t *task, c *core.Command) {
	if s.sites[c.Cluster].queue != nil {
		s.enqueuePart(t, c)
	} else if s.takeProcessors(t, c) {
		s.tellEngine(core.Input{Kind: core.Claimed, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
	}
}

// startTask runs a task. The parts of several are claimed by now; an only part is
// claimed with the same command.
func (s *Simulator) startTask(t *task, c *core.Command) {
	switch {
	case len(t.parts) > 1:
		s.runProgram(t)
	case s.sites[c.Cluster].queue != nil:
		s.enqueuePart(t, c)
	case s.takeProcessors(t, c):
		s.runProgram(t)
	}
}

// takeProcessors gives a part the processors that the engine chose, unless somebody who
// bypasses us has one of them: then the claim is lost, and the engine hears who
// uses what.
func (s *Simulator) takeProcessors(t *task, c *core.Command) bool {
	st := s.sites[c.Cluster]
	if st.countAvailable(c.Procs) < c.N {
		s.tellEngine(core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Procs: st.pollForeign()})
		return false
	}
	p := t.partAt(c.Part)
	p.cluster, p.size, p.procs = c.Cluster, c.N, c.Procs
	st.markOwner(c.Procs, ownJobs, true)
	return true
}

// runProgram starts the program.
func (s *Simulator) runProgram(t *task) {
	id := t.job.Spec.ID
	s.tellEngine(core.Input{Kind: core.Started, Job: id, Epoch: t.epoch})
	s.giveBackUnusable(t)
	for i := range t.parts {
		if st := s.sites[t.parts[i].cluster]; st.extends {
			t.parts[i].more.until = s.now.Add(s.queueEstimate(t, st))
		}
	}
	from := s.now.Add(s.restartPause(t))
	finish := t.beginProgram(from, s.taskSpeed(t))
	s.running++
	s.quiet = 0
	s.agenda.addEntry(finish, jobEnds, entry{task: t, version: t.version})
	s.reportLater(t, 0)
	s.beginContract(t, from)
}

// taskSpeed is that of the slowest host that the task runs on.
func (s *Simulator) taskSpeed(t *task) float64 {
	slowest := 0.0
	for i := range t.parts {
		p := &t.parts[i]
		if v := s.sites[p.cluster].speedOf(p.procs); i == 0 || v < slowest {
			slowest = v
		}
	}
	return slowest
}

func (s *Simulator) endTask(t *task) {
	s.vacateTask(t)
	s.tellEngine(core.Input{Kind: core.Ended, Job: t.job.Spec.ID, Epoch: t.epoch})
}

// suspendTask stops the program of a task, or lets it go on, as its user wants by now.
func (s *Simulator) suspendTask(t *task) {
	j := s.eng.World().Job(t.job.Spec.ID)
	if !t.running || j == nil || t.suspended == j.IsSuspended() {
		return
	}
	finish := t.resumeAtRate(s.now, s.taskSpeed(t), j.IsSuspended())
	if !t.suspended {
		s.agenda.addEntry(finish, jobEnds, entry{task: t, version: t.version})
		s.reportLater(t, 0)
		s.expectPhase(t)
	}
}

// saveCheckpoint stops a task with a checkpoint.
func (s *Simulator) saveCheckpoint(t *task) {
	if !t.running || s.beginSaving(t) {
		return
	}
	t.saved = t.progress.DonePart(s.now)
	s.leaveSaved(t)
}

// leaveSaved takes a task that is saved off its processors.
func (s *Simulator) leaveSaved(t *task) {
	t.lastCluster = t.parts[0].cluster
	s.vacateTask(t)
	s.tellEngine(core.Input{Kind: core.Left, Job: t.job.Spec.ID, Epoch: t.epoch})
}

// vacateTask takes a task off its processors and out of queues, and stops what is
// being brought for it.
func (s *Simulator) vacateTask(t *task) {
	for i := range t.parts {
		p := &t.parts[i]
		st := s.sites[p.cluster]
		st.markOwner(p.procs, ownJobs, false)
		if st.extends {
			s.endAllHolders(p)
		}
		if p.queued {
			st.queue.CancelJob(s.now, queueID(t.job.Spec.ID, i))
			st.touched = true
		}
		*p = taskPart{cluster: p.cluster}
	}
	s.net.cancelFlows(t, s.now)
	if t.running {
		s.running--
	}
	t.running, t.suspended, t.saving = false, false, false
	t.version++
}
