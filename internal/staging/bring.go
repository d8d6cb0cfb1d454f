package staging

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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

// Bring keeps a tree of the broker's depot here, unless it is kept already.
func (s *Site) Bring(ctx context.Context, tree string) (driver.Moved, error) {
	to, err := s.open()
	if err != nil {
		return driver.Moved{}, err
	}
	if held, err := depot.Holds(ctx, to, depot.ID(tree)); err != nil {
		return driver.Moved{}, err
	} else if held {
		return s.again(ctx, to, tree)
	}
	s.inUse.RLock()
	_, stats, err := depot.Copy(ctx, s.Depot, depot.ID(tree), to)
	s.inUse.RUnlock()
	if err != nil {
		return driver.Moved{}, err
	}
	return driver.Moved{Tree: tree, Bytes: stats.Bytes, Sent: stats.Moved}, s.note(ctx, brought{tree, stats.Bytes})
}

// again notes that something is used that is kept already.
func (s *Site) again(ctx context.Context, kept *depot.Store, tree string) (driver.Moved, error) {
	t, err := depot.LoadTree(ctx, kept, depot.ID(tree))
	if err != nil {
		return driver.Moved{}, err
	}
	m := driver.Moved{Tree: tree}
	for i := range t.Entries {
		m.Bytes += t.Entries[i].Size
	}
	return m, s.note(ctx, brought{tree, m.Bytes})
}

func (s *Site) open() (*depot.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept != nil {
		return s.kept, nil
	}
	var err error
	s.kept, err = depot.Open(Kept(s.Dir))
	return s.kept, err
}

// note remembers that a tree was used just now, and drops those that were not
// used for longest if there is too much. Whoever still wants one of them gets it
// from the broker.
func (s *Site) note(ctx context.Context, b brought) error {
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
	if err != nil || !dropped || !s.inUse.TryLock() { // somebody brings something: next time
		return err
	}
	defer s.inUse.Unlock()
	roots := make([]depot.ID, len(keep))
	for i := range keep {
		roots[i] = depot.ID(keep[i].Tree)
	}
	_, err = s.kept.Collect(ctx, roots, 0)
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
