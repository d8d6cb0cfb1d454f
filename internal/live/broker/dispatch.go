package broker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// handleCommand sees to what the engine wants done. Starting and releasing go through
// the outbox; what an agent is told follows from the state of its job, so an
// agent that is not there is told when it comes.
func (t *turn) handleCommand(c core.Command) {
	j := t.b.jobs[c.Job]
	if j == nil {
		return
	}
	switch c.Kind {
	case core.Release: // of all parts
		for _, at := range j.placesOf(c.Epoch) {
			c := c
			c.Part, c.Cluster = at.part, at.cluster
			id := t.sendCommand(c)
			t.afterCommit(func() { t.b.executeCommand(j, id, c) })
		}
	case core.Start:
		if isSplitOver(&j.rec) { // their agents are there
			t.beginParts(j)
			t.watchBegin(j)
			return
		}
		id := t.sendCommand(c)
		t.afterCommit(func() { t.b.executeCommand(j, id, c) })
	case core.Stage:
		id := t.sendCommand(c)
		t.afterCommit(func() { t.b.executeCommand(j, id, c) })
	case core.Describe:
		if len(t.questions.groups) == 0 {
			t.afterCommit(func() { t.b.describeJobs(t.questions) })
		}
		t.questions.addJob(j, t.sendCommand(c))
	case core.Stop:
		order := wire.Order{Kind: wire.Stop, By: c.Due}
		if c.Terminate {
			order = wire.Order{Kind: wire.Cancel, Within: max(0, c.Due.Sub(t.now))}
		}
		j.rec.StopOrder = t.numberOrder(j)
		order.Epoch, order.Serial = c.Epoch, j.rec.StopOrder
		t.afterCommit(func() { j.sendOrder(order) })
	case core.Suspend:
		t.afterCommit(func() { t.b.postLater(func(t *turn) { t.tellSuspended(j, j.presentLinks()) }) })
	case core.Inform:
		t.afterCommit(func() { t.b.postLater(func(t *turn) { t.tellDeadline(j, j.presentLinks()) }) })
	case core.Assess:
		id := t.sendCommand(c)
		t.afterCommit(func() { t.b.executeCommand(j, id, c) })
	case core.RaiseLimits:
		t.afterCommit(func() { j.sendOrder(wire.Order{Kind: wire.Limits, Epoch: c.Epoch}) })
	case core.Claim:
		t.handleClaim(j, c)
	case core.Offer:
		t.carryOffer(j, c)
	case core.Acquire:
		t.carryAcquire(j, driver.ID{Job: c.Job, Epoch: c.Epoch, Part: c.Part}, c.Serial)
	default:
		t.b.opt.Log.Error("a command that nobody carries out", "command", c.Kind, "job", c.Job)
	}
}

// executeCommand does a command of the outbox, after those before it for the same job.
func (b *Broker) executeCommand(j *job, id uint64, c core.Command) {
	if c.Kind == core.Stage { // nothing that comes after it waits for it
		b.stageBeside(j, id, c)
		return
	}
	if c.Kind == core.Assess {
		b.assessJob(j, id, c)
		return
	}
	j.line.addTask(b.runInBackground, func() {
		ok := false
		switch c.Kind {
		case core.Start, core.Claim:
			ok = b.startAttempt(j, c)
		case core.Release:
			ok = b.releaseAttempt(driver.ID{Job: c.Job, Epoch: c.Epoch, Part: c.Part}, c.Cluster)
		}
		if !ok {
			return // the broker ends: the outbox remembers
		}
		sent := func() {
			b.postToLoop(func(t *turn) {
				t.markSent(id)
				t.settleJob(j)
			})
		}
		if c.Kind != core.Release || j.spec != nil && len(j.spec.Leave) == 0 {
			sent()
			return
		}
		b.runInBackground(func() { // nothing that comes after it waits for it
			if b.dropSetAside(j, c) {
				sent()
			}
		})
	})
}

// runInBackground runs f beside the loop, waited for when the broker ends.
func (b *Broker) runInBackground(f func()) { b.runUntilStopped(func(context.Context) { f() }) }

// maxTries is how often starting an attempt is tried before the cluster is taken
// to be unable to.
const maxTries = 3

// startAttempt has an attempt started. It reports false if the broker ends meanwhile.
func (b *Broker) startAttempt(j *job, c core.Command) bool {
	var a *wire.Attempt
	var cl *cluster
	err := b.askLoop(b.ctx, func(t *turn) { a, cl = t.attemptFor(j, c.Epoch, c.Part) })
	if err != nil {
		return false
	}
	if a == nil {
		return true // it is past
	}
	if a.Saved = b.portableSaved(j.asOwner(b.ctx), j, a); len(a.Saved) > 0 {
		a.Used = a.Saved[0].Used
	} else {
		a.Used = 0
	}
	b.grantAttempt(j.asOwner(b.ctx), a)
	if a.Parts == 0 { // what is known is of the whole program
		b.addHistory(j.asOwner(b.ctx), a)
	}
	for n := 0; ; n++ {
		err := cl.Driver.StartAttempt(b.ctx, a)
		switch {
		case b.ctx.Err() != nil:
			return false
		case err == nil:
			if len(cl.Notes) > 0 {
				b.postToLoop(func(t *turn) {
					t.explainJob(j, "limits", "not all limits of the settings hold in "+cl.Name, strings.Join(cl.Notes, "; "), nil)
				})
			}
			return true
		case n+1 < maxTries && !errors.Is(err, driver.ErrAway) && !errors.Is(err, driver.ErrRefused):
			if !clock.SleepContext(b.ctx, time.Duration(n+1)*100*time.Millisecond) {
				return false
			}
			continue
		}
		b.opt.Log.Error("cannot start", "job", c.Job, "epoch", int(c.Epoch), "cluster", cl.Name, "error", err)
		if errors.Is(err, driver.ErrAway) {
			b.pollAway(cl)
		}
		b.postToLoop(func(t *turn) {
			t.explainJob(j, "lost", "cannot be started in "+cl.Name, err.Error(), nil)
			t.stepEngine(&core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part,
				Barred: errors.Is(err, driver.ErrRefused)})
			if j.rec.State.IsTerminal() { // nobody will have it
				j.rec.Reason += "; the last time: " + err.Error()
			}
		})
		return true
	}
}

// attemptFor is what an agent is told about the present attempt of a part of a job; nil if
// that is not the present one any more.
func (t *turn) attemptFor(j *job, epoch core.Epoch, part int) (*wire.Attempt, *cluster) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	p, placed := t.b.eng.FindPart(j.rec.ID, part)
	if !live || w.Epoch != epoch || !placed {
		return nil, nil
	}
	c := t.b.allClusters()[p.Cluster]
	a := &wire.Attempt{Job: j.rec.ID, Epoch: epoch, Part: part, Mark: wire.PartMark(j.rec.Mark, part), Cluster: c.Name,
		Spec: *j.spec, Index: j.rec.Index, Parent: j.rec.Parent,
		Procs: p.Size, Held: p.Procs, Order: c.namesOf(p.Ranks), Speed: t.b.eng.Cluster(c.id).Speed, Broker: t.b.opt.Socket,
		Nice: c.Nice, MPI: c.MPI,
		Work: j.rec.Work, Saved: j.saved, Every: wire.Every{Sample: t.b.opt.Sample}, Rule: t.b.opt.Rule,
		Promise: j.rec.Promise, Deadline: j.rec.Deadline, Now: t.now, CPUFeatures: t.b.commonFeatures()}
	switch {
	case w.Parts > 1:
		forPart(a, j, w.Parts, p)
	case len(j.spec.Components) > 0: // the only one
		a.Spec = j.spec.ForComponent(p.Component, p.Size)
	}
	a.Spec.Env, a.Spec.Caller = j.spec.Environment(runsAsSubmitter(c.Kind)), nil
	if len(j.saved) > 0 {
		a.Used = j.saved[0].Used
	}
	a.Inputs, a.Outgoing = t.b.attemptInputs(j, c, p.Component), t.b.outgoingFolder(j, c)
	a.Elapsed = time.Duration(j.rec.Wall * float64(time.Second)) // without the time that nobody ran it
	return a, c
}

// releaseAttempt ends an attempt wherever it runs. It is tried until it works: no
// other attempt of the job is started before. It reports false if the broker
// ends meanwhile.
func (b *Broker) releaseAttempt(id driver.ID, at core.ClusterID) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := b.releaseAt(id, at)
		if err == nil {
			b.fences.SetGrant(id, nil)
			return true
		}
		if b.ctx.Err() != nil {
			return false
		}
		b.opt.Log.Error("cannot release", "job", id.Job, "epoch", int(id.Epoch), "part", id.Part, "error", err)
		if !clock.SleepContext(b.ctx, wait) {
			return false
		}
	}
}

// releaseAt asks the cluster that has the attempt. Those on this machine are
// asked as well: they answer at once if they do not know it, which is cheaper
// than being wrong.
func (b *Broker) releaseAt(id driver.ID, at core.ClusterID) error {
	var errs []error
	for _, c := range b.allClusters() {
		if c.id == at || c.Kind == localKind {
			errs = append(errs, c.Driver.ReleaseAttempt(b.ctx, id))
		}
	}
	return errors.Join(errs...)
}

// runsAsSubmitter says whether jobs run with the account of who submitted them, at the same
// site: on this machine, or on the hosts of a manager whose commands are here.
func runsAsSubmitter(kind string) bool { return !strings.HasSuffix(kind, sshKind) }

// sshKind ends the kind of clusters that are reached by ssh, with an account there.
const sshKind = "ssh"

// localKind is the kind of the clusters that are parts of this machine.
const localKind = "local"

// releaseEnded releases the attempt of a part that has told its end, so that its folder goes.
func (t *turn) releaseEnded(j *job, epoch core.Epoch, part int) {
	c := core.Command{Kind: core.Release, Job: j.rec.ID, Epoch: epoch, Part: part,
		Cluster: j.placeOf(epoch, part).cluster}
	id := t.sendCommand(c)
	t.afterCommit(func() {
		// The agent leaves by itself once it has heard that all is durable.
		link := j.linkOf(part)
		j.line.addTask(t.b.runInBackground, func() {
			if link != nil {
				select {
				case <-link.gone:
				case <-t.b.ctx.Done():
				case <-time.After(5 * time.Second):
				}
			}
		})
		t.b.executeCommand(j, id, c)
	})
}
