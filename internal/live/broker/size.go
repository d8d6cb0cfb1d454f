package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// carryOffer carries the offer of another size to the agent of a part, which hands it to the program. Where nobody can
// give an attempt that runs other processors, the program keeps what it has.
func (t *turn) carryOffer(j *job, c core.Command) {
	cl := t.b.allClusters()[c.Cluster]
	if p, placed := t.b.eng.FindPart(c.Job, c.Part); placed && sizerOf(cl.Driver, p.Procs) != nil {
		t.sendOffer(j, c.Part)
		return
	}
	t.afterCommit(func() {
		t.b.postLater(func(t *turn) {
			t.explainJob(j, "resize", "stays as it is",
				"jobs in cluster "+cl.Name+" cannot change their size while they run", nil)
			t.stepEngine(&core.Input{Kind: core.Answer, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Serial: c.Serial})
		})
	})
}

// sizer gives an attempt the processors that it holds now, so many, and returns on which CPUs its program may run; nil:
// on those that it could before.
type sizer func(ctx context.Context, id driver.ID, size int, held core.ProcSet) (cpus []int, err error)

// sizerOf is how an attempt that runs on these processors of a cluster, or on some that its manager chose, can be given
// others; nil: it cannot.
func sizerOf(d driver.Driver, held core.ProcSet) sizer {
	if a, ok := d.(driver.Adjuster); ok && a.CanAdjustProcs(held) {
		return func(ctx context.Context, id driver.ID, _ int, held core.ProcSet) ([]int, error) {
			return a.AdjustProcs(ctx, id, held)
		}
	}
	if x := extenderOf(d); x != nil {
		return func(ctx context.Context, id driver.ID, size int, _ core.ProcSet) ([]int, error) {
			_, err := x.ExtendAttempt(ctx, id, size)
			return nil, err
		}
	}
	return nil
}

// sendOffer tells the agent of a part of the offer that is open now. One that is not there is told when it comes. If
// the program has answered, what it accepted is still to be had.
func (t *turn) sendOffer(j *job, part int) {
	o, open := t.b.eng.FindOffer(j.rec.ID, part)
	if !open {
		return
	}
	if o.Accepted > 0 {
		t.carryAcquire(j, driver.ID{Job: j.rec.ID, Epoch: j.rec.Epoch, Part: part}, o.Serial)
		return
	}
	t.afterCommit(func() {
		if l := j.linkOf(part); l != nil {
			l.sendOrder(wire.Order{Kind: wire.Offer, Size: o.Size, Offer: o.Serial, By: o.Due})
		}
	})
}

// tellSize tells an agent that has come back what its program has and could have, if that can change.
func (t *turn) tellSize(j *job, l *link) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	p, placed := t.b.eng.FindPart(j.rec.ID, l.part)
	if !live || !placed || w.State != core.Running || w.Spec.Kind != core.Malleable {
		return
	}
	t.sendOffer(j, l.part)
	t.adjustProcs(j, w.Epoch, l.part, p.Cluster, minAdjustPause)
}

// recordSize explains a change of the size of a part, as often as its program may bring one about, and has it carried
// out.
func (t *turn) recordSize(j *job, ev *core.Event) {
	t.touchJob(j)
	size := 0
	if p, ok := t.b.eng.FindPart(ev.Job, ev.Part); ok {
		size = p.Size
	}
	switch ev.Kind {
	case core.PartOffered:
		choice := fmt.Sprintf("offered %d more", ev.N)
		switch {
		case ev.N < 0 && ev.Mandatory:
			choice = fmt.Sprintf("has to give %d back", -ev.N)
		case ev.N < 0:
			choice = fmt.Sprintf("asked to give %d back", -ev.N)
		}
		t.explainReport(j, "resize", choice, ev.Why.String(), map[string]any{"cores": size})
	case core.PartAccepted:
		t.explainReport(j, "resize", fmt.Sprintf("takes %d more", ev.N), ev.Why.String(), map[string]any{"cores": size})
	case core.PartSilent:
		t.explainReport(j, "resize", "has not answered", ev.Why.String(), nil)
	case core.PartAsked:
		t.explainReport(j, "resize", fmt.Sprintf("wants %d more", ev.N), ev.Why.String(), nil)
	case core.PartAnswered:
		how := "keeps its size"
		switch {
		case ev.N > 0 && ev.Grow:
			how = fmt.Sprintf("grows by %d", ev.N)
		case ev.N > 0:
			how = fmt.Sprintf("shrinks by %d", ev.N)
		}
		t.explainReport(j, "resize", how, ev.Why.String(), map[string]any{"cores": size})
	case core.JobSized:
		choice := fmt.Sprintf("is to have %d", ev.N)
		if ev.N == 0 {
			choice = "may change again"
		}
		t.explainReport(j, "resize", choice, ev.Why.String(), map[string]any{"cores": size})
	case core.PartGaveBack:
		t.explainReport(j, "resize", fmt.Sprintf("gives %d back", ev.N), ev.Why.String(), map[string]any{"cores": size})
	}
	// What the manager did not give in time it is still asked for, until it is told otherwise.
	changed := ev.N > 0 || ev.Why.Code == core.NotGranted
	if changed && (ev.Kind == core.PartAnswered || ev.Kind == core.PartGaveBack) {
		t.adjustProcs(j, ev.Epoch, ev.Part, ev.Cluster, minAdjustPause)
	}
}

// After how long a cluster that could not be told which processors an attempt has is told again, at first and at most.
const (
	minAdjustPause = 200 * time.Millisecond
	maxAdjustPause = 10 * time.Second
)

// adjustProcs gives the attempt of a part the processors that it holds now, and tells its agent. Of several changes
// only the last counts: each time it is what the part holds then. A cluster that is away is told again after the pause,
// and after longer ones, until it knows or the attempt has ended: what it holds for the attempt is nobody else's.
func (t *turn) adjustProcs(j *job, epoch core.Epoch, part int, cluster core.ClusterID, pause time.Duration) {
	p, placed := t.b.eng.FindPart(j.rec.ID, part)
	give := sizerOf(t.b.allClusters()[cluster].Driver, p.Procs)
	if !placed || give == nil {
		return
	}
	b := t.b
	t.afterCommit(func() {
		j.line.addTask(b.runInBackground, func() {
			var held core.ProcSet
			var size, more, answered int
			err := b.askLoop(b.ctx, func(t *turn) {
				if p, placed := t.b.eng.FindPart(j.rec.ID, part); placed && j.rec.Epoch == epoch {
					o, open := t.b.eng.FindOffer(j.rec.ID, part)
					held, size, more = p.Procs, p.Size, o.Accepted
					if answered = o.Serial; open {
						answered--
					}
				}
			})
			if err != nil || size == 0 {
				return
			}
			cpus, err := give(b.ctx, driver.ID{Job: j.rec.ID, Epoch: epoch, Part: part}, size+more, held)
			if err != nil {
				b.opt.Log.Warn("processors cannot be changed", "job", j.rec.ID, "part", part, "error", err)
				b.runInBackground(func() {
					if clock.SleepContext(b.ctx, pause) {
						b.postToLoop(func(t *turn) {
							if j.rec.Epoch == epoch {
								t.adjustProcs(j, epoch, part, cluster, min(2*pause, maxAdjustPause))
							}
						})
					}
				})
			}
			b.postToLoop(func(*turn) {
				if l := j.linkOf(part); l != nil && j.rec.Epoch == epoch {
					l.sendOrder(wire.Order{Kind: wire.Resize, Size: size, Offer: answered,
						CPUs: core.NewProcSet(cpus).String()})
				}
			})
		})
	})
}

// sizeAccepted: the program has answered an offer.
func (t *turn) sizeAccepted(j *job, part int, m *wire.Message) {
	o, open := t.b.eng.FindOffer(j.rec.ID, part)
	p, placed := t.b.eng.FindPart(j.rec.ID, part)
	if !open || !placed || o.Serial != m.Offer {
		return
	}
	n := m.Size - p.Size
	if o.Size < p.Size {
		n = p.Size - m.Size
	}
	t.stepEngine(&core.Input{Kind: core.Answer, Job: j.rec.ID, Epoch: j.rec.Epoch, Part: part, N: max(n, 0),
		Serial: m.Offer, Done: j.doneSoFar()})
}

// sizeWanted: the program wants another size: it has given processors up already, or would like to have more.
func (t *turn) sizeWanted(j *job, part int, m *wire.Message) {
	p, placed := t.b.eng.FindPart(j.rec.ID, part)
	if !placed || m.Size == p.Size || m.Size < 1 {
		return
	}
	in := core.Input{Kind: core.Ask, Job: j.rec.ID, Epoch: j.rec.Epoch, Part: part, N: m.Size - p.Size,
		Done: j.doneSoFar()}
	if m.Size < p.Size {
		in.Kind, in.N, in.Serial = core.GiveBack, p.Size-m.Size, m.Offer
	}
	t.stepEngine(&in)
}

// progressStep is how much of its work a job has to have done for the engine to be told once more: how programs scale
// is learnt from that, and every time is an entry in the log.
const progressStep = 0.01

// tellProgress has the engine know how far a job has come whose size may change.
func (t *turn) tellProgress(j *job) {
	if j.spec == nil || j.spec.Kind == core.Rigid {
		return
	}
	if j.progressEpoch != j.rec.Epoch {
		j.progressEpoch, j.progressTold = j.rec.Epoch, 0
	}
	if done := j.doneSoFar(); done >= j.progressTold+progressStep {
		j.progressTold = done
		t.stepEngine(&core.Input{Kind: core.Progress, Job: j.rec.ID, Epoch: j.rec.Epoch, Done: done})
	}
}

// doneSoFar is the part of the work that is done, as far as that is known.
func (j *job) doneSoFar() float64 {
	if v, _ := j.lastVitals(); v != nil && v.Done > 0 {
		return v.Done
	}
	return 0
}

// ResizeJob has a job that runs change its size, or begin again with another, and keep that. It returns when its
// program has answered, or runs again, and says what the job has then. Or it leaves the size to the policy again.
func (b *Broker) ResizeJob(ctx context.Context, ref string, want api.Resize) (string, error) {
	if want.Auto && want.Cores != 0 {
		return "", &badinput.Error{Field: "cores", Value: fmt.Sprint(want.Cores), Want: "0 with auto"}
	}
	j, v, err := b.findJob(ctx, ref)
	if err != nil {
		return "", err
	}
	if j == nil || v.State != core.Running {
		return "", fmt.Errorf("job %s does not run: only running jobs can be resized", ref)
	}
	var refused error
	var asked askedSize
	err = b.askLoop(ctx, func(t *turn) { asked, refused = t.askForSize(j, want) })
	switch {
	case err != nil || refused != nil:
		return "", errors.Join(err, refused)
	case want.Auto:
		return fmt.Sprintf("%s has %d cores, and as many as the policy gives it from now on", j.shortName(), asked.before), nil
	case want.Cores == asked.before:
		return fmt.Sprintf("%s has %d cores already, and keeps them", j.shortName(), asked.before), nil
	case asked.restarts:
		return b.awaitRestart(ctx, j, asked)
	}
	return b.awaitAnswer(ctx, j, asked.serial, asked.before)
}

// askedSize is what was asked of a job whose user wants it to have another size.
type askedSize struct {
	before   int        // cores that it had
	serial   int        // of what it was offered
	restarts bool       // it saves itself and begins again instead
	epoch    core.Epoch // until then
}

// askForSize has the engine offer a job another size, or begin it again with that.
func (t *turn) askForSize(j *job, want api.Resize) (askedSize, error) {
	w, live := t.b.eng.FindJob(j.rec.ID)
	p, placed := t.b.eng.FindPart(j.rec.ID, 0)
	asked := askedSize{before: p.Size, epoch: w.Epoch}
	switch {
	case !live || !placed || w.State != core.Running:
		return asked, fmt.Errorf("%s does not run any more", j.shortName())
	case w.Spec.Kind == core.Rigid:
		return asked, &badinput.Error{Problem: j.shortName() +
			" cannot change its size: its kind is rigid, not malleable or moldable"}
	case w.Parts > 1 || len(w.Spec.Components) > 1:
		return asked, &badinput.Error{Problem: j.shortName() + " has several parts: they cannot be resized one by one yet"}
	}
	if w.Suspended {
		return asked, errSuspended(j, "resized")
	}
	low, high, size := j.spec.Min, j.spec.Max, want.Cores
	if !want.Auto && (size < low || size > high) {
		return asked, &badinput.Error{Field: "cores", Value: fmt.Sprint(size),
			Want: fmt.Sprintf("%d to %d, as the job says", low, high)}
	}
	if _, open := t.b.eng.FindOffer(j.rec.ID, 0); open && !want.Auto {
		return asked, fmt.Errorf("%s has been offered another size and has not answered yet", j.shortName())
	}
	t.stepEngine(&core.Input{Kind: core.ResizeJob, Job: j.rec.ID, Epoch: w.Epoch, N: size})
	if want.Auto || size == p.Size {
		return asked, nil
	}
	if w, live = t.b.eng.FindJob(j.rec.ID); live && w.State != core.Running {
		asked.restarts = true
		return asked, nil
	}
	o, open := t.b.eng.FindOffer(j.rec.ID, 0)
	if !open {
		return asked, fmt.Errorf("there are no more free cores on %s for %s", j.rec.Cluster, j.shortName())
	}
	asked.serial = o.Serial
	return asked, nil
}

// awaitRestart waits until a job that begins again with another size runs.
func (b *Broker) awaitRestart(ctx context.Context, j *job, asked askedSize) (string, error) {
	v, err := b.awaitRun(ctx, j)
	switch {
	case err != nil:
		return "", err
	case v.State.IsTerminal():
		return fmt.Sprintf("%s ended before it could begin again: %s", j.shortName(), v.State), nil
	case v.Epoch == asked.epoch:
		return "", fmt.Errorf("%s keeps its %d cores: %s", j.shortName(), asked.before, v.Reason)
	}
	return fmt.Sprintf("%s began again with %d cores in %s; before: %d", j.shortName(), v.Size, v.Cluster,
		asked.before), nil
}

// whyKept is why a job that was offered more has no more.
func whyKept(managed bool) string {
	if managed {
		return "its program has not taken more, or the manager of its cluster had none for it in time"
	}
	return "its program has not taken more"
}

// awaitAnswer waits until the program has answered an offer.
func (b *Broker) awaitAnswer(ctx context.Context, j *job, serial, before int) (string, error) {
	for {
		next := j.nextChange()
		var open, live, managed bool
		var size int
		err := b.askLoop(ctx, func(t *turn) {
			o, waits := t.b.eng.FindOffer(j.rec.ID, 0)
			open = waits && o.Serial == serial
			var p engine.PartView
			p, live = t.b.eng.FindPart(j.rec.ID, 0)
			size = p.Size
			managed = live && t.b.allClusters()[p.Cluster].Managed
		})
		switch {
		case err != nil:
			return "", err
		case open:
		case !live:
			return "", fmt.Errorf("%s ended or was stopped before it had another size", j.shortName())
		case size == before:
			return "", fmt.Errorf("%s keeps its %d cores: %s", j.shortName(), size, whyKept(managed))
		default:
			return fmt.Sprintf("%s has %d cores now; before: %d", j.shortName(), size, before), nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
