package broker

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/godwit-hpc/godwit/internal/live/broker/jobnumber"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// identitySetting is the name under which a store keeps its identity.
const identitySetting = "identity"

// resumeNumbers sets the number of the next job, given what the store says.
func (b *Broker) resumeNumbers(ctx context.Context, next core.JobID) error {
	identity, err := b.opt.Store.GetSetting(ctx, identitySetting)
	if err != nil {
		return err
	}
	if identity == "" {
		identity = newMark()
		batch := &store.Batch{First: b.nextEvent, Settings: map[string]string{identitySetting: identity}}
		if err := b.opt.Store.CommitBatch(ctx, batch); err != nil && !errors.Is(err, store.ErrFull) {
			return err // on a full disk it has another identity next time: numbers are skipped, no harm
		}
	}
	logged, err := jobnumber.HighestLogged(filepath.Join(b.opt.State, "logs"))
	if err != nil {
		return err
	}
	b.numbers, b.nextJob, err = jobnumber.OpenReserver(filepath.Join(b.opt.State, "next-job.json"), identity, next, logged)
	return err
}
