package remote

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/driver/remote/talk"
)

var _ driver.Stager = (*Driver)(nil)

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

func (d *Driver) move(ctx context.Context, q *talk.Request) (driver.Moved, error) {
	a, err := d.ask(ctx, q, false, nil)
	if err != nil || a.Moved == nil {
		return driver.Moved{}, orNothing(err)
	}
	return *a.Moved, nil
}
