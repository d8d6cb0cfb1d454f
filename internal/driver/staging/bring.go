package staging

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// defaultLimit is how many bytes are kept where nobody says.
const defaultLimit = 16 << 30

// brought is a tree that is kept at the site.
type brought struct {
	Tree  string `json:"tree"`
	Bytes int64  `json:"bytes"`
}

// BringTree keeps a tree of the broker's depot here, unless it is kept already.
func (s *Site) BringTree(ctx context.Context, tree string) (driver.Moved, error) {
	to, err := s.openStore()
	if err != nil {
		return driver.Moved{}, err
	}
	if held, err := depot.HoldsTree(ctx, to, depot.ID(tree)); err != nil {
		return driver.Moved{}, err
	} else if held {
		return s.recordReuse(ctx, to, tree)
	}
	before := s.transferTime()
	t, err := depot.LoadTree(ctx, s.Depot, depot.ID(tree))
	if err != nil {
		return driver.Moved{}, err
	}
	m := driver.Moved{Tree: tree, Bytes: bytesOf(t)}
	// Noted before, so that what came of one that was cut off goes some time.
	if err := s.recordUse(ctx, brought{tree, m.Bytes}); err != nil {
		return driver.Moved{}, err
	}
	s.inUse.RLock()
	defer s.inUse.RUnlock()
	_, stats, err := depot.CopyTree(ctx, s.Depot, depot.ID(tree), to)
	if err != nil {
		return driver.Moved{}, err
	}
	m.Sent, m.Took = stats.Moved, s.transferTime()-before
	return m, nil
}

// recordReuse notes that something is used that is kept already.
func (s *Site) recordReuse(ctx context.Context, kept *depot.Store, tree string) (driver.Moved, error) {
	t, err := depot.LoadTree(ctx, kept, depot.ID(tree))
	if err != nil {
		return driver.Moved{}, err
	}
	m := driver.Moved{Tree: tree, Bytes: bytesOf(t)}
	return m, s.recordUse(ctx, brought{tree, m.Bytes})
}

// bytesOf is how much the files of a tree hold.
func bytesOf(t *depot.Tree) (sum int64) {
	for i := range t.Entries {
		sum += t.Entries[i].Size
	}
	return sum
}

func (s *Site) openStore() (*depot.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil {
		return s.kept, nil
	}
	var err error
	s.kept, err = depot.Open(KeptFolder(s.Dir))
	return s.kept, err
}

// recordUse remembers that a tree was used just now, and drops those that were not
// used for longest if there is too much. Whoever still wants one of them gets it
// from the broker.
func (s *Site) recordUse(ctx context.Context, b brought) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := filepath.Join(s.Dir, "brought.json")
	list, err := readList(file)
	if err != nil {
		return err
	}
	limit := s.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	keep, sum := []brought{b}, b.Bytes
	dropped := false
	for _, old := range list { // the one used last comes first
		switch {
		case old.Tree == b.Tree:
		case sum+old.Bytes > limit:
			dropped = true
		default:
			keep, sum = append(keep, old), sum+old.Bytes
		}
	}
	text, err := json.Marshal(keep)
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if s.owed = s.owed || dropped; err != nil {
		return err
	}
	return s.sweepUnlisted(ctx, keep)
}

// resumeWindow is how old something may be that was not brought to its end and goes on
// if it is asked for again.
const resumeWindow = 24 * time.Hour

// sweepUnlisted removes what is not in the list: when something was dropped from it, and
// once, after a while, what those left who were killed.
func (s *Site) sweepUnlisted(ctx context.Context, keep []brought) error {
	if s.swept && !s.owed || !s.inUse.TryLock() { // somebody brings something: next time
		return nil
	}
	defer s.inUse.Unlock()
	roots := make([]depot.ID, len(keep))
	for i := range keep {
		roots[i] = depot.ID(keep[i].Tree)
	}
	spare := cmp.Or(s.spare, resumeWindow)
	if s.owed {
		spare = 0
	}
	_, err := s.kept.CollectGarbage(ctx, roots, spare)
	switch {
	case err == nil:
		s.swept, s.owed = true, false
	case !s.owed:
		return nil // nothing new needs the room
	}
	return err
}

func readList(file string) ([]brought, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []brought
	if err == nil && json.Unmarshal(text, &list) != nil {
		list = nil // damaged: what it does not name is dropped some time
	}
	return list, err
}
