package transfer

import (
	"context"
	"errors"
	"fmt"
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

// UnstagedError is that the inputs could not be brought to a cluster; Forever says
// that trying again is of no use.
type UnstagedError struct {
	Err     error
	Forever bool
}

func (e *UnstagedError) Error() string { return e.Err.Error() }

// Unwrap is why.
func (e *UnstagedError) Unwrap() error { return e.Err }

// StageInputs brings the inputs of an attempt of a job to a cluster, as far as they are not there. What is found out
// about them is noted in the list.
func (m *Mover) StageInputs(ctx context.Context, j Job, inputs []store.Input, component int, epoch core.Epoch,
	to *Cluster) error {
	for i := range inputs {
		if !inputs[i].IsFor(component) || m.IsInPlace(&inputs[i], to) {
			continue
		}
		in := &wantedInput{Input: &inputs[i], number: i, doubtful: m.checkDepotCopy(ctx, &inputs[i], epoch)}
		if err := m.bringInput(ctx, j, in, to); err != nil {
			return err
		}
	}
	return nil
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
func (m *Mover) checkDepotCopy(ctx context.Context, in *store.Input, epoch core.Epoch) (doubtful bool) {
	if epoch <= 1 || in.Tree == "" || m.replicasOf(ctx).OnlyElsewhere(in.Tree) {
		return false
	}
	chunks, err := m.grid.DepotFor(ctx)
	if err == nil {
		err = depot.VerifyTree(ctx, chunks, depot.ID(in.Tree))
	}
	if err != nil {
		m.log.Warn("an input is not sound in the depot", "input", in.From, "error", err)
		return true
	}
	return false
}

// bringInput brings one input to a cluster: from another site directly, or into the
// depot first, and then to where the agents of the cluster are, if that is
// elsewhere.
func (m *Mover) bringInput(ctx context.Context, j Job, in *wantedInput, to *Cluster) error {
	if done, err := m.fetchDirectly(ctx, j, in, to); done || err != nil {
		return err
	}
	if !in.routed && (in.Site != jobfile.InDepot || to.Site != "") {
		for _, s := range m.inputSources(ctx, m.transferRows(ctx), in.Input, to) {
			if s.from == nil {
				j.TellRoute(in.number, nil, to, s.why)
			}
		}
	}
	if in.Site != jobfile.InDepot {
		if err := m.bringToDepot(ctx, j, in); err != nil {
			return err
		}
	}
	x := replica.Record{Site: jobfile.InDepot, Path: in.Path, Size: in.Size, ModTime: in.ModTime, Tree: in.Tree,
		Used: m.grid.CurrentTime()}
	if home := m.grid.ClusterNamed(in.Site); home != nil {
		x.Site = home.Site
	}
	if files := m.stagerFor(ctx, to); files != nil && to.Site != "" {
		kept, err := m.copyToCluster(ctx, j, in, to, files)
		if err != nil {
			return err
		}
		if kept {
			x.At = []string{to.Name}
		}
	}
	m.replicasOf(ctx).NoteUse(x)
	return nil
}

// minReportedBytes is the size from which on it is told that a transfer begins.
const minReportedBytes = 16 << 20

// bringToDepot sees to it that the depot has the file as it is now. While its site is
// out of reach that is waited for, unless the depot has it as it was.
func (m *Mover) bringToDepot(ctx context.Context, j Job, in *wantedInput) error {
	home := m.grid.ClusterNamed(in.Site)
	if home == nil || m.stagerFor(ctx, home) == nil {
		return &UnstagedError{fmt.Errorf("%s: there is no such cluster any more", in.From), true}
	}
	leave, err := m.moving.Enter(ctx, fmt.Sprint(j.OwnerID(), " ", home.Site, ":", in.Path))
	if err != nil {
		return err
	}
	defer leave()
	if in.Tree == "" && in.Size > minReportedBytes {
		j.ExplainMove("stage", "brings "+in.From, core.FormatBytes(in.Size)+" into the depot")
	}
	said := ""
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		err := m.pushInput(ctx, j, in, home)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case IsHopeless(err):
			return &UnstagedError{fmt.Errorf("%s: %w", in.From, err), true}
		}
		if old, ok := m.replicasOf(ctx).LastContent(home.Site, in.Path); ok && errors.Is(err, driver.ErrAway) &&
			wait > time.Second {
			in.Tree, in.Size, in.ModTime = old.Tree, old.Size, old.ModTime
			j.ExplainMove("stage", in.From+" is used as it was", "its site is out of reach: "+err.Error())
			return nil
		}
		if said != err.Error() {
			said = err.Error()
			j.ExplainMove("stage", "waits for "+in.From, said+"; what has arrived stays, the rest is sent again")
		}
		if !clock.SleepContext(ctx, wait) {
			return ctx.Err()
		}
	}
}

// pushInput has the site bring the file into the depot: of what is there already
// nothing is sent, and of what has not changed nothing is read.
func (m *Mover) pushInput(ctx context.Context, j Job, in *wantedInput, home *Cluster) error {
	began := m.grid.CurrentTime()
	f, err := m.stagerFor(ctx, home).StatFile(ctx, in.Path)
	if err != nil {
		return err
	}
	moved := driver.Moved{Tree: m.replicasOf(ctx).RecentContent(home.Site, &f, began), Bytes: f.Size}
	if moved.Tree == "" || in.doubtful {
		if moved, err = m.stagerFor(ctx, home).PushFiles(ctx, in.Path); err != nil {
			return err
		}
	}
	in.Path, in.Size, in.ModTime, in.Tree, in.Away = f.Path, f.Size, f.ModTime, moved.Tree, ""
	m.recordMove(j, in.From+" is in the depot", moved, began, history.Transfer{From: home.Name})
	return nil
}

// copyToCluster has a cluster elsewhere keep a copy. That it cannot is no harm: then
// the agent fetches it.
func (m *Mover) copyToCluster(ctx context.Context, j Job, in *wantedInput, to *Cluster,
	files driver.Stager) (bool, error) {
	leave, err := m.moving.Enter(ctx, fmt.Sprint(j.OwnerID(), " ", to.Name, " ", in.Tree))
	if err != nil {
		return false, err
	}
	defer leave()
	if in.Size > minReportedBytes && !m.replicasOf(ctx).HasCopyAt(in.Tree, to.Name) {
		j.ExplainMove("stage", "brings "+in.From, core.FormatBytes(in.Size)+" to "+to.Name)
	}
	began := m.grid.CurrentTime()
	defer m.grid.GrantTrees(ctx, to.Name, in.Tree)()
	moved, err := files.BringTree(ctx, in.Tree)
	switch {
	case err == nil:
		m.recordMove(j, in.From+" is at "+to.Name, moved, began, history.Transfer{To: to.Name})
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, driver.ErrAway):
		return false, &UnstagedError{err, false}
	}
	j.ExplainMove("stage", in.From+" is not kept at "+to.Name, err.Error()+"; the job fetches it itself")
	return false, nil
}

// recordMove tells and remembers what a transfer was like.
func (m *Mover) recordMove(j Job, what string, moved driver.Moved, began core.Time, x history.Transfer) {
	took := m.grid.CurrentTime().Sub(began).Seconds()
	why := "it was there already"
	if moved.Sent > 0 {
		why = fmt.Sprintf("%s of %s had to be sent, in %s s", core.FormatBytes(moved.Sent), core.FormatBytes(moved.Bytes),
			core.FormatDigits(took))
	}
	x.What, x.Bytes, x.Sent, x.Seconds = history.StageIn, moved.Bytes, moved.Sent, took
	j.NoteMove(Report{Subject: "stage", Choice: what, Why: why, Transfer: x, Recorded: moved.Sent > 0})
}
