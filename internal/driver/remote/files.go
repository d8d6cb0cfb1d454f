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

// StatFile looks at a file over there.
func (d *Driver) StatFile(ctx context.Context, path string) (driver.File, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.Stat, Path: path}, false, nil)
	if err != nil || a.File == nil {
		return driver.File{}, emptyAnswerError(err)
	}
	return *a.File, nil
}

// PushFiles has a file brought from there into the broker's depot.
func (d *Driver) PushFiles(ctx context.Context, path string) (driver.Moved, error) {
	return d.requestMove(ctx, &talk.Request{Do: talk.Push, Path: path})
}

// BringTree has a tree of that depot kept over there.
func (d *Driver) BringTree(ctx context.Context, tree string) (driver.Moved, error) {
	return d.requestMove(ctx, &talk.Request{Do: talk.Bring, Tree: tree})
}

// OfferFiles has something from there offered to another site.
func (d *Driver) OfferFiles(ctx context.Context, w driver.FileRequest) (driver.Offer, func(), error) {
	s, why, _ := d.currentSession()
	if s == nil {
		return driver.Offer{}, nil, d.awayError(errors.Join(why, errors.New("not connected")))
	}
	a, release, err := s.link.HoldRequest(ctx, &talk.Request{Do: talk.Offer, Path: w.Path, Tree: w.Tree})
	switch {
	case err == nil && a.Offer != nil:
		return *a.Offer, release, nil
	case err == nil:
		release()
	case ctx.Err() == nil && s.link.HasEnded():
		err = d.awayError(err)
	}
	return driver.Offer{}, nil, emptyAnswerError(err)
}

// TakeOffer has fetched over there what another site offers.
func (d *Driver) TakeOffer(ctx context.Context, o driver.Offer) (driver.Moved, error) {
	return d.requestMove(ctx, &talk.Request{Do: talk.Take, Offer: &o})
}

// PlaceResults has results put where their user wants them over there.
func (d *Driver) PlaceResults(ctx context.Context, p driver.ResultPlacement) ([]driver.Placed, error) {
	a, err := d.sendRequest(ctx, &talk.Request{Do: talk.PlaceResults, Place: &p}, false, nil)
	if err != nil {
		return nil, err
	}
	return a.Placed, nil
}

// DropResults has results removed over there that were placed.
func (d *Driver) DropResults(ctx context.Context, path string) error {
	_, err := d.sendRequest(ctx, &talk.Request{Do: talk.Drop, Path: path}, false, nil)
	return err
}

func (d *Driver) requestMove(ctx context.Context, q *talk.Request) (driver.Moved, error) {
	a, err := d.sendRequest(ctx, q, false, nil)
	if err != nil || a.Moved == nil {
		return driver.Moved{}, emptyAnswerError(err)
	}
	return *a.Moved, nil
}
