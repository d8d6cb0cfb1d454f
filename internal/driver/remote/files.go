package remote

import (
	"context"
	"errors"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

var (
	_ driver.Peer   = (*Driver)(nil)
	_ driver.Placer = (*Driver)(nil)
)

// Stat looks at a file over there.
func (d *Driver) Stat(ctx context.Context, path string) (driver.File, error) {
	a, err := d.ask(ctx, &talk.Request{Do: talk.Stat, Path: path}, false, nil)
	if err != nil || a.File == nil {
		return driver.File{}, orNothing(err)
	}
	return *a.File, nil
}

// Push has a file brought from there into the broker's depot.
func (d *Driver) Push(ctx context.Context, path string) (driver.Moved, error) {
	return d.move(ctx, &talk.Request{Do: talk.Push, Path: path})
}

// Bring has a tree of that depot kept over there.
func (d *Driver) Bring(ctx context.Context, tree string) (driver.Moved, error) {
	return d.move(ctx, &talk.Request{Do: talk.Bring, Tree: tree})
}

// Offer has something from there offered to another site.
func (d *Driver) Offer(ctx context.Context, w driver.Wanted) (driver.Offer, func(), error) {
	s, why, _ := d.now()
	if s == nil {
		return driver.Offer{}, nil, d.away(errors.Join(why, errors.New("not connected")))
	}
	a, release, err := s.link.Hold(ctx, &talk.Request{Do: talk.Offer, Path: w.Path, Tree: w.Tree})
	switch {
	case err == nil && a.Offer != nil:
		return *a.Offer, release, nil
	case err == nil:
		release()
	case ctx.Err() == nil && s.link.Ended():
		err = d.away(err)
	}
	return driver.Offer{}, nil, orNothing(err)
}

// Take has fetched over there what another site offers.
func (d *Driver) Take(ctx context.Context, o driver.Offer) (driver.Moved, error) {
	return d.move(ctx, &talk.Request{Do: talk.Take, Offer: &o})
}

// Place has results put where their user wants them over there.
func (d *Driver) Place(ctx context.Context, p driver.Place) ([]driver.Placed, error) {
	a, err := d.ask(ctx, &talk.Request{Do: talk.Place, Place: &p}, false, nil)
	if err != nil {
		return nil, err
	}
	return a.Placed, nil
}

// Drop has results removed over there that were placed.
func (d *Driver) Drop(ctx context.Context, path string) error {
	_, err := d.ask(ctx, &talk.Request{Do: talk.Drop, Path: path}, false, nil)
	return err
}

func (d *Driver) move(ctx context.Context, q *talk.Request) (driver.Moved, error) {
	a, err := d.ask(ctx, q, false, nil)
	if err != nil || a.Moved == nil {
		return driver.Moved{}, orNothing(err)
	}
	return *a.Moved, nil
}
