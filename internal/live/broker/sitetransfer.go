package broker

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
func (b *Broker) fetchDirectly(ctx context.Context, j *job, in *wantedInput, to *cluster) (bool, error) {
	home := b.clusterNamed(in.Site)
	if in.doubtful || home == nil || b.peerOf(ctx, home) == nil || b.peerOf(ctx, to) == nil {
		return false, nil
	}
	leave, err := b.moving.Enter(ctx, fmt.Sprint(j.rec.Owner, " ", to.Name, " ", home.Site, ":", in.Path))
	if err != nil {
		return false, err
	}
	defer leave()
	began := b.brokerTime()
	f, err := b.stagerFor(ctx, home).StatFile(ctx, in.Path)
	if err != nil {
		return false, ctx.Err() // the other way says what is wrong, and waits if need be
	}
	in.Path, in.Size, in.ModTime = f.Path, f.Size, f.ModTime
	in.Tree = b.replicasOf(ctx).ContentOf(home.Site, f.Path, f.Size, f.ModTime)
	defer b.grant(ctx, to.Name, in.Tree)()
	if b.replicasOf(ctx).HasCopyAt(in.Tree, to.Name) {
		if m, err := b.stagerFor(ctx, to).BringTree(ctx, in.Tree); err == nil {
			b.noteCopy(ctx, in, home, to)
			b.recordMove(j, in.From+" is at "+to.Name, m, began, history.Transfer{To: to.Name})
			return true, nil
		}
		b.replicasOf(ctx).ForgetCopy(in.Tree, to.Name) // it was dropped there
	}
	for _, s := range b.inputSources(ctx, b.transferRows(ctx), in.Input, to) {
		b.tellRoute(j, in, to, &s)
		if s.from == nil {
			in.routed = true
			return false, ctx.Err()
		}
		if done, err := b.fetchBetween(ctx, j, in, &s, home, to); done || err != nil {
			return done, err
		}
	}
	return false, ctx.Err()
}

// fetchBetween has an input fetched from one site by another. That it cannot be is no
// error: then it is had in another way.
func (b *Broker) fetchBetween(ctx context.Context, j *job, in *wantedInput, s *source, home,
	to *cluster) (bool, error) {
	got, err := b.fetchTree(ctx, s, to)
	switch {
	case err == nil:
		in.Tree, in.Away = got.Tree, ""
		b.noteCopy(ctx, in, home, to)
		b.recordMove(j, in.From+" is at "+to.Name, got.Moved, got.began, history.Transfer{From: s.from.Name, To: to.Name})
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.As(err, new(*unstagedError)):
		return false, err
	}
	if s.want.Tree != "" {
		b.replicasOf(ctx).ForgetCopy(s.want.Tree, s.from.Name)
	}
	b.explainStaging(j, in.From+" did not come from "+s.from.Name, err.Error()+
		"; what has arrived stays, the rest comes in another way", nil)
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
// unstagedError.
func (b *Broker) fetchTree(ctx context.Context, s *source, to *cluster) (got fetched, err error) {
	reached := false
	for wait := time.Second; ; wait *= 2 {
		if got, err = b.fetchOnce(ctx, s, to); err == nil {
			b.routes.NoteResult(s.from.Site, to.Site, true, b.brokerTime())
			return got, nil
		}
		// One that has never answered is not asked again; one that did may only have
		// lost its connection to us.
		unreached := errors.Is(err, driver.ErrUnreached)
		reached = reached || !unreached && !errors.Is(err, driver.ErrAway)
		if unreached && !reached || isHopeless(err) || wait >= time.Second<<(maxFetchTries-1) ||
			!clock.SleepContext(ctx, wait) {
			break
		}
	}
	if ctx.Err() == nil && !errors.Is(err, driver.ErrAway) && !isHopeless(err) {
		b.routes.NoteResult(s.from.Site, to.Site, false, b.brokerTime())
	}
	return got, err
}

func (b *Broker) fetchOnce(ctx context.Context, s *source, to *cluster) (got fetched, err error) {
	offer, release, err := b.peerOf(ctx, s.from).OfferFiles(ctx, s.want)
	if err != nil {
		return got, err
	}
	defer release()
	got.began = b.brokerTime()
	got.Moved, err = b.peerOf(ctx, to).TakeOffer(ctx, offer)
	switch {
	case err == nil:
		b.reportTransfer(s.from.Name, to.Name, &got.Moved, got.began)
	case errors.Is(err, driver.ErrAway):
		err = &unstagedError{err, false}
	}
	return got, err
}

// noteCopy notes that a cluster keeps an input, which the depot need not have.
func (b *Broker) noteCopy(ctx context.Context, in *wantedInput, home, to *cluster) {
	b.replicasOf(ctx).NoteUse(replica.Record{Site: home.Site, Path: in.Path, Size: in.Size, ModTime: in.ModTime,
		Tree: in.Tree, At: []string{to.Name}, Elsewhere: true, Used: b.brokerTime()})
}
