package broker

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// command sees to what the engine wants done. Starting and releasing go through
// the outbox; what an agent is told follows from the state of its job, so an
// agent that is not there is told when it comes.
func (t *turn) command(c core.Command) {
	j := t.b.jobs[c.Job]
	if j == nil {
		return
	}
	switch c.Kind {
	case core.Start, core.Release:
		c.Cluster, _ = j.at(c.Epoch)
		id := t.send(c)
		t.after(func() { t.b.carryOut(j, id, c) })
	case core.Stage:
		id := t.send(c)
		t.after(func() { t.b.carryOut(j, id, c) })
	case core.Describe:
		id := t.send(c)
		inputs := j.rec.Inputs
		t.after(func() { t.b.describeJob(j, inputs, id) })
	case core.Stop:
		order := wire.Order{Kind: wire.Stop, By: c.Due}
		if c.Terminate {
			order = wire.Order{Kind: wire.Cancel, Within: max(0, c.Due.Sub(t.now))}
		}
		t.after(func() { j.order(order) })
	case core.Claim:
		t.claim(j, c)
	case core.Offer: // nobody carries it to the program: it keeps what it has
		t.decline(j, c)
	default:
		t.b.opt.Log.Error("a command that nobody carries out", "command", c.Kind, "job", c.Job)
	}
}

// claim: the processors of a job of one part are its own while its files are
// brought. The parts of a job in several clusters cannot be started together: it
// is placed again, whole.
func (t *turn) claim(j *job, c core.Command) {
	if w := t.b.eng.World().Job(c.Job); w == nil || len(w.Parts()) == 1 {
		return
	}
	t.after(func() {
		t.b.tell(func(t *turn) {
			t.explain(j, "lost", "placed again", "it was split over several clusters, which only simulated jobs can be", nil)
			t.step(&core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
		})
	})
}

// decline answers an offer of another size with what a program says that cannot
// change it.
func (t *turn) decline(j *job, c core.Command) {
	t.after(func() {
		t.b.tell(func(t *turn) {
			t.explain(j, "resize", "stays as it is", "programs cannot change their size while they run yet", nil)
			t.step(&core.Input{Kind: core.Answer, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Serial: c.Serial})
		})
	})
}

// carryOut does a command of the outbox, after those before it for the same job.
func (b *Broker) carryOut(j *job, id uint64, c core.Command) {
	switch c.Kind { // nothing that comes after these waits for them
	case core.Stage:
		b.stageBeside(j, id, c)
		return
	case core.Describe:
		b.describeJob(j, j.rec.Inputs, id)
		return
	}
	j.line.add(b.beside, func() {
		ok := false
		switch c.Kind {
		case core.Start:
			ok = b.start(j, c)
		case core.Release:
			ok = b.release(driver.ID{Job: c.Job, Epoch: c.Epoch}, c.Cluster)
		}
		if !ok {
			return // the broker ends: the outbox remembers
		}
		sent := func() {
			b.tell(func(t *turn) {
				t.sent(id)
				t.settle(j)
			})
		}
		if c.Kind != core.Release || j.spec != nil && len(j.spec.Leave) == 0 {
			sent()
			return
		}
		b.beside(func() { // nothing that comes after it waits for it
			if b.dropSetAside(j, c) {
				sent()
			}
		})
	})
}

// beside runs f beside the loop, waited for when the broker ends.
func (b *Broker) beside(f func()) { b.goBeside(func(context.Context) { f() }) }

// tries is how often starting an attempt is tried before the cluster is taken
// to be unable to.
const tries = 3

// start has an attempt started. It reports false if the broker ends meanwhile.
func (b *Broker) start(j *job, c core.Command) bool {
	var a *wire.Attempt
	var cl *cluster
	err := b.ask(b.ctx, func(t *turn) { a, cl = t.attempt(j, c.Epoch) })
	if err != nil {
		return false
	}
	if a == nil {
		return true // it is past
	}
	if a.Saved = b.portableSaved(j.as(b.ctx), j, a); len(a.Saved) > 0 {
		a.Used = a.Saved[0].Used
	} else {
		a.Used = 0
	}
	b.grantAttempt(j.as(b.ctx), a)
	b.know(j.as(b.ctx), a)
	for n := 0; ; n++ {
		err := cl.Driver.Start(b.ctx, a)
		switch {
		case b.ctx.Err() != nil:
			return false
		case err == nil:
			if len(cl.Notes) > 0 {
				b.tell(func(t *turn) {
					t.explain(j, "limits", "not all limits of the settings hold in "+cl.Name, strings.Join(cl.Notes, "; "), nil)
				})
			}
			return true
		case n+1 < tries && !errors.Is(err, driver.ErrAway) && !errors.Is(err, driver.ErrRefused):
			if !pause(b.ctx, time.Duration(n+1)*100*time.Millisecond) {
				return false
			}
			continue
		}
		b.opt.Log.Error("cannot start", "job", c.Job, "epoch", int(c.Epoch), "cluster", cl.Name, "error", err)
		b.tell(func(t *turn) {
			t.explain(j, "lost", "cannot be started in "+cl.Name, err.Error(), nil)
			t.step(&core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Barred: errors.Is(err, driver.ErrRefused)})
			if j.rec.State.Terminal() { // nobody will have it
				j.rec.Reason += "; the last time: " + err.Error()
			}
		})
		return true
	}
}

// attempt is what an agent is told about the present attempt of a job; nil if
// that is not the present one any more.
func (t *turn) attempt(j *job, epoch core.Epoch) (*wire.Attempt, *cluster) {
	w := t.b.eng.World().Job(j.rec.ID)
	c := t.b.clusterNamed(j.rec.Cluster)
	if w == nil || w.Epoch() != epoch || len(w.Parts()) == 0 || c == nil {
		return nil, nil
	}
	p := w.Part(0)
	a := &wire.Attempt{Job: j.rec.ID, Epoch: epoch, Mark: j.rec.Mark, Cluster: c.Name, Spec: *j.spec, Index: j.rec.Index, Parent: j.rec.Parent,
		Procs: p.Size(), Held: p.Procs(), Speed: t.b.eng.World().Cluster(c.id).Speed(), Broker: t.b.opt.Socket, Nice: c.Nice, MPI: c.MPI,
		Work: j.rec.Work, Saved: j.saved, Every: wire.Every{Sample: t.b.opt.Sample}, Rule: t.b.opt.Rule,
		Deadline: j.rec.Deadline, Now: t.now, CPUFeatures: t.b.features()}
	a.Spec.Env, a.Spec.Caller = j.spec.Environment(sameAccount(c.Kind)), nil
	if len(j.saved) > 0 {
		a.Used = j.saved[0].Used
	}
	t.order(j, c, a)
	a.Inputs, a.Outgoing = t.b.attemptInputs(j, c), t.b.outgoing(j, c)
	a.Elapsed = time.Duration(j.rec.Wall * float64(time.Second)) // without the time that nobody ran it
	return a, c
}

// release ends an attempt wherever it runs. It is tried until it works: no
// other attempt of the job is started before. It reports false if the broker
// ends meanwhile.
func (b *Broker) release(id driver.ID, at core.ClusterID) bool {
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := b.releaseAt(id, at)
		if err == nil {
			b.setGrant(id, nil)
			return true
		}
		if b.ctx.Err() != nil {
			return false
		}
		b.opt.Log.Error("cannot release", "job", id.Job, "epoch", int(id.Epoch), "error", err)
		if !pause(b.ctx, wait) {
			return false
		}
	}
}

// releaseAt asks the cluster that has the attempt. Those on this machine are
// asked as well: they answer at once if they do not know it, which is cheaper
// than being wrong.
func (b *Broker) releaseAt(id driver.ID, at core.ClusterID) error {
	var errs []error
	for _, c := range b.clusters() {
		if c.id == at || c.Kind == localKind {
			errs = append(errs, c.Driver.Release(b.ctx, id))
		}
	}
	return errors.Join(errs...)
}

// sameAccount says whether jobs run with the account of who submitted them, at the same
// site: on this machine, or on the hosts of a manager whose commands are here.
func sameAccount(kind string) bool { return !strings.HasSuffix(kind, sshKind) }

// sshKind ends the kind of clusters that are reached by ssh, with an account there.
const sshKind = "ssh"

// localKind is the kind of the clusters that are parts of this machine.
const localKind = "local"

// tidy releases an attempt that has told its end, so that its folder goes.
func (t *turn) tidy(j *job, epoch core.Epoch) {
	c := core.Command{Kind: core.Release, Job: j.rec.ID, Epoch: epoch}
	c.Cluster, _ = j.at(epoch)
	id := t.send(c)
	t.after(func() {
		// The agent leaves by itself once it has heard that all is durable.
		link := j.link
		j.line.add(t.b.beside, func() {
			if link != nil {
				select {
				case <-link.gone:
				case <-t.b.ctx.Done():
				case <-time.After(5 * time.Second):
				}
			}
		})
		t.b.carryOut(j, id, c)
	})
}
