package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// takeResize handles what a running job says about its size.
func (e *Engine) takeResize(j *world.Job, in *core.Input) {
	p := j.Part(in.Part)
	if p == nil || in.N < 0 || !e.runs(j) {
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

// resizable reports whether a part runs and may change its size.
func resizable(p *world.Part) bool {
	return p.Job().State() == core.Running && p.Job().Spec().Kind == core.Malleable && !p.Cluster().Managed()
}

// offer puts a change of size to a part. It is revalidated here, whatever the
// policy said.
func (e *Engine) offer(o malleable.Offer, mandatory bool) bool {
	p, c := o.Part, o.Part.Cluster()
	if open, _, _ := p.Offered(); open != 0 || o.N == 0 || !resizable(p) {
		return false
	}
	id := p.Job().Spec().ID
	ev := core.Event{Kind: core.PartOffered, Job: id, Epoch: p.Job().Epoch(), Part: p.Index(), Cluster: c.ID(),
		N: o.N, Mandatory: mandatory, When: e.within(e.cfg.ShrinkGrace), Serial: p.Serial() + 1, Why: o.Why}
	switch {
	case o.N > 0 && (o.N > e.view(id).Room(c) || p.Size()+o.N > p.Max()), p.Size()+o.N < p.Min():
		return false
	case o.N > 0:
		ev.Procs = c.Choose(o.N, nil)
		// Those who wait see nothing of the cluster until the answer is in.
		e.dirty[c.ID()].waits = e.cfg.Approach == PRA
	default:
		_, ev.Procs = p.Procs().Last(-o.N)
	}
	e.emit(ev)
	e.command(core.Command{Kind: core.Offer, Job: id, Epoch: ev.Epoch, Part: ev.Part, Cluster: c.ID(),
		N: o.N, Procs: ev.Procs, Due: ev.When, Mandatory: mandatory, Serial: ev.Serial})
	return true
}

// owed is how much of an offer the part can take: processors that it has given
// back by itself since cannot be asked of it once more.
func owed(p *world.Part, offered int) int {
	if offered > 0 {
		return offered
	}
	return min(-offered, p.Size()-p.Min())
}

// answer: the job accepted some of an offer. What it did not take goes back at
// once; a job that does not give what it must is stopped.
func (e *Engine) answer(j *world.Job, p *world.Part, in *core.Input) {
	n, mandatory, _ := p.Offered()
	if n == 0 || in.Serial != 0 && in.Serial != p.Serial() {
		return
	}
	c, due := p.Cluster(), owed(p, n)
	accepted := min(in.N, due)
	ev := core.Event{Kind: core.PartAnswered, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(),
		N: accepted, Grow: n > 0, Mandatory: mandatory, Serial: p.Serial()}
	if sane(in.Done) {
		ev.Done = in.Done
	}
	e.emit(ev)
	e.touchAnswered(c)
	if (n < 0 || accepted < n) && c.ReclaimFor() == 0 { // else they are somebody's
		e.freed(c)
	}
	switch {
	case n > 0 && accepted > 0 && c.Failed(p.Procs()) > 0:
		// A host failed between the offer and the answer.
		e.attemptLost(j, core.Reason{Code: core.HostLost, A: float64(c.Failed(p.Procs()))})
	case n < 0 && mandatory && accepted < due:
		e.stop(j, 0, core.Reason{Code: core.ReleasedTooFew, A: float64(accepted), B: float64(due)})
	}
}

// overdue: an offer was not answered within its time. If it could have been
// refused others go on without the answer: the program may be one that looks
// up only every half hour. It keeps what it was offered until it answers, as
// it may have taken it already.
func (e *Engine) overdue(j *world.Job, p *world.Part) {
	n, mandatory, due := p.Offered()
	after := e.now.Sub(due) + e.cfg.ShrinkGrace
	if !mandatory {
		e.emit(core.Event{Kind: core.PartSilent, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(), Cluster: p.Cluster().ID(),
			Serial: p.Serial(), Why: core.Reason{Code: core.NotAnswered, A: after.Seconds()}})
		e.freed(p.Cluster())
		return
	}
	why := core.Reason{Code: core.NotReleasedInTime, A: float64(owed(p, n)), B: after.Seconds()}
	e.emit(core.Event{Kind: core.PartAnswered, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(), Mandatory: true,
		Cluster: p.Cluster().ID(), Serial: p.Serial(), Why: why})
	e.touchAnswered(p.Cluster())
	if owed(p, n) > 0 {
		e.stop(j, 0, why)
	}
}

// giveBack: the job releases processors by itself, whatever it was offered
// meanwhile.
func (e *Engine) giveBack(j *world.Job, p *world.Part, in *core.Input) {
	n := min(in.N, p.Size()-p.Min())
	if n == 0 || !resizable(p) || in.Serial != 0 && in.Serial <= p.Returned() {
		return
	}
	c := p.Cluster()
	_, back := p.Procs().Last(n)
	ev := core.Event{Kind: core.PartGaveBack, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(),
		N: n, Procs: back, Serial: in.Serial, Why: core.Reason{Code: core.GivenBack}}
	if sane(in.Done) {
		ev.Done = in.Done
	}
	e.emit(ev)
	e.freed(c)
}

// ask: the job wants to grow. A voluntary wish is answered with what is free,
// or not at all; one that must be met is kept until it has been (see serve).
func (e *Engine) ask(j *world.Job, p *world.Part, in *core.Input) {
	open, _, _ := p.Offered()
	want := min(in.N, p.Max()-p.Size()-max(0, open))
	if want <= 0 || !resizable(p) {
		return
	}
	c := p.Cluster()
	why := core.Reason{Code: core.AskedByJob, A: float64(want)}
	e.emit(core.Event{Kind: core.PartAsked, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(), N: want, Mandatory: in.Mandatory, Why: why})
	if in.Mandatory {
		e.touchAnswered(c)
		return
	}
	e.offer(malleable.Offer{Part: p, N: min(want, e.view(in.Job).Room(c)), Why: why}, false)
}

// serve sees to the jobs of a cluster that said they must grow, oldest first:
// others are shrunk for them if need be. It reports whether somebody was
// offered or asked something.
func (e *Engine) serve(c *world.Cluster) bool {
	for _, p := range c.Asking() {
		id := p.Job().Spec().ID
		want, room := min(p.Asked(), p.Max()-p.Size()), e.view(id).Room(c)
		if room < want && e.reclaim(c, id, want-room) || e.grant(p) {
			return true
		}
	}
	return false
}

// grant offers a part what there is of what it must have.
func (e *Engine) grant(p *world.Part) bool {
	want, room := min(p.Asked(), p.Max()-p.Size()), e.view(p.Job().Spec().ID).Room(p.Cluster())
	return e.offer(malleable.Offer{Part: p, N: max(0, min(want, room)),
		Why: core.Reason{Code: core.AskedByJob, A: float64(p.Asked())}}, false)
}
