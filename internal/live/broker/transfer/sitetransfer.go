package transfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/broker/replica"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// fetchDirectly has an input fetched by its cluster from another site, if that is
// expected to be the fastest. False: it has to go through the broker.
func (m *Mover) fetchDirectly(ctx context.Context, j Job, in *wantedInput, to *Cluster) (bool, error) {
	home := m.grid.ClusterNamed(in.Site)
	if in.doubtful || home == nil || m.peerOf(ctx, home) == nil || m.peerOf(ctx, to) == nil {
		return false, nil
	}
	leave, err := m.moving.Enter(ctx, fmt.Sprint(j.OwnerID(), " ", to.Name, " ", home.Site, ":", in.Path))
	if err != nil {
		return false, err
	}
	defer leave()
	began := m.grid.CurrentTime()
	f, err := m.stagerFor(ctx, home).StatFile(ctx, in.Path)
	if err != nil {
		return false, ctx.Err() // the other way says what is wrong, and waits if need be
	}
	in.Path, in.Size, in.ModTime = f.Path, f.Size, f.ModTime
	in.Tree = m.replicasOf(ctx).ContentOf(home.Site, f.Path, f.Size, f.ModTime)
	defer m.grid.GrantTrees(ctx, to.Name, in.Tree)()
	if m.replicasOf(ctx).HasCopyAt(in.Tree, to.Name) {
		if moved, err := m.stagerFor(ctx, to).BringTree(ctx, in.Tree); err == nil {
			m.noteCopy(ctx, in, home, to)
			m.recordMove(j, in.From+" is at "+to.Name, moved, began, history.Transfer{To: to.Name})
			return true, nil
		}
		m.replicasOf(ctx).ForgetCopy(in.Tree, to.Name) // it was dropped there
	}
	for _, s := range m.inputSources(ctx, m.transferRows(ctx), in.Input, to) {
		j.TellRoute(in.number, s.from, to, s.why)
		if s.from == nil {
			in.routed = true
			return false, ctx.Err()
		}
		if done, err := m.fetchBetween(ctx, j, in, &s, home, to); done || err != nil {
			return done, err
		}
	}
	return false, ctx.Err()
}

// fetchBetween has an input fetched from one site by another. That it cannot be is no
// error: then it is had in another way.
func (m *Mover) fetchBetween(ctx context.Context, j Job, in *wantedInput, s *source, home,
	to *Cluster) (bool, error) {
	got, err := m.fetchTree(ctx, s, to)
	switch {
	case err == nil:
		in.Tree, in.Away = got.Tree, ""
		m.noteCopy(ctx, in, home, to)
		m.recordMove(j, in.From+" is at "+to.Name, got.Moved, got.began, history.Transfer{From: s.from.Name, To: to.Name})
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, new(*UnstagedError)):
		return false, err
	}
	if s.want.Tree != "" {
		m.replicasOf(ctx).ForgetCopy(s.want.Tree, s.from.Name)
	}
	j.ExplainMove("stage", in.From+" did not come from "+s.from.Name, err.Error()+
		"; what has arrived stays, the rest comes in another way")
	return false, nil
}

// fetched is what came from another site, and since when.
type fetched struct {
	driver.Moved
	began core.Time
}

// maxFetchTries is how often a transfer between two sites may break.
const maxFetchTries = 4

// fetchTree has something fetched from one site by another, and remembers whether
// that works. If it is the other that is out of reach, the error is an
// UnstagedError.
func (m *Mover) fetchTree(ctx context.Context, s *source, to *Cluster) (got fetched, err error) {
	reached := false
	for wait := time.Second; ; wait *= 2 {
		if got, err = m.fetchOnce(ctx, s, to); err == nil {
			m.routes.NoteResult(s.from.Site, to.Site, true, m.grid.CurrentTime())
			return got, nil
		}
		// One that has never answered is not asked again; one that did may only have
		// lost its connection to us.
		unreached := errors.Is(err, driver.ErrUnreached)
		reached = reached || !unreached && !errors.Is(err, driver.ErrAway)
		if unreached && !reached || IsHopeless(err) || wait >= time.Second<<(maxFetchTries-1) ||
			!clock.SleepContext(ctx, wait) {
			break
		}
	}
	if ctx.Err() == nil && !errors.Is(err, driver.ErrAway) && !IsHopeless(err) {
		m.routes.NoteResult(s.from.Site, to.Site, false, m.grid.CurrentTime())
	}
	return got, err
}

func (m *Mover) fetchOnce(ctx context.Context, s *source, to *Cluster) (got fetched, err error) {
	offer, release, err := m.peerOf(ctx, s.from).OfferFiles(ctx, s.want)
	if err != nil {
		return got, err
	}
	defer release()
	got.began = m.grid.CurrentTime()
	got.Moved, err = m.peerOf(ctx, to).TakeOffer(ctx, offer)
	switch {
	case err == nil:
		m.reportTransfer(s.from.Name, to.Name, &got.Moved, got.began)
	case errors.Is(err, driver.ErrAway):
		err = &UnstagedError{err, false}
	}
	return got, err
}

// noteCopy notes that a cluster keeps an input, which the depot need not have.
func (m *Mover) noteCopy(ctx context.Context, in *wantedInput, home, to *Cluster) {
	m.replicasOf(ctx).NoteUse(replica.Record{Site: home.Site, Path: in.Path, Size: in.Size, ModTime: in.ModTime,
		Tree: in.Tree, At: []string{to.Name}, Elsewhere: true, Used: m.grid.CurrentTime()})
}
