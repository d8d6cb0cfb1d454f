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
		s.vacate(t) // what was not saved is lost
		return
	}
	if t.epoch != c.Epoch {
		t.epoch, t.parts = c.Epoch, nil
	}
	switch c.Kind {
	case core.Stage:
		s.stage(t, c)
	case core.Claim:
		s.claim(t, c)
	case core.Start:
		s.start(t, c)
	case core.Offer:
		s.answer(t, c)
	case core.Stop:
		s.save(t)
	default:
		panic(fmt.Sprintf("sim: nobody carries out %v", c.Kind))
	}
}

// claim takes the processors of one part of several, or of a job whose files
// are still under way.
func (s *Simulator) claim(t *task, c *core.Command) {
	if s.sites[c.Cluster].queue != nil {
		s.enqueue(t, c)
	} else if s.take(t, c) {
		s.tell(core.Input{Kind: core.Claimed, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
	}
}

// start runs a task. The parts of several are claimed by now; an only part is
// claimed with the same command.
func (s *Simulator) start(t *task, c *core.Command) {
	switch {
	case len(t.parts) > 1:
		s.run(t)
	case s.sites[c.Cluster].queue != nil:
		s.enqueue(t, c)
	case s.take(t, c):
		s.run(t)
	}
}

// take gives a part the processors that the engine chose, unless somebody who
// bypasses us has one of them: then the claim is lost, and the engine hears who
// uses what.
func (s *Simulator) take(t *task, c *core.Command) bool {
	st := s.sites[c.Cluster]
	if st.available(c.Procs) < c.N {
		s.tell(core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Procs: st.poll()})
		return false
	}
	p := t.part(c.Part)
	p.cluster, p.size, p.procs = c.Cluster, c.N, c.Procs
	st.mark(c.Procs, ours, true)
	return true
}

// run starts the program.
func (s *Simulator) run(t *task) {
	id := t.job.Spec.ID
	s.tell(core.Input{Kind: core.Started, Job: id, Epoch: t.epoch})
	s.giveBackUnusable(t)
	finish := t.begin(s.now, s.speed(t))
	s.running++
	s.quiet = 0
	s.agenda.add(finish, jobEnds, entry{job: id, version: t.version})
	s.reportLater(t, 0)
}

// speed is that of the slowest host that the task runs on.
func (s *Simulator) speed(t *task) float64 {
	slowest := 0.0
	for i := range t.parts {
		p := &t.parts[i]
		if v := s.sites[p.cluster].speed(p.procs); i == 0 || v < slowest {
			slowest = v
		}
	}
	return slowest
}

func (s *Simulator) end(t *task) {
	s.vacate(t)
	s.tell(core.Input{Kind: core.Ended, Job: t.job.Spec.ID, Epoch: t.epoch})
}

// save stops a task with a checkpoint.
func (s *Simulator) save(t *task) {
	if !t.running {
		return
	}
	t.saved = t.progress.Done(s.now)
	s.vacate(t)
	s.tell(core.Input{Kind: core.Left, Job: t.job.Spec.ID, Epoch: t.epoch})
}

// vacate takes a task off its processors and out of queues, and stops what is
// being brought for it.
func (s *Simulator) vacate(t *task) {
	for i := range t.parts {
		p := &t.parts[i]
		st := s.sites[p.cluster]
		st.mark(p.procs, ours, false)
		if p.queued {
			st.queue.Cancel(s.now, queueID(t.job.Spec.ID, i))
			st.touched = true
		}
		*p = taskPart{cluster: p.cluster}
	}
	s.net.cancel(t, s.now)
	if t.running {
		s.running--
	}
	t.running = false
	t.version++
}
