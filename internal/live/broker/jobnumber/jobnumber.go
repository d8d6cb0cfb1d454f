// Package jobnumber sees to it that no number is given to two jobs, even if the store that
// gave it is gone. It must not know what a job is, nor how stores keep them.
package jobnumber

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

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

// reservation is what the file says.
type reservation struct {
	Store string     `json:"store"` // identity of the store that made it
	Next  core.JobID `json:"next"`  // no number from here on was ever given
}

// Reserver reserves numbers for one store.
type Reserver struct {
	path     string     // of the file
	store    string     // its identity
	reserved core.JobID // numbers below it are reserved
}

// OpenReserver reserves numbers in a file for the store of this identity. next is the number
// that follows the highest that the store knows, logged the highest of which there is a log;
// it returns the number from which on none was given.
func OpenReserver(path, store string, next, logged core.JobID) (*Reserver, core.JobID, error) {
	old, err := readReservation(path)
	if err != nil {
		return nil, 0, err
	}
	r := &Reserver{path: path, store: store}
	if old.Store != store || logged >= next { // another store was here, or a newer copy of this one
		next = max(next, old.Next, logged+1)
	} else {
		r.reserved = old.Next
	}
	return r, max(1, next), nil
}

// HighestLogged is the highest number of a job whose output is kept in a folder; 0 if there
// is none.
func HighestLogged(dir string) (core.JobID, error) {
	entries, err := os.ReadDir(dir)
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

// ReserveFrom makes sure that n numbers from next on are never given by another store.
func (r *Reserver) ReserveFrom(next core.JobID, n int) error {
	end := next + core.JobID(n)
	if end <= r.reserved {
		return nil
	}
	now := reservation{Store: r.store, Next: end + numberBlock}
	text, err := json.Marshal(now)
	if err == nil {
		err = replaceDurably(r.path, text)
	}
	if err != nil {
		return fmt.Errorf("reserving job numbers: %w", err)
	}
	r.reserved = now.Next
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
