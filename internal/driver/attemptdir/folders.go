package attemptdir

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// What stands beside the attempts' folders.
const (
	goneFile = "gone"  // the attempts that were released
	trashDir = "trash" // folders of released attempts, on their way out
	rampart  = "fence" // an empty file: every fence is another name for it
)

// Folders are the folders of a cluster's attempts and what stands beside them.
// They may be used by several goroutines.
type Folders struct {
	dir   string
	clock clock.Clock
	log   *slog.Logger
	gone  *register

	trash   chan string // folders to remove
	closing chan struct{}
	sweeper sync.WaitGroup

	reuse       atomic.Bool // somebody uses spares
	spares      chan string // folders to be used again
	spareNumber int         // of the last one; the sweeper's
}

// Open makes the folder that holds them, if it is missing, and removes what was
// left half removed in it.
func Open(dir string, c clock.Clock, log *slog.Logger) (*Folders, error) {
	f := &Folders{dir: dir, clock: c, log: log, trash: make(chan string, 1024), closing: make(chan struct{}),
		spares: make(chan string, maxSpareFolders)}
	if err := os.MkdirAll(f.folderPath(trashDir), 0o700); err != nil {
		return nil, err
	}
	if err := touchFile(f.folderPath(rampart)); err != nil {
		return nil, err
	}
	left, err := os.ReadDir(f.folderPath(trashDir))
	if err != nil {
		return nil, err
	}
	for _, e := range left {
		f.removeFolder(filepath.Join(f.folderPath(trashDir), e.Name()))
	}
	if f.gone, err = openRegister(f.folderPath(goneFile), c()); err != nil {
		return nil, err
	}
	f.sweeper.Go(f.sweepTrash)
	return f, nil
}

// Close returns when all that was put away is removed.
func (f *Folders) Close() error {
	close(f.closing)
	f.sweeper.Wait()
	return f.gone.closeFile()
}

func (f *Folders) folderPath(name string) string { return filepath.Join(f.dir, name) }

// AttemptPath is the folder of an attempt, whether there is one or not.
func (f *Folders) AttemptPath(id driver.ID) string { return f.folderPath(FolderName(id)) }

// AttemptIDs are the attempts that have a folder, in order.
func (f *Folders) AttemptIDs() ([]driver.ID, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var ids []driver.ID
	for _, e := range entries {
		if id, ok := ParseName(e.Name()); ok && e.IsDir() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, driver.CompareIDs)
	return ids, nil
}

// PutFence puts the fence around an attempt: another name for a file that is there
// already, because making one costs ten times as much.
func (f *Folders) PutFence(id driver.ID) error {
	path := filepath.Join(f.AttemptPath(id), FenceFile)
	if err := os.Link(f.folderPath(rampart), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return touchFile(path) // a file has only so many names, or none can be added here
}

// WasReleased says whether an attempt was released, not too long ago.
func (f *Folders) WasReleased(id driver.ID) bool { return f.gone.hasAttempt(id) }

// RememberRelease notes that an attempt is never to be started again.
func (f *Folders) RememberRelease(id driver.ID) {
	if err := f.gone.addAttempt(id, f.clock()); err != nil {
		f.log.Warn("a release cannot be written down", "job", id.Job, "epoch", id.Epoch, "part", id.Part, "err", err)
	}
}

// PutAway takes an attempt's folder out of sight; it is removed in passing.
func (f *Folders) PutAway(id driver.ID) error {
	trash := filepath.Join(f.folderPath(trashDir), FolderName(id))
	err := os.Rename(f.AttemptPath(id), trash)
	if errors.Is(err, fs.ErrExist) { // it was there before, and put away too
		if err = removeTree(trash); err == nil {
			err = os.Rename(f.AttemptPath(id), trash)
		}
	}
	if err != nil {
		return fmt.Errorf("put the folder away: %w", err)
	}
	select {
	case f.trash <- trash:
	default: // too many; or it is looked through at the next start
		return removeTree(trash)
	}
	return nil
}

// sweepTrash removes what was put away, or keeps it for another attempt.
func (f *Folders) sweepTrash() {
	for {
		select {
		case dir := <-f.trash:
			if !f.keepSpare(dir) {
				f.removeFolder(dir)
			}
		case <-f.closing:
			for {
				select {
				case dir := <-f.trash:
					f.removeFolder(dir)
				case dir := <-f.spares:
					f.removeFolder(dir)
				default:
					return
				}
			}
		}
	}
}

func (f *Folders) removeFolder(dir string) {
	if err := removeTree(dir); err != nil {
		f.log.Warn("a folder cannot be removed", "dir", dir, "err", err)
	}
}
