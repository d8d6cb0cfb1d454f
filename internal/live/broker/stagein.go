package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// stageBeside has the inputs of a job brought to the cluster where it was placed,
// until they are there or the job is not to run there any more.
func (b *Broker) stageBeside(j *job, id uint64, c core.Command) {
	ctx, cancel := context.WithCancel(j.asOwner(b.ctx))
	j.stopStaging = cancel
	b.runUntilStopped(func(context.Context) {
		defer cancel()
		b.stageInputs(ctx, j, id, c)
	})
}

// unstagedError is that the inputs could not be brought to a cluster; for ever says
// that trying again is of no use.
type unstagedError struct {
	err     error
	forever bool
}

func (e *unstagedError) Error() string { return e.err.Error() }
func (e *unstagedError) Unwrap() error { return e.err }

// stageInputs brings the inputs and tells the engine.
func (b *Broker) stageInputs(ctx context.Context, j *job, id uint64, c core.Command) {
	cl := b.allClusters()[c.Cluster]
	var inputs []store.Input
	err := b.askLoop(ctx, func(*turn) {
		if j.rec.Epoch == c.Epoch && j.rec.State == core.Staging {
			inputs = slices.Clone(j.rec.Inputs)
		}
	})
	for i := 0; err == nil && i < len(inputs); i++ {
		if !b.inPlace(&inputs[i], cl) {
			err = b.bringInput(ctx, j, &wantedInput{Input: &inputs[i], number: i,
				doubtful: b.checkDepotCopy(ctx, &inputs[i], c.Epoch)}, cl)
		}
	}
	if b.ctx.Err() != nil {
		return // the outbox remembers
	}
	why, withdrawn := new(unstagedError), ctx.Err() != nil
	b.postToLoop(func(t *turn) {
		t.markSent(id)
		t.settleJob(j)
		switch {
		case withdrawn || j.rec.Epoch != c.Epoch || j.rec.State != core.Staging: // nobody waits any more
		case errors.As(err, &why):
			t.explainJob(j, "stage", "stage-in to "+cl.Name+" failed", why.Error(), nil)
			t.stepEngine(&core.Input{Kind: core.ClaimLost, Job: c.Job, Epoch: c.Epoch, Part: c.Part, Barred: why.forever})
			if j.rec.State.IsTerminal() { // nobody can have it
				j.rec.Reason += "; the last time: " + why.Error()
			}
		case err == nil:
			j.rec.Inputs = inputs
			t.keepReplicas()
			t.touchJob(j)
			t.stepEngine(&core.Input{Kind: core.Staged, Job: c.Job, Epoch: c.Epoch, Part: c.Part})
		}
	})
}

// wantedInput is an input that is to be brought.
type wantedInput struct {
	*store.Input
	number   int  // of the job's inputs
	routed   bool // it was told on which way it comes
	doubtful bool // what the depot holds of it may not be sound
}

// checkDepotCopy looks whether what the depot holds of an input is sound, if an attempt was
// lost already: what is not has to be sent again.
func (b *Broker) checkDepotCopy(ctx context.Context, in *store.Input, epoch core.Epoch) (doubtful bool) {
	if epoch <= 1 || in.Tree == "" || b.replicasOf(ctx).OnlyElsewhere(in.Tree) {
		return false
	}
	chunks, err := b.depotFor(ctx)
	if err == nil {
		err = depot.VerifyTree(ctx, chunks, depot.ID(in.Tree))
	}
	if err != nil {
		b.opt.Log.Warn("an input is not sound in the depot", "input", in.From, "error", err)
		return true
	}
	return false
}

// bringInput brings one input to a cluster: from another site directly, or into the
// depot first, and then to where the agents of the cluster are, if that is
// elsewhere.
func (b *Broker) bringInput(ctx context.Context, j *job, in *wantedInput, to *cluster) error {
	if done, err := b.fetchDirectly(ctx, j, in, to); done || err != nil {
		return err
	}
	if !in.routed && (in.Site != jobfile.InDepot || to.Site != "") {
		for _, s := range b.inputSources(ctx, b.transferRows(ctx), in.Input, to) {
			if s.from == nil {
				b.tellRoute(j, in, to, &s)
			}
		}
	}
	if in.Site != jobfile.InDepot {
		if err := b.bringToDepot(ctx, j, in); err != nil {
			return err
		}
	}
	x := replica.Record{Site: jobfile.InDepot, Path: in.Path, Size: in.Size, ModTime: in.ModTime, Tree: in.Tree,
		Used: b.brokerTime()}
	if home := b.clusterNamed(in.Site); home != nil {
		x.Site = home.Site
	}
	if files := b.stagerFor(ctx, to); files != nil && to.Site != "" {
		kept, err := b.copyToCluster(ctx, j, in, to, files)
		if err != nil {
			return err
		}
		if kept {
			x.At = []string{to.Name}
		}
	}
	b.replicasOf(ctx).NoteUse(x)
	return nil
}

// minReportedBytes is the size from which on it is told that a transfer begins.
const minReportedBytes = 16 << 20

// bringToDepot sees to it that the depot has the file as it is now. While its site is
// out of reach that is waited for, unless the depot has it as it was.
func (b *Broker) bringToDepot(ctx context.Context, j *job, in *wantedInput) error {
	home := b.clusterNamed(in.Site)
	if home == nil || b.stagerFor(ctx, home) == nil {
		return &unstagedError{fmt.Errorf("%s: there is no such cluster any more", in.From), true}
	}
	leave, err := b.moving.Enter(ctx, fmt.Sprint(j.rec.Owner, " ", home.Site, ":", in.Path))
	if err != nil {
		return err
	}
	defer leave()
	if in.Tree == "" && in.Size > minReportedBytes {
		b.explainStaging(j, "brings "+in.From, core.FormatBytes(in.Size)+" into the depot", nil)
	}
	said := ""
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := b.pushInput(ctx, j, in, home)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case isHopeless(err):
			return &unstagedError{fmt.Errorf("%s: %w", in.From, err), true}
		}
		if old, ok := b.replicasOf(ctx).LastContent(home.Site, in.Path); ok && errors.Is(err, driver.ErrAway) &&
			wait > time.Second {
			in.Tree, in.Size, in.ModTime = old.Tree, old.Size, old.ModTime
			b.explainStaging(j, in.From+" is used as it was", "its site is out of reach: "+err.Error(), nil)
			return nil
		}
		if said != err.Error() {
			said = err.Error()
			b.explainStaging(j, "waits for "+in.From, said+"; what has arrived stays, the rest is sent again", nil)
		}
		if !clock.SleepContext(ctx, wait) {
			return ctx.Err()
		}
	}
}

// pushInput has the site bring the file into the depot: of what is there already
// nothing is sent, and of what has not changed nothing is read.
func (b *Broker) pushInput(ctx context.Context, j *job, in *wantedInput, home *cluster) error {
	began := b.brokerTime()
	f, err := b.stagerFor(ctx, home).StatFile(ctx, in.Path)
	if err != nil {
		return err
	}
	m := driver.Moved{Tree: b.replicasOf(ctx).RecentContent(home.Site, &f, began), Bytes: f.Size}
	if m.Tree == "" || in.doubtful {
		if m, err = b.stagerFor(ctx, home).PushFiles(ctx, in.Path); err != nil {
			return err
		}
	}
	in.Path, in.Size, in.ModTime, in.Tree, in.Away = f.Path, f.Size, f.ModTime, m.Tree, ""
	b.recordMove(j, in.From+" is in the depot", m, began, history.Transfer{From: home.Name})
	return nil
}

// copyToCluster has a cluster elsewhere keep a copy. That it cannot is no harm: then
// the agent fetches it.
func (b *Broker) copyToCluster(ctx context.Context, j *job, in *wantedInput, to *cluster,
	files driver.Stager) (bool, error) {
	leave, err := b.moving.Enter(ctx, fmt.Sprint(j.rec.Owner, " ", to.Name, " ", in.Tree))
	if err != nil {
		return false, err
	}
	defer leave()
	if in.Size > minReportedBytes && !b.replicasOf(ctx).HasCopyAt(in.Tree, to.Name) {
		b.explainStaging(j, "brings "+in.From, core.FormatBytes(in.Size)+" to "+to.Name, nil)
	}
	began := b.brokerTime()
	defer b.grant(ctx, to.Name, in.Tree)()
	m, err := files.BringTree(ctx, in.Tree)
	switch {
	case err == nil:
		b.recordMove(j, in.From+" is at "+to.Name, m, began, history.Transfer{To: to.Name})
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, driver.ErrAway):
		return false, &unstagedError{err, false}
	}
	b.explainStaging(j, in.From+" is not kept at "+to.Name, err.Error()+"; the job fetches it itself", nil)
	return false, nil
}

// recordMove tells and remembers what a transfer was like.
func (b *Broker) recordMove(j *job, what string, m driver.Moved, began core.Time, x history.Transfer) {
	took := b.brokerTime().Sub(began).Seconds()
	why := "it was there already"
	if m.Sent > 0 {
		why = fmt.Sprintf("%s of %s had to be sent, in %s s", core.FormatBytes(m.Sent), core.FormatBytes(m.Bytes),
			formatSeconds(took))
	}
	x.What, x.Bytes, x.Sent, x.Seconds = history.StageIn, m.Bytes, m.Sent, took
	b.postToLoop(func(t *turn) {
		t.explainJob(j, "stage", what, why, map[string]any{"bytes": m.Bytes, "sent": m.Sent, "seconds": took})
		if m.Sent > 0 {
			t.recordTransfer(j, x)
		}
	})
}

// explainStaging adds a line to the reasons of a job.
func (b *Broker) explainStaging(j *job, choice, why string, inputs map[string]any) {
	b.postToLoop(func(t *turn) { t.explainJob(j, "stage", choice, why, inputs) })
}
