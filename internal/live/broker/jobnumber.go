package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A store may be moved away or replaced by an older copy while logs of its jobs, and
// folders of their attempts at clusters, are still there. The numbers of jobs
// therefore go on beyond the store: were one given twice, the second job would be
// shown the first one's output. A file beside the store says up to where numbers may
// have been given, and by which store.

// numberBlock is how many numbers are reserved at a time, so that the file is
// written rarely.
const numberBlock = 1000

// identitySetting is the name under which a store keeps its identity.
const identitySetting = "identity"

// reservation is what the file says.
type reservation struct {
	Store string     `json:"store"` // identity of the store that made it
	Next  core.JobID `json:"next"`  // no number from here on was ever given
}

func (b *Broker) reservationFile() string { return filepath.Join(b.opt.State, "next-job.json") }

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
	b.identity = identity
	logged, err := b.highestLogged()
	if err != nil {
		return err
	}
	reserved, err := readReservation(b.reservationFile())
	if err != nil {
		return err
	}
	if reserved.Store != identity || logged >= next { // another store was here, or a newer copy of this one
		next = max(next, reserved.Next, logged+1)
	} else {
		b.reserved = reserved.Next
	}
	b.nextJob = max(1, next)
	return nil
}

// highestLogged is the highest number of a job whose output is kept; 0 if there is none.
func (b *Broker) highestLogged() (core.JobID, error) {
	entries, err := os.ReadDir(filepath.Join(b.opt.State, "logs"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var highest core.JobID
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && core.JobID(n) > highest {
			highest = core.JobID(n)
		}
	}
	return highest, err
}

func readReservation(path string) (r reservation, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && r.Next < 0 {
		err = fmt.Errorf("next is %d", r.Next)
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w; remove it if the store is sound", path, err)
	}
	return r, nil
}

// reserveNumbers makes sure that n numbers from the next on are never given by
// another store.
func (b *Broker) reserveNumbers(n int) error {
	end := b.nextJob + core.JobID(n)
	if end <= b.reserved {
		return nil
	}
	r := reservation{Store: b.identity, Next: end + numberBlock}
	text, err := json.Marshal(r)
	if err == nil {
		err = replaceDurably(b.reservationFile(), text)
	}
	if err != nil {
		return fmt.Errorf("reserving job numbers: %w", err)
	}
	b.reserved = r.Next
	return nil
}

// replaceDurably puts a file in the place of another, so that after a crash there is
// one of the two, whole.
func replaceDurably(path string, text []byte) error {
	beside := path + ".new"
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
