package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// OutgoingFolder is the folder, in that of a site, for files that are to be placed
// somewhere else.
func OutgoingFolder(dir string) string { return filepath.Join(dir, "outgoing") }

// OutgoingFolder is that of this site.
func (s *Site) OutgoingFolder() string { return OutgoingFolder(s.Dir) }

// maxPlacedReported is of how many it is told what was placed.
const maxPlacedReported = 100

// PlaceResults puts what a folder holds where the user wants it. Everything is made
// ready in a hidden folder beside, and then takes its place at once, file by
// file. Whoever was killed meanwhile is asked again, and then goes on.
func (s *Site) PlaceResults(ctx context.Context, p driver.ResultPlacement) ([]driver.Placed, error) {
	if p.Path != "" && !s.isOutgoing(p.Path) {
		return nil, fmt.Errorf("%s: %w: it is not ours to move", p.Path, fs.ErrInvalid)
	}
	t := s.targetFor(&p)
	var list []placedFile
	var err error
	if p.Path != "" {
		list, err = s.placeFolder(ctx, p.Path, &t)
	} else if list, err = s.placeTree(ctx, depot.ID(p.Tree), &t); err == nil {
		s.keepPlaced(ctx, p.Tree, list)
	}
	if err != nil {
		return nil, err
	}
	placed := make([]driver.Placed, 0, len(list))
	for i := range list {
		if list[i].File, err = s.StatFile(ctx, list[i].Path); err == nil {
			placed = append(placed, list[i].Placed)
		}
	}
	return placed, removeAll(t.ready)
}

// target is where something is placed.
type target struct {
	to     string // a folder, or the name that it gets
	folder bool
	into   string // the folder that it, or what it holds, comes into
	ready  string // hidden, in that one
}

// targetFor is where something is placed. What has a name gets it from one that was
// cut off, if there is a folder of that one: then a folder by that name is the
// beginning of it.
func (s *Site) targetFor(p *driver.ResultPlacement) target {
	t := target{to: AbsolutePath(p.To, s.Home)}
	sum := sha256.Sum256([]byte(p.Path + "\x00" + p.Tree + "\x00" + t.to))
	hidden := ".godwit-" + hex.EncodeToString(sum[:8])
	t.into = filepath.Dir(t.to)
	t.ready = filepath.Join(t.into, hidden)
	if t.folder = strings.HasSuffix(p.To, "/"); !t.folder {
		info, err := os.Stat(t.to)
		begun, _ := pathExists(t.ready) // else it cannot be made either
		t.folder = err == nil && info.IsDir() && !begun
	}
	if t.folder {
		t.into, t.ready = t.to, filepath.Join(t.to, hidden)
	}
	return t
}

// pathExists says whether anything is at a path.
func pathExists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	return err == nil, err
}

// prepareFolder makes the hidden folder.
func (t *target) prepareFolder() error {
	if err := os.MkdirAll(t.into, 0o777); err != nil {
		return err
	}
	if err := os.Mkdir(t.ready, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// placeFolder places what a folder of ours holds.
func (s *Site) placeFolder(ctx context.Context, path string, t *target) ([]placedFile, error) {
	from := filepath.Join(t.ready, filepath.Base(path))
	if left, err := pathExists(path); err != nil {
		return nil, err
	} else if !left {
		// One that was cut off moved it, or all of it is placed, or there was none.
		if moved, err := pathExists(from); err != nil || !moved {
			return nil, err
		}
		return t.placeMoved(from, path)
	}
	if err := t.prepareFolder(); err != nil {
		return nil, err
	}
	// What can be moved is never in both places.
	copied, err := pathExists(from)
	if err == nil && !copied {
		err = os.Rename(path, from)
	}
	switch {
	case copied, errors.Is(err, syscall.EXDEV):
		return s.placeCopy(ctx, path, t)
	case err != nil:
		_ = os.Remove(t.ready) // if there is nothing in it
		return nil, err
	}
	return t.placeMoved(from, path)
}

// placeMoved places what was moved to from, where it is the only one. If it cannot
// be, what is left of it is moved back.
func (t *target) placeMoved(from, path string) ([]placedFile, error) {
	list, err := t.placeFiles(from)
	if err == nil {
		return list, nil
	}
	if back := os.Rename(from, path); back != nil {
		return nil, errors.Join(err, fmt.Errorf("what is left of it stays in %s: %w", from, back))
	}
	return nil, errors.Join(err, removeAll(t.ready))
}

// placeCopy places a copy of what a folder holds that lies on another file
// system. The folder goes when all of the copy is in its place: until then only
// the folder is sure to be whole.
func (s *Site) placeCopy(ctx context.Context, path string, t *target) ([]placedFile, error) {
	kept, err := s.openStore()
	if err != nil {
		return nil, err
	}
	s.inUse.RLock()
	tree, _, stats, err := depot.PushFolder(ctx, filepath.Dir(path), kept, depot.PushOptions{Exclude: excludeOthers(path)})
	s.inUse.RUnlock()
	if err == nil {
		err = s.recordUse(ctx, brought{string(tree), stats.Bytes})
	}
	if err != nil {
		_ = os.Remove(t.ready) // if there is nothing in it
		return nil, err
	}
	list, err := s.placeTree(ctx, tree, t)
	if err != nil {
		return nil, err
	}
	// At once, so that nobody takes what is left of it for all of it.
	gone := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".placed")
	if err := os.Rename(path, gone); err != nil {
		return nil, err
	}
	_ = removeAll(gone) // else it goes with the folder that it is in
	return list, nil
}

// placeTree places what the one folder of a tree holds. The tree stays, whatever
// happens.
func (s *Site) placeTree(ctx context.Context, tree depot.ID, t *target) ([]placedFile, error) {
	if err := t.prepareFolder(); err != nil {
		return nil, err
	}
	from, err := s.fetchTree(ctx, tree, t.ready)
	if errors.Is(err, context.Canceled) {
		return nil, err // it goes on from there
	}
	var list []placedFile
	if err == nil {
		list, err = t.placeFiles(from)
	}
	if err != nil {
		_ = removeAll(t.ready) // the first error tells more
		return nil, err
	}
	return list, nil
}

// isOutgoing says whether a path is one that agents set aside.
func (s *Site) isOutgoing(path string) bool {
	rel, err := filepath.Rel(s.OutgoingFolder(), filepath.Clean(path))
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// fetchTree makes a folder hold a tree, and returns the path of the one folder in it.
func (s *Site) fetchTree(ctx context.Context, tree depot.ID, ready string) (string, error) {
	kept, err := s.openStore()
	if err != nil {
		return "", err
	}
	t, err := depot.FetchTree(ctx, kept, tree, ready)
	if errors.Is(err, depot.ErrMissing) && s.Depot != nil {
		t, err = depot.FetchTree(ctx, s.Depot, tree, ready)
	}
	if err != nil {
		return "", err
	}
	if len(t.Entries) == 0 || !t.Entries[0].Mode.IsDir() {
		return "", fmt.Errorf("%w: it is no folder", fs.ErrInvalid)
	}
	return filepath.Join(ready, t.Entries[0].Path), nil
}

// placedFile is something that was placed, and what it was called.
type placedFile struct {
	driver.Placed
	name string
}

// placeFiles moves what a folder holds, file by file. It says what of it is at the
// top.
func (t *target) placeFiles(from string) (list []placedFile, err error) {
	tops, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	if !t.folder && len(tops) > 1 {
		return nil, fmt.Errorf("%s: %w: %d files cannot have one name; a folder ends in a slash", t.to, fs.ErrInvalid,
			len(tops))
	}
	for _, d := range tops {
		at := t.to
		if t.folder {
			at = filepath.Join(t.into, d.Name())
		}
		if err := moveAll(filepath.Join(from, d.Name()), at); err != nil {
			return list, err
		}
		if len(list) < maxPlacedReported {
			list = append(list, placedFile{driver.Placed{File: driver.File{Path: at}}, d.Name()})
		}
	}
	return list, syncFile(t.into)
}

// moveAll moves a file, a link or a folder, into a folder that may be there.
func moveAll(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if info.Mode().IsRegular() {
			if err := syncFile(from); err != nil {
				return err
			}
		}
		return os.Rename(from, to)
	}
	if err := os.Mkdir(to, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if at, err := os.Stat(to); err != nil || !at.IsDir() {
		return errors.Join(err, fmt.Errorf("%s: %w: it is in the way of a folder", to, fs.ErrInvalid))
	}
	// Else it could not be emptied. What else may be done stays, for one that goes on.
	if err := os.Chmod(from, info.Mode().Perm()|0o700); err != nil {
		return err
	}
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, d := range list {
		if err := moveAll(filepath.Join(from, d.Name()), filepath.Join(to, d.Name())); err != nil {
			return err
		}
	}
	return os.Chmod(to, info.Mode().Perm())
}

// syncFile makes a file, or what a folder lists, durable.
func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// keepPlaced makes trees, of what the site keeps anyway, of what was placed. That
// it cannot costs time only.
func (s *Site) keepPlaced(ctx context.Context, tree string, list []placedFile) {
	kept, err := s.openStore()
	if err != nil {
		return
	}
	all, err := depot.LoadTree(ctx, kept, depot.ID(tree))
	if err != nil || len(all.Entries) == 0 {
		return
	}
	for i := range list {
		one, bytes := subtreeAt(all, all.Entries[0].Path+"/"+list[i].name, filepath.Base(list[i].Path))
		id, err := depot.KeepTree(ctx, kept, one)
		if err == nil && s.recordUse(ctx, brought{string(id), bytes}) == nil {
			list[i].Tree = string(id)
		}
	}
}

// subtreeAt is what lies at a path of a tree, by another name.
func subtreeAt(all *depot.Tree, path, name string) (*depot.Tree, int64) {
	one, bytes := new(depot.Tree), int64(0)
	for _, e := range all.Entries {
		rest, ok := strings.CutPrefix(e.Path, path)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		e.Path = name + rest
		bytes += e.Size
		one.Entries = append(one.Entries, e)
	}
	return one, bytes
}

// DropResults removes what agents set aside.
func (s *Site) DropResults(_ context.Context, path string) error {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.OutgoingFolder(), path)
	}
	if !s.isOutgoing(path) {
		return fmt.Errorf("%s: %w: it is not ours to remove", path, fs.ErrInvalid)
	}
	return removeAll(path)
}

// removeAll removes a folder, with those in it that nothing may be removed from.
func removeAll(path string) error {
	if left, err := pathExists(path); err != nil || !left {
		return err
	}
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // whether it helped is seen below
		}
		return nil
	})
	return os.RemoveAll(path)
}
