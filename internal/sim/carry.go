package sim

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// carryOut does what the engine wants and queues the answer.
func (s *Simulator) carryOut(c *core.Command) {
	t := s.tasks[c.Job]
	if t == nil {
		return
	}
	if c.Kind == core.Release {
		s.release(t)
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
	}
}

// claim takes the processors of one part of several.
func (s *Simulator) claim(t *task, c *core.Command) {
	p := t.part(c.Part)
	p.cluster, p.size, p.procs = c.Cluster, c.N, c.Procs
	st := s.sites[c.Cluster]
	switch {
	case st.queue != nil:
		s.enqueue(t, c.Part)
	case st.take(c.Procs):
		s.tell(core.Input{Kind: core.Claimed, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
	default:
		s.tell(core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Procs: s.takenByOthers(st)})
	}
}

// start runs a task whose parts are claimed already, or claims its only part
// and runs it.
func (s *Simulator) start(t *task, c *core.Command) {
	if len(t.parts) <= 1 {
		p := t.part(0)
		p.cluster, p.size, p.procs = c.Cluster, c.N, c.Procs
		st := s.sites[c.Cluster]
		if st.queue != nil {
			s.enqueue(t, 0)
			return
		}
		if !st.take(c.Procs) {
			s.tell(core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Procs: s.takenByOthers(st)})
			return
		}
	}
	s.run(t)
}

// takenByOthers is what a cluster answers when a claim is lost; what has
// failed cannot be had either.
func (s *Simulator) takenByOthers(st *site) core.ProcSet {
	st.others = st.with(others)
	return st.with(others | down)
}

// enqueue hands a part to the cluster's own queue.
func (s *Simulator) enqueue(t *task, part int) {
	p := &t.parts[part]
	st := s.sites[p.cluster]
	estimate := t.job.Limit
	if estimate == 0 {
		estimate = t.job.Run
	}
	// The engine never hands over what cannot run: an error would be its mistake.
	if err := st.queue.Submit(s.now, localq.Job{ID: queueID(t.job.Spec.ID, part), Procs: p.size, Estimate: estimate}); err != nil {
		panic("sim: " + err.Error())
	}
	p.queued, st.touched = true, true
}

// A cluster's own queue knows a part by a number of its own.
const partsPerJob = 256

func queueID(id core.JobID, part int) int64 { return int64(id)*partsPerJob + int64(part) }

// startQueued starts what the cluster's own queue starts now.
func (s *Simulator) startQueued(c core.ClusterID) {
	s.starts = append(s.starts[:0], s.sites[c].queue.Schedule(s.now)...)
	for _, q := range s.starts {
		if q < 0 {
			s.foreignStarts(q)
			continue
		}
		t, part := s.tasks[core.JobID(q/partsPerJob)], int(q%partsPerJob)
		if len(t.parts) > 1 || len(t.job.Spec.Components) > 1 {
			s.tell(core.Input{Kind: core.Claimed, Job: t.job.Spec.ID, Epoch: t.epoch, Part: part})
		} else {
			s.run(t)
		}
		s.drain()
	}
}

// run starts the program.
func (s *Simulator) run(t *task) {
	id := t.job.Spec.ID
	finish := t.begin(s.now, s.speed(t))
	s.running++
	s.agenda.add(finish, jobEnds, entry{job: id, version: t.version})
	s.reportLater(t, 0)
	s.lastJob = s.steps
	s.tell(core.Input{Kind: core.Started, Job: id, Epoch: t.epoch})
	s.giveBackUnusable(t)
}

// giveBackUnusable lets a malleable program return at its start what it cannot
// use of its first size, such as all beyond a power of two.
func (s *Simulator) giveBackUnusable(t *task) {
	n := t.size() - t.job.App.Accept.Usable(t.size())
	if t.job.Spec.Kind != core.Malleable || n == 0 || len(t.parts) > 1 || t.parts[0].queued || t.size()-n < t.job.Spec.MinSize() {
		return
	}
	p := &t.parts[0]
	s.shrink(s.sites[p.cluster], p, n)
	p.size = p.procs.Count()
	s.tell(core.Input{Kind: core.GiveBack, Job: t.job.Spec.ID, Epoch: t.epoch, N: n})
}

// reportLater schedules the progress reports that tell the engine all there is
// to know until the next change of size: one when the program goes on after
// the change, one when it has run for a while.
func (s *Simulator) reportLater(t *task, pause time.Duration) {
	if t.job.Spec.Kind != core.Malleable || s.cfg.ProgressEvery <= 0 || s.cfg.Engine.Malleable == nil {
		return
	}
	e := entry{job: t.job.Spec.ID, version: t.version}
	if pause > 0 {
		s.agenda.add(s.now.Add(pause), progressDue, e)
	}
	s.agenda.add(s.now.Add(pause+s.cfg.ProgressEvery), progressDue, e)
}

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

// vacate takes a task off its processors and out of queues.
func (s *Simulator) vacate(t *task) {
	for i := range t.parts {
		p := &t.parts[i]
		st := s.sites[p.cluster]
		st.mark(p.procs, ours, false)
		if p.queued {
			if id := queueID(t.job.Spec.ID, i); !t.running || !st.queue.End(s.now, id) {
				st.queue.Cancel(s.now, id)
			}
			p.queued, st.touched = false, true
		}
		p.procs = nil
	}
	if t.running {
		s.running--
	}
	t.running = false
	t.version++
}

// release forgets whatever the present epoch holds or waits for. What was not
// saved is lost.
func (s *Simulator) release(t *task) {
	s.vacate(t) // files under way arrive, but nobody waits for them any more
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

// answer lets the program say how much of an offer it takes.
func (s *Simulator) answer(t *task, c *core.Command) {
	if !t.running {
		return
	}
	p := &t.parts[c.Part]
	in := core.Input{Kind: core.Answer, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Done: t.progress.Done(s.now)}
	st := s.sites[p.cluster]
	if c.N > 0 {
		in.N = t.job.App.Accept.Grow(t.size(), c.N, t.size()+c.N)
		got, _ := c.Procs.Last(c.N - in.N)
		if !st.take(got) {
			in.N = 0 // a local user was faster
		} else if in.N > 0 {
			p.procs = p.procs.Union(got)
		}
	} else {
		var also int
		in.N, also = t.job.App.Accept.Shrink(t.size(), -c.N, t.job.Spec.MinSize())
		s.shrink(st, p, in.N)
		if also > 0 {
			s.shrink(st, p, also)
			defer s.tell(core.Input{Kind: core.GiveBack, Job: c.Job, Epoch: c.Epoch, Part: c.Part, N: also})
		}
	}
	p.size = p.procs.Count()
	if in.N > 0 {
		finish := t.resize(s.now, s.speed(t))
		s.agenda.add(finish, jobEnds, entry{job: c.Job, version: t.version})
		s.reportLater(t, t.job.App.Resize)
	}
	s.tell(in)
}

func (s *Simulator) shrink(st *site, p *taskPart, n int) {
	kept, back := p.procs.Last(n)
	st.mark(back, ours, false)
	p.procs = kept
}
