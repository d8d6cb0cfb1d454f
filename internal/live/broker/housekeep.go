package broker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/live/store"
)

// housekeepLoop drops what nobody needs any more.
func (b *Broker) housekeepLoop(ctx context.Context) {
	for clock.SleepContext(ctx, 10*time.Minute) {
		for what, f := range map[string]func(context.Context) error{
			"the depot": b.collectDepots, "logs": b.dropLogs,
			"what was brought home": func(context.Context) error { return b.brought.ForgetOld(b.opt.Clock()) },
		} {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				b.opt.Log.Error("clearing up "+what, "error", err)
			}
		}
		b.measureLogs(ctx)
	}
}

// collectDepots removes from the depot what no job reaches.
func (b *Broker) collectDepots(ctx context.Context) error {
	ids, err := b.neededTrees(ctx)
	if err != nil {
		return err
	}
	// What a depot does not hold is no root of it.
	if _, err = b.opt.Depot.CollectGarbage(ctx, ids, time.Hour); err != nil || b.opt.Users == nil {
		return err
	}
	users, err := b.opt.Users.UsersWithDepot()
	for _, u := range users {
		chunks, e := b.opt.Users.UserDepot(u)
		if e == nil {
			_, e = chunks.CollectGarbage(ctx, ids, time.Hour)
		}
		err = errors.Join(err, e)
	}
	return err
}

// dropLogs removes what jobs wrote that ended long ago.
func (b *Broker) dropLogs(ctx context.Context) error {
	if b.opt.KeepJobs <= 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(b.opt.State, "logs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		j, err := b.opt.Store.FindJob(ctx, e.Name())
		switch {
		case errors.Is(err, store.ErrNoJob):
		case err != nil:
			return err
		case j.Ended == 0 || b.brokerTime().Sub(j.Ended) < b.opt.KeepJobs:
			continue
		}
		if err := os.RemoveAll(filepath.Join(b.opt.State, "logs", e.Name())); err != nil {
			return err
		}
	}
	return nil
}
