// Package broughtfiles remembers which files jobs brought into users' folders, so that a file
// of the user's own is never taken for one that an earlier job brought. It keeps a file of
// its own for each work folder; it neither looks into these folders nor writes there.
package broughtfiles

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/userfiles"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// A file that lies where a result belongs may be the user's, or what an earlier
// job brought. The work folder as it was sent does not tell for files that are
// not sent (.godwitignore, outputs of workflow tasks). So it is written down, for
// each work folder, what jobs brought there and when. What is forgotten of this,
// because it is old or a broker was killed, costs a copy beside the file, never a file.

// broughtFile is a file that a job brought home.
type broughtFile struct {
	userfiles.Stamp
	At core.Time `json:"at"`
}

// Record is the files that jobs brought home, by work folder.
type Record struct {
	Dir string // where it is kept; it need not be there yet
	mu  sync.Mutex
}

func (r *Record) recordFile(owner uint32, workdir string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d %s", owner, workdir)))
	return filepath.Join(r.Dir, hex.EncodeToString(sum[:16])+".json")
}

// FilesBefore are the files that were brought to a work folder before a moment.
func (r *Record) FilesBefore(owner uint32, workdir string, when core.Time) map[string]userfiles.Stamp {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[string]userfiles.Stamp{}
	for name, f := range r.readRecord(owner, workdir) {
		if f.At <= when {
			known[name] = f.Stamp
		}
	}
	return known
}

// readRecord is what is written down of a work folder; what cannot be read is forgotten.
func (r *Record) readRecord(owner uint32, workdir string) map[string]broughtFile {
	files := map[string]broughtFile{}
	text, err := os.ReadFile(r.recordFile(owner, workdir))
	if err != nil || json.Unmarshal(text, &files) != nil {
		return map[string]broughtFile{}
	}
	return files
}

// AddFiles writes down what was brought just now. Of very many files the newest are kept.
func (r *Record) AddFiles(owner uint32, workdir string, placed map[string]userfiles.Stamp, now core.Time) error {
	if len(placed) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	files := r.readRecord(owner, workdir)
	for name, stamp := range placed {
		files[name] = broughtFile{stamp, now}
	}
	newest := slices.SortedFunc(maps.Keys(files), func(x, y string) int {
		return cmp.Or(cmp.Compare(files[y].At, files[x].At), cmp.Compare(x, y))
	})
	size := 0
	for _, name := range newest {
		if size += len(name) + userfiles.StampBytes; size > userfiles.MaxStampBytes {
			delete(files, name)
		}
	}
	text, err := json.Marshal(files)
	if err == nil {
		err = os.MkdirAll(r.Dir, 0o700)
	}
	file := r.recordFile(owner, workdir)
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return err
}

// maxAge is how long it is remembered what was brought to a work folder in
// which no job ran since.
const maxAge = 90 * 24 * time.Hour

// ForgetOld drops what is known of work folders in which no job ran for long.
func (r *Record) ForgetOld(now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, err := os.ReadDir(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range list {
		if info, e2 := e.Info(); e2 == nil && now.Sub(info.ModTime()) > maxAge {
			err = errors.Join(err, os.Remove(filepath.Join(r.Dir, e.Name())))
		}
	}
	return err
}
