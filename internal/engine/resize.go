package engine

import (
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/policy/malleable"
	"github.com/godwit-hpc/godwit/internal/world"
)

// takeResize handles what a running job says about its size.
func (e *Engine) takeResize(j *world.Job, in *core.Input) {
	p := j.Part(in.Part)
	if p == nil {
		return
	}
	switch in.Kind {
	case core.Answer:
		e.answer(j, p, in)
	case core.GiveBack:
		e.giveBack(j, p, in)
	case core.Ask:
		e.ask(j, p, in)
	}
}

// offer puts a change of size to a part. It is revalidated here, whatever the
// policy said.
func (e *Engine) offer(o malleable.Offer, mandatory bool) bool {
	p, c := o.Part, o.Part.Cluster()
	if open, _, _ := p.Offered(); open != 0 || o.N == 0 || p.Job().State() != core.Running {
		return false
	}
	id := p.Job().Spec().ID
	ev := core.Event{Kind: core.PartOffered, Job: id, Epoch: p.Job().Epoch(), Part: p.Index(), Cluster: c.ID(),
		N: o.N, Mandatory: mandatory, When: core.Never, Why: o.Why}
	switch {
	case o.N > 0 && (o.N > e.view(id).Room(c) || p.Size()+o.N > p.Max()), p.Size()+o.N < p.Min():
		return false
	case o.N > 0:
		ev.Procs = c.Choose(o.N, nil)
	default:
		_, ev.Procs = p.Procs().Last(-o.N)
		if mandatory {
			ev.When = e.now.Add(e.cfg.ShrinkGrace)
		}
	}
	e.emit(ev)
	e.command(core.Command{Kind: core.Offer, Job: id, Epoch: ev.Epoch, Part: ev.Part, Cluster: c.ID(),
		N: o.N, Procs: ev.Procs, Due: ev.When, Mandatory: mandatory})
	return true
}

// answer: the job accepted some of an offer. What it did not take goes back at
// once; a job that does not give what it must is stopped.
func (e *Engine) answer(j *world.Job, p *world.Part, in *core.Input) {
	n, mandatory, _ := p.Offered()
	if n == 0 || in.N < 0 {
		return
	}
	accepted := min(in.N, max(n, -n))
	e.emit(core.Event{Kind: core.PartAnswered, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: p.Cluster().ID(),
		N: accepted, Grow: n > 0, Mandatory: mandatory, Done: in.Done})
	e.touchAnswered(p.Cluster())
	e.scan = e.scan || n < 0 || accepted < n
	if mandatory && n < 0 && accepted < -n {
		e.stop(j, core.Reason{Code: core.NotReleasedInTime, A: float64(-n - accepted)})
	}
}

// giveBack: the job releases processors by itself.
func (e *Engine) giveBack(j *world.Job, p *world.Part, in *core.Input) {
	n := min(in.N, p.Size()-p.Min())
	if open, _, _ := p.Offered(); n <= 0 || open != 0 || j.State() != core.Running || p.Cluster().Managed() {
		return
	}
	_, back := p.Procs().Last(n)
	e.emit(core.Event{Kind: core.PartGaveBack, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: p.Cluster().ID(),
		N: n, Procs: back, Done: in.Done, Why: core.Reason{Code: core.AskedByJob, A: float64(-n)}})
	e.touchAnswered(p.Cluster())
	e.scan = true
}

// ask: the job wants to grow. A voluntary wish is answered with what is free;
// for a mandatory one others are shrunk.
func (e *Engine) ask(j *world.Job, p *world.Part, in *core.Input) {
	want := min(in.N, p.Max()-p.Size())
	if open, _, _ := p.Offered(); want <= 0 || open != 0 || j.State() != core.Running ||
		j.Spec().Kind != core.Malleable || p.Cluster().Managed() {
		return
	}
	c := p.Cluster()
	why := core.Reason{Code: core.AskedByJob, A: float64(want)}
	e.emit(core.Event{Kind: core.PartAsked, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(), N: want, Mandatory: in.Mandatory, Why: why})
	room := e.view(in.Job).Room(c)
	if in.Mandatory && room < want && c.Offers() == 0 && c.ReclaimFor() == 0 && e.cfg.Malleable != nil {
		e.reclaim(c, in.Job, want-room)
	}
	if c.ReclaimFor() != in.Job { // nothing to wait for
		e.offer(malleable.Offer{Part: p, N: min(room, want), Why: why}, false)
	}
}

// reclaim shrinks malleable jobs of a cluster, because they must, until `need`
// processors are there for the given job.
func (e *Engine) reclaim(c *world.Cluster, forJob core.JobID, need int) {
	e.offers = e.cfg.Malleable.Shrink(e.view(forJob), c, need, e.offers[:0])
	e.emit(core.Event{Kind: core.ReclaimBegan, Job: forJob, Cluster: c.ID(), N: need, Why: core.Reason{Code: core.MakeRoom, A: float64(forJob), B: float64(need)}})
	for _, o := range e.offers {
		if o.Part.Job().Spec().ID != forJob && o.N < 0 {
			e.offer(o, true)
		}
	}
}

// overdue: a mandatory request was not answered within its time.
func (e *Engine) overdue(t world.Timer) {
	j := e.w.Job(t.Job)
	n, _, due := j.Part(t.Part).Offered()
	e.emit(core.Event{Kind: core.PartAnswered, Job: t.Job, Epoch: t.Epoch, Part: t.Part, Mandatory: true,
		Cluster: j.Part(t.Part).Cluster().ID(), Why: core.Reason{Code: core.NotReleasedInTime, A: float64(-n), B: e.cfg.ShrinkGrace.Seconds()}})
	e.stop(j, core.Reason{Code: core.NotReleasedInTime, A: float64(-n), B: due.Sub(e.now).Seconds() + e.cfg.ShrinkGrace.Seconds()})
	e.touchAll(j)
}
