package engine

import (
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// takeResize handles what a running job says about its size.
func (e *Engine) takeResize(j *world.Job, in *core.Input) {
	p := j.Part(in.Part)
	if p == nil || in.N < 0 || !e.ensureRunning(j) {
		return
	}
	switch in.Kind {
	case core.ResizeJob:
		e.resizeForUser(j, p, in.N)
	case core.Answer:
		if !e.acquireProcs(p, in) {
			e.answerOffer(j, p, in)
		}
	case core.Granted:
		e.takeGrant(j, p, in)
	case core.GiveBack:
		e.giveBack(j, p, in)
	case core.Ask:
		e.askGrowth(j, p, in)
	}
}

// offerResize puts a change of size to a part. It is revalidated here, whatever the
// policy said.
func (e *Engine) offerResize(o malleable.Offer, mandatory bool) bool {
	p, c := o.Part, o.Part.Cluster()
	if open, _, _ := p.OpenOffer(); open != 0 || o.N == 0 || !p.IsResizable() {
		return false
	}
	id := p.Job().Spec().ID
	ev := core.Event{Kind: core.PartOffered, Job: id, Epoch: p.Job().Epoch(), Part: p.Index(), Cluster: c.ID(),
		N: o.N, Mandatory: mandatory, When: e.graceEnd(e.cfg.ShrinkGrace), Serial: p.OfferSerial() + 1, Why: o.Why}
	switch {
	case o.N > 0 && (o.N > e.viewFor(id).RoomIn(c) || o.N > p.RoomToGrow()), p.Size()+o.N < p.MinSize():
		return false
	case o.N > 0:
		if !c.IsManaged() {
			ev.Procs = p.ChooseGrowth(o.N)
		}
		// Those who wait see nothing of the cluster until the answer is in.
		e.dirty[c.ID()].waits = e.cfg.Approach == PRA
	default:
		_, ev.Procs = p.Procs().SplitLast(-o.N)
	}
	e.emitEvent(ev)
	e.emitCommand(core.Command{Kind: core.Offer, Job: id, Epoch: ev.Epoch, Part: ev.Part, Cluster: c.ID(),
		N: o.N, Procs: ev.Procs, Due: ev.When, Mandatory: mandatory, Serial: ev.Serial})
	return true
}

// amountOwed is how much of an offer the part can take: processors that it has given
// back by itself since cannot be asked of it once more.
func amountOwed(p *world.Part, offered int) int {
	if offered > 0 {
		return offered
	}
	return min(-offered, p.Size()-p.MinSize())
}

// answerOffer: the job accepted some of an offer. What it did not take goes back at
// once; a job that does not give what it must is stopped.
func (e *Engine) answerOffer(j *world.Job, p *world.Part, in *core.Input) {
	n, mandatory, _ := p.OpenOffer()
	if n == 0 || in.Serial != 0 && in.Serial != p.OfferSerial() {
		return
	}
	c, due := p.Cluster(), amountOwed(p, n)
	accepted := min(in.N, due)
	ev := core.Event{Kind: core.PartAnswered, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(),
		N: accepted, Grow: n > 0, Mandatory: mandatory, Serial: p.OfferSerial()}
	if wanted := p.AcceptedProcs(); accepted < wanted {
		ev.Why = core.Reason{Code: core.NotGranted, A: float64(accepted), B: float64(wanted)}
	}
	if isFraction(in.Done) {
		ev.Done = in.Done
	}
	e.emitEvent(ev)
	e.touchAnswered(c)
	if (n < 0 || accepted < n) && c.ReclaimFor() == 0 { // else they are somebody's
		e.markFreed(c)
	}
	switch {
	case n > 0 && accepted > 0 && c.CountFailed(p.Procs()) > 0:
		// A host failed between the offer and the answer.
		e.attemptLost(j, core.Reason{Code: core.HostLost, A: float64(c.CountFailed(p.Procs()))})
	case n < 0 && mandatory && accepted < due:
		e.stopJob(j, 0, core.Reason{Code: core.ReleasedTooFew, A: float64(accepted), B: float64(due)})
	}
}

// acquireProcs has the manager of a managed cluster give a part what its program accepts of an offer of more. It
// reports whether the answer is about that: then the offer stays open until the manager has given them, or has none.
func (e *Engine) acquireProcs(p *world.Part, in *core.Input) bool {
	n, _, _ := p.OpenOffer()
	if !p.Cluster().IsManaged() || n <= 0 || in.N == 0 || in.Serial != 0 && in.Serial != p.OfferSerial() {
		return false
	}
	if p.AcceptedProcs() == 0 {
		accepted := min(in.N, n)
		ev := core.Event{Kind: core.PartAccepted, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: p.Cluster().ID(),
			N: accepted, When: e.graceEnd(e.cfg.GrowGrace), Serial: p.OfferSerial(),
			Why: core.Reason{Code: core.AskingManager, A: float64(accepted), B: e.cfg.GrowGrace.Seconds()}}
		e.emitEvent(ev)
		e.emitCommand(core.Command{Kind: core.Acquire, Job: ev.Job, Epoch: ev.Epoch, Part: ev.Part, Cluster: ev.Cluster,
			N: accepted, Due: ev.When, Serial: ev.Serial})
	}
	return true
}

// takeGrant: the manager has given a part what it was asked for, or as much of it as it had in time.
func (e *Engine) takeGrant(j *world.Job, p *world.Part, in *core.Input) {
	if wanted := p.AcceptedProcs(); wanted > 0 && in.Serial == p.OfferSerial() {
		granted := *in
		granted.N = min(in.N, wanted)
		e.answerOffer(j, p, &granted)
	}
}

// offerOverdue: an offer was not answered within its time. If it could have been
// refused others go on without the answer: the program may be one that looks
// up only every half hour. It keeps what it was offered until it answers, as
// it may have taken it already.
func (e *Engine) offerOverdue(j *world.Job, p *world.Part) {
	n, mandatory, due := p.OpenOffer()
	after := e.now.Sub(due) + e.cfg.ShrinkGrace
	if p.AcceptedProcs() > 0 {
		after = e.now.Sub(due) + e.cfg.GrowGrace
	}
	if !mandatory {
		e.emitEvent(core.Event{Kind: core.PartSilent, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(),
			Cluster: p.Cluster().ID(),
			Serial:  p.OfferSerial(), Why: core.Reason{Code: core.NotAnswered, A: after.Seconds()}})
		e.markFreed(p.Cluster())
		return
	}
	why := core.Reason{Code: core.NotReleasedInTime, A: float64(amountOwed(p, n)), B: after.Seconds()}
	e.emitEvent(core.Event{Kind: core.PartAnswered, Job: j.Spec().ID, Epoch: j.Epoch(), Part: p.Index(), Mandatory: true,
		Cluster: p.Cluster().ID(), Serial: p.OfferSerial(), Why: why})
	e.touchAnswered(p.Cluster())
	if amountOwed(p, n) > 0 {
		e.stopJob(j, 0, why)
	}
}

// giveBack: the job releases processors by itself, whatever it was offered
// meanwhile.
func (e *Engine) giveBack(j *world.Job, p *world.Part, in *core.Input) {
	n := min(in.N, p.Size()-p.MinSize())
	if n == 0 || !p.IsResizable() || in.Serial != 0 && in.Serial <= p.ReturnSerial() {
		return
	}
	c := p.Cluster()
	_, back := p.Procs().SplitLast(n)
	ev := core.Event{Kind: core.PartGaveBack, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(),
		N: n, Procs: back, Serial: in.Serial, Why: core.Reason{Code: core.GivenBack}}
	if isFraction(in.Done) {
		ev.Done = in.Done
	}
	e.emitEvent(ev)
	e.markFreed(c)
}

// resizeForUser: the user wants the job to have a size, and keep it: a malleable one is offered more, as far as there
// are, which its program may refuse, or has to give some back. Others, and those in clusters where nobody can be given
// processors while it runs, save themselves and begin again with so many. Until the user says 0 the policy leaves the
// job alone.
func (e *Engine) resizeForUser(j *world.Job, p *world.Part, size int) {
	spec := j.Spec()
	if spec.Kind == core.Rigid || len(spec.Components) > 1 || len(j.Parts()) > 1 || j.State() != core.Running {
		return
	}
	why, comp := core.Reason{Code: core.SizeByUser, A: float64(size)}, &spec.Components[0]
	size = min(max(size, comp.Min), comp.Max)
	if why.A == 0 {
		why, size = core.Reason{Code: core.SizeByPolicy}, 0
	}
	more := min(size-p.Size(), max(0, e.viewFor(spec.ID).RoomIn(p.Cluster())), p.RoomToGrow())
	if size > p.Size() && more == 0 {
		return // there are none
	}
	if size != j.FixedSize() {
		e.emitEvent(core.Event{Kind: core.JobSized, Job: spec.ID, Epoch: j.Epoch(), N: size, Why: why})
	}
	switch {
	case size == 0:
		e.markFreed(p.Cluster())
	case p.IsResizable() && size >= p.MinSize():
		e.offerResize(malleable.Offer{Part: p, N: more, Why: why}, more < 0)
	case more != 0:
		e.stopJob(j, 0, why)
	}
}

// askGrowth: the job wants to grow. A voluntary wish is answered with what is free,
// or not at all; one that must be met is kept until it has been (see serveAsking).
func (e *Engine) askGrowth(j *world.Job, p *world.Part, in *core.Input) {
	open, _, _ := p.OpenOffer()
	most := p.MaxSize()
	if j.FixedSize() > 0 {
		most = j.FixedSize()
	}
	want := min(in.N, most-p.Size()-max(0, open))
	if want <= 0 || !p.IsResizable() {
		return
	}
	c := p.Cluster()
	why := core.Reason{Code: core.AskedByJob, A: float64(want)}
	e.emitEvent(core.Event{Kind: core.PartAsked, Job: in.Job, Epoch: in.Epoch, Part: in.Part, Cluster: c.ID(), N: want,
		Mandatory: in.Mandatory, Why: why})
	if in.Mandatory {
		e.touchAnswered(c)
		return
	}
	e.offerResize(malleable.Offer{Part: p, N: min(want, e.viewFor(in.Job).RoomIn(c), p.RoomToGrow()), Why: why}, false)
}

// serveAsking sees to the jobs of a cluster that said they must grow, oldest first:
// others are shrunk for them if need be. It reports whether somebody was
// offered or asked something.
func (e *Engine) serveAsking(c *world.Cluster) bool {
	for _, p := range c.AskingParts() {
		id := p.Job().Spec().ID
		want, room := min(p.AskedProcs(), p.MaxSize()-p.Size()), e.viewFor(id).RoomIn(c)
		if room < want && e.reclaimProcs(c, id, want-room) || e.grantGrowth(p) {
			return true
		}
	}
	return false
}

// grantGrowth offers a part what there is of what it must have.
func (e *Engine) grantGrowth(p *world.Part) bool {
	want, room := min(p.AskedProcs(), p.MaxSize()-p.Size()), e.viewFor(p.Job().Spec().ID).RoomIn(p.Cluster())
	return e.offerResize(malleable.Offer{Part: p, N: max(0, min(want, room, p.RoomToGrow())),
		Why: core.Reason{Code: core.AskedByJob, A: float64(p.AskedProcs())}}, false)
}
