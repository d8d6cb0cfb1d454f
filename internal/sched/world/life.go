package world

import (
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// applyBecame carries out a change of state.
func (w *World) applyBecame(j *Job, ev *core.Event) error {
	if ev.From != j.state || !j.state.MayBecome(ev.To) {
		return w.impossibleEvent(ev, "goes from "+ev.From.String()+" to "+ev.To.String()+" while the job is "+
			j.state.String())
	}
	if ev.To == core.Selected && len(j.parts) == 0 || ev.To == core.Running && !j.isReady() {
		return w.impossibleEvent(ev, "goes to "+ev.To.String()+" without the processors for it")
	}
	w.leaveQueue(j)
	if ev.Barred && !j.IsBarred(ev.Cluster) {
		j.barred = append(j.barred, ev.Cluster)
	}
	j.state, j.since = ev.To, ev.At
	w.noteRescheduling(j, ev)
	w.setDue(j, ev.When)
	switch ev.To {
	case core.Selected:
		j.aim = 0 // it was followed, or could not be
	case core.Running:
		if ev.From == core.Stopping {
			j.runOn()
		} else {
			w.beginRun(j, ev.At)
		}
	case core.Stopping:
		j.aim = ev.Aim
		if ev.From != core.Stopping {
			j.unlistParts()
		}
	case core.Done, core.Failed, core.Cancelled:
		if ev.To == core.Done && j.scaling != nil {
			j.recordFinish(ev.At)
		}
		w.releaseJob(j, ev.From)
		w.endHold(j)
		w.dropJob(j.spec.ID)
		w.spare = append(w.spare, j)
	case core.Stopped, core.Submitted, core.Resuming:
		if ev.To == core.Stopped {
			j.countLoss(ev)
		}
		w.releaseJob(j, ev.From)
	}
	return nil
}

// quickAttempt is the time that an attempt has to run so that its loss is taken
// for chance: what is lost sooner will probably be lost again.
const quickAttempt = time.Minute

// countLoss counts the attempt that has ended if it was lost.
func (j *Job) countLoss(ev *core.Event) {
	if !ev.Lost {
		j.quickLosses = 0
		return
	}
	j.losses++
	if ev.At.Sub(j.started) < quickAttempt {
		j.quickLosses++
	} else {
		j.quickLosses = 0
	}
}

// isReady reports whether the processors of all parts are ours, and confirmed if
// there are several: all parts start together or none does.
func (j *Job) isReady() bool {
	for _, p := range j.parts {
		if !p.held {
			return false
		}
	}
	return len(j.parts) == 1 || j.IsClaimed()
}

// unlistParts takes the parts out of the lists: nobody is asked who has been told
// to leave.
func (j *Job) unlistParts() {
	for _, p := range j.parts {
		p.cluster.unlistPart(p)
		p.cluster.leaving++
	}
}

// runOn undoes stopping: the job could not be saved.
func (j *Job) runOn() {
	j.aim = 0
	for _, p := range j.parts {
		p.cluster.leaving--
		if p.heedsPolicy() {
			p.cluster.enlistPart(p)
		}
	}
}

// beginRun enters the parts of a job that has just started into the lists of its
// clusters.
func (w *World) beginRun(j *Job, now core.Time) {
	j.started = now
	if j.attempts++; j.attempts == 1 {
		w.startedFirst(j)
	}
	j.tries, j.pin = 0, 0
	j.pace.beginAttempt(now, j.attempts == 1)
	for _, p := range j.parts {
		if p.cluster.spec.Managed {
			p.cluster.setQueued(p, false)
			p.cluster.running += p.size
		}
		if j.spec.Kind == core.Malleable && p.cluster.CanExtend() {
			p.extensible, p.min = true, p.size // what its first job in the queue has is not given back in pieces
		}
		w.starts++ // from 1: a part that does not run has order 0
		p.order = w.starts
		if j.spec.Kind == core.Malleable && (p.extensible || !p.cluster.spec.Managed) && j.fixed == 0 && !j.suspended {
			p.cluster.enlistPart(p)
		}
	}
}

// recordFinish teaches the program's scaling what a job that ran to its end took.
func (j *Job) recordFinish(now core.Time) {
	j.pace.recordProgress(now, 1, j.Size(), j.scaling)
	if j.pace.rate > 0 {
		j.scaling.learnRate(j.pace.rate/j.slowestSpeed(), j.pace.size)
	}
}

// releaseJob takes everything back that the job holds.
func (w *World) releaseJob(j *Job, from core.State) {
	for _, p := range j.parts {
		c := p.cluster
		if from == core.Stopping {
			c.leaving--
		}
		c.unlistPart(p)
		p.closeOffer()
		switch {
		case !c.spec.Managed:
			if p.offer.n > 0 {
				c.returnProcs(p.offer.procs)
			}
			c.returnProcs(p.procs)
		case from == core.Running || from == core.Stopping:
			c.running -= p.size
		default:
			c.setQueued(p, false)
		}
		*p = Part{}
	}
	j.parts = nil
}

// listBySize enters a running malleable part where its size puts it.
func (c *Cluster) listBySize(p *Part) {
	c.growable.setListed(p, p.size < p.max)
	c.shrinkable.setListed(p, p.size > p.min)
	c.reclaimable += p.size - p.min
}

// relistResized notes that the size of a listed part was another. Most changes move
// it from no list to another.
func (c *Cluster) relistResized(p *Part, was int) {
	if grows := p.size < p.max; grows != (was < p.max) {
		c.growable.setListed(p, grows)
	}
	if shrinks := p.size > p.min; shrinks != (was > p.min) {
		c.shrinkable.setListed(p, shrinks)
	}
	c.reclaimable += p.size - was
}

// enlistPart puts a part into the lists of those who may be asked.
func (c *Cluster) enlistPart(p *Part) {
	c.malleable.setListed(p, true)
	c.listBySize(p)
	c.asking.setListed(p, p.asked > 0)
}

// unlistPart takes a part out of the lists: it will not be asked again.
func (c *Cluster) unlistPart(p *Part) {
	if _, there := c.malleable.findPart(p); there {
		c.growable.setListed(p, false)
		c.shrinkable.setListed(p, false)
		c.reclaimable -= p.size - p.min
		c.malleable.setListed(p, false)
		c.asking.setListed(p, false)
	}
}

func (w *World) applyOffered(p *Part, ev *core.Event) error {
	c := p.cluster
	switch {
	case p.offer.n != 0 || ev.N == 0 || ev.Serial != p.serial+1 || !p.IsResizable():
		return w.impossibleEvent(ev, "offers to a part that cannot be asked now")
	case ev.N > 0 && (p.size+ev.N > p.max || !c.setAside(ev)):
		return w.impossibleEvent(ev, "offers processors that are not free, or too many")
	case ev.N < 0 && p.size+ev.N < p.min:
		return w.impossibleEvent(ev, "asks for more than the part can spare")
	}
	p.offer = offer{n: ev.N, procs: ev.Procs, mandatory: ev.Mandatory, due: ev.When}
	p.serial = ev.Serial
	if ev.N > 0 {
		p.asked = 0
		c.asking.setListed(p, false)
	}
	c.offers++
	if ev.When != core.Never {
		w.timers.addTimer(Timer{At: ev.When, Kind: AnswerDue, Job: ev.Job, Epoch: ev.Epoch, Part: ev.Part})
	}
	return nil
}

// setAside keeps what is offered from others. In a managed cluster nobody but its manager can.
func (c *Cluster) setAside(ev *core.Event) bool {
	if c.spec.Managed {
		return len(ev.Procs) == 0 && c.running+ev.N <= c.procs
	}
	return ev.Procs.CountProcs() == ev.N && c.takeProcs(ev.Procs)
}

// applyAccepted notes that the manager is asked for what a part accepts of an offer.
func (w *World) applyAccepted(p *Part, ev *core.Event) error {
	if ev.N < 1 || ev.N > p.offer.n || ev.Serial != p.serial || p.offer.accepted != 0 || !p.cluster.spec.Managed {
		return w.impossibleEvent(ev, "accepts an offer that was not made")
	}
	p.offer.accepted, p.offer.due = ev.N, ev.When
	if ev.When != core.Never && !p.offer.silent {
		w.timers.addTimer(Timer{At: ev.When, Kind: AnswerDue, Job: ev.Job, Epoch: ev.Epoch, Part: ev.Part})
	}
	return nil
}

// closeOffer ends the waiting for an answer.
func (p *Part) closeOffer() {
	if p.offer.n != 0 && !p.offer.silent {
		p.cluster.offers--
	}
}

// applySilent notes that a part does not answer. What it was offered stays its own
// until it does, but others go on without it.
func (w *World) applySilent(p *Part, ev *core.Event) error {
	if p.offer.n == 0 || p.offer.silent || p.offer.mandatory || ev.Serial != p.serial {
		return w.impossibleEvent(ev, "tells of an answer that nobody waits for")
	}
	p.closeOffer()
	p.offer.silent = true
	p.cluster.unlistPart(p)
	return nil
}

func (w *World) applyAnswered(p *Part, ev *core.Event) error {
	c, n := p.cluster, p.offer.n
	if n == 0 || ev.N < 0 || ev.N > max(n, -n) || ev.Serial != p.serial || n < 0 && p.size-ev.N < p.min {
		return w.impossibleEvent(ev, "answers an offer that was not made")
	}
	p.closeOffer()
	procs, silent, accepted := p.offer.procs, p.offer.silent, p.offer.accepted
	p.offer = offer{}
	if silent && p.heedsPolicy() {
		c.enlistPart(p)
	}
	if n > 0 {
		kept, back := procs.SplitLast(n - ev.N)
		c.returnProcs(back)
		p.refused = n - ev.N
		if c.blocked && p.refused > 0 {
			if _, taken := c.others.containsAny(back); taken {
				p.refused = 0 // somebody was faster: that was not its choice
			}
		}
		if p.refused > 0 && (accepted == 0 || accepted < n) { // else it was the manager who had none
			p.job.scaling.refuses()
		}
		if ev.N > 0 {
			w.resizePart(p, p.size+ev.N, p.procs.Union(kept), ev)
		}
		return nil
	}
	if ev.N > 0 {
		kept, back := p.procs.SplitLast(ev.N)
		w.resizePart(p, p.size-ev.N, kept, ev)
		c.returnProcs(back)
		p.refused = 0
	}
	return nil
}

func (w *World) gaveBack(p *Part, ev *core.Event) error {
	kept, back := p.procs.SplitLast(ev.N)
	if ev.N <= 0 || p.size-ev.N < p.min || !slices.Equal(back, ev.Procs) || !p.IsResizable() {
		return w.impossibleEvent(ev, "gives back more than it can")
	}
	w.resizePart(p, p.size-ev.N, kept, ev)
	p.cluster.returnProcs(back)
	p.returned = ev.Serial
	p.refused = max(p.refused, ev.N)
	p.job.scaling.refuses()
	return nil
}

func (w *World) applyAsked(p *Part, ev *core.Event) error {
	if ev.N <= 0 || !p.IsResizable() {
		return w.impossibleEvent(ev, "asks for what it cannot have")
	}
	p.refused = 0 // it may take now what it refused before
	if ev.Mandatory {
		p.asked = ev.N
		p.cluster.asking.setListed(p, p.heedsPolicy())
	}
	return nil
}

// IsResizable reports whether the part runs and may change its size.
func (p *Part) IsResizable() bool {
	return p.job.state == core.Running && p.job.spec.Kind == core.Malleable && (p.extensible || !p.cluster.spec.Managed)
}

// heedsPolicy reports whether the part is in the lists of those whom a policy may ask: its user has not fixed its size,
// and it answers: it is not stopped.
func (p *Part) heedsPolicy() bool {
	return p.IsResizable() && !p.offer.silent && p.job.fixed == 0 && !p.job.suspended
}

// applySized takes a job whose user says how large it is to be out of the policy's hands, or gives it back.
func (w *World) applySized(j *Job, ev *core.Event) error {
	if comp := &j.spec.Components[0]; j.spec.Kind == core.Rigid || len(j.spec.Components) != 1 ||
		ev.N != 0 && (ev.N < comp.Min || ev.N > comp.Max) {
		return w.impossibleEvent(ev, "fixes a size that the job cannot have")
	}
	for _, p := range j.parts {
		if p.heedsPolicy() {
			p.cluster.unlistPart(p)
		}
	}
	j.fixed = ev.N
	for _, p := range j.parts {
		if p.heedsPolicy() {
			p.cluster.enlistPart(p)
		}
	}
	return nil
}

// resizePart changes the processors that a running part holds. Until now the job
// ran at its old size, which the progress in the event measures.
func (w *World) resizePart(p *Part, size int, procs core.ProcSet, ev *core.Event) {
	j := p.job
	if ev.Done > 0 {
		j.pace.recordProgress(ev.At, ev.Done, j.Size(), j.scaling)
	}
	was := p.size
	if p.procs, p.size = procs, size; p.cluster.spec.Managed {
		p.cluster.running += size - was
	}
	if _, listed := p.cluster.malleable.findPart(p); listed {
		p.cluster.relistResized(p, was)
	}
	j.pace.recordResize(ev.At, ev.Done)
}
