package sim

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// answerOffer lets the program say how much of an offer it takes.
func (s *Simulator) answerOffer(t *task, c *core.Command) {
	if !t.running {
		return
	}
	in := core.Input{Kind: core.Answer, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Done: t.progress.DonePart(s.now)}
	also := 0
	switch {
	case c.N < 0:
		in.N, also = s.shrinkPart(t, c)
	case s.sites[c.Cluster].queue != nil: // what it accepts its queue has to give it
		in.N = t.job.App.Accept.AcceptGrow(t.totalSize(), c.N, t.totalSize()+c.N)
		s.tellEngine(in)
		return
	default:
		in.N = s.growPart(t, c)
	}
	if in.N > 0 {
		s.resumeResized(t)
	}
	s.tellEngine(in)
	if also > 0 {
		s.tellEngine(core.Input{Kind: core.GiveBack, Job: c.Job, Epoch: c.Epoch, Part: c.Part, N: also})
	}
}

// resumeResized lets the program go on at its new size.
func (s *Simulator) resumeResized(t *task) {
	finish := t.resumeAtSize(s.now, s.taskSpeed(t))
	s.agenda.addEntry(finish, jobEnds, entry{task: t, version: t.version})
	s.reportLater(t, t.job.App.Resize)
}

// growPart gives a part as many of the offered processors as the program takes. If
// a local user was faster with some of them, only those before are to be had,
// and the engine hears who uses what.
func (s *Simulator) growPart(t *task, c *core.Command) int {
	p, st := &t.parts[c.Part], s.sites[c.Cluster]
	there := st.countAvailable(c.Procs)
	if there < c.N {
		s.tellEngine(core.Input{Kind: core.Polled, Cluster: c.Cluster, Procs: st.pollForeign()})
	}
	n := t.job.App.Accept.AcceptGrow(t.totalSize(), there, t.totalSize()+there)
	if n == 0 {
		return 0
	}
	got, _ := c.Procs.SplitLast(c.N - n)
	st.markOwner(got, ownJobs, true)
	p.procs = p.procs.Union(got)
	p.size += n
	return n
}

// shrinkPart takes from a part what the program gives up of what it is asked for,
// and what it cannot use then. A program in several clusters may not get to a
// size that it can use by what it has in this one: it gives what it must and
// lets the rest idle.
func (s *Simulator) shrinkPart(t *task, c *core.Command) (accepted, also int) {
	p := &t.parts[c.Part]
	spare := p.size - s.eng.World().Job(c.Job).Part(c.Part).MinSize()
	accepted, also = t.job.App.Accept.AcceptShrink(t.totalSize(), -c.N, t.totalSize()-spare)
	if must := min(-c.N, spare); c.Mandatory && len(t.parts) > 1 && accepted < must {
		accepted, also = must, 0
	}
	s.dropProcessors(p, accepted+also)
	return accepted, also
}

// giveBackUnusable lets a malleable program return at its start what it cannot
// use of its first size, such as all beyond a power of two.
func (s *Simulator) giveBackUnusable(t *task) {
	n := t.totalSize() - t.job.App.Accept.UsableSize(t.totalSize())
	if t.job.Spec.Kind != core.Malleable || n == 0 || len(t.parts) > 1 || t.parts[0].queued ||
		t.totalSize()-n < t.job.Spec.MinSize() {
		return
	}
	s.dropProcessors(&t.parts[0], n)
	s.tellEngine(core.Input{Kind: core.GiveBack, Job: t.job.Spec.ID, Epoch: t.epoch, N: n})
}

// dropProcessors takes the n highest-numbered processors from a part.
func (s *Simulator) dropProcessors(p *taskPart, n int) {
	if n == 0 {
		return
	}
	if kept := len(p.more.granted) - n; s.sites[p.cluster].queue != nil {
		s.endHolders(p, p.more.granted[kept:])
		p.more.granted = p.more.granted[:kept]
	}
	kept, back := p.procs.SplitLast(n)
	s.sites[p.cluster].markOwner(back, ownJobs, false)
	p.procs = kept
	p.size -= n
}

// reportLater schedules the progress reports that tell the engine all there is
// to know until the next change of size: one when the program goes on after
// the change, one when it has run for a while.
func (s *Simulator) reportLater(t *task, pause time.Duration) {
	if t.job.Spec.Kind != core.Malleable || s.cfg.ProgressEvery <= 0 || s.cfg.Engine.Malleable == nil {
		return
	}
	e := entry{task: t, version: t.version}
	if pause > 0 {
		s.agenda.addEntry(s.now.Add(pause), progressDue, e)
	}
	s.agenda.addEntry(s.now.Add(pause+s.cfg.ProgressEvery), progressDue, e)
}
