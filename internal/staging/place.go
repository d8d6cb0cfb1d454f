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

// Outgoing is the folder, in that of a site, for files that are to be placed
// somewhere else.
func Outgoing(dir string) string { return filepath.Join(dir, "outgoing") }

// Outgoing is that of this site.
func (s *Site) Outgoing() string { return Outgoing(s.Dir) }

// mostPlaced is of how many it is told what was placed.
const mostPlaced = 100

// Place puts what a folder holds where the user wants it. Everything is made
// ready in a hidden folder beside, and then takes its place at once, file by
// file.
func (s *Site) Place(ctx context.Context, p driver.Place) ([]driver.Placed, error) {
	if p.Path != "" && !s.isOutgoing(p.Path) {
		return nil, fmt.Errorf("%s: %w: it is not ours to move", p.Path, fs.ErrInvalid)
	}
	to := Absolute(p.To, s.Home)
	info, err := os.Stat(to)
	folder := strings.HasSuffix(p.To, "/") || err == nil && info.IsDir()
	into := to
	if !folder {
		into = filepath.Dir(to)
	}
	if err := os.MkdirAll(into, 0o777); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(p.Path + "\x00" + p.Tree + "\x00" + to))
	ready := filepath.Join(into, ".godwit-"+hex.EncodeToString(sum[:8]))
	if err := os.Mkdir(ready, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	from, err := s.makeReady(ctx, p, ready)
	if errors.Is(err, fs.ErrNotExist) && p.Path != "" {
		return nil, os.RemoveAll(ready) // it was placed before
	}
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			_ = os.RemoveAll(ready) // the first error tells more
		}
		return nil, err
	}
	list, err := place(from, into, to, folder)
	if err != nil {
		if p.Path != "" {
			err = errors.Join(err, os.Rename(from, p.Path)) // what is left of it stays where it was
		}
		return nil, errors.Join(err, os.RemoveAll(ready))
	}
	if p.Tree != "" {
		s.keepPlaced(ctx, p.Tree, list)
	}
	placed := make([]driver.Placed, 0, len(list))
	for i := range list {
		if list[i].File, err = s.Stat(ctx, list[i].Path); err == nil {
			placed = append(placed, list[i].Placed)
		}
	}
	return placed, os.RemoveAll(ready)
}

// isOutgoing says whether a path is one that agents set aside.
func (s *Site) isOutgoing(path string) bool {
	rel, err := filepath.Rel(s.Outgoing(), filepath.Clean(path))
	return err == nil && filepath.IsLocal(rel) && rel != "."
}

// makeReady has the content in the folder ready, below a folder whose path it
// returns.
func (s *Site) makeReady(ctx context.Context, p driver.Place, ready string) (string, error) {
	tree := depot.ID(p.Tree)
	kept, err := s.open()
	if err != nil {
		return "", err
	}
	if p.Path != "" {
		from := filepath.Join(ready, filepath.Base(p.Path))
		if _, err := os.Lstat(from); err == nil {
			return from, nil // moved there by one that was cut off
		}
		err := os.Rename(p.Path, from)
		if !errors.Is(err, syscall.EXDEV) {
			return from, err
		}
		if tree, _, _, err = depot.Push(ctx, filepath.Dir(p.Path), kept, depot.PushOptions{Exclude: alone(p.Path)}); err != nil {
			return "", err
		}
	}
	t, err := depot.Fetch(ctx, kept, tree, ready)
	if errors.Is(err, depot.ErrMissing) && s.Depot != nil {
		t, err = depot.Fetch(ctx, s.Depot, tree, ready)
	}
	if err != nil {
		return "", err
	}
	if len(t.Entries) == 0 || !t.Entries[0].Mode.IsDir() {
		return "", fmt.Errorf("%w: it is no folder", fs.ErrInvalid)
	}
	if p.Path != "" {
		err = os.RemoveAll(p.Path)
	}
	return filepath.Join(ready, t.Entries[0].Path), err
}

// put is something that was placed, and what it was called.
type put struct {
	driver.Placed
	name string
}

// place moves what a folder holds, file by file. It says what of it is at the
// top.
func place(from, into, to string, folder bool) (list []put, err error) {
	tops, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	if !folder && len(tops) != 1 {
		return nil, fmt.Errorf("%s: %w: %d files cannot have one name; a folder ends in a slash", to, fs.ErrInvalid, len(tops))
	}
	for _, d := range tops {
		at := filepath.Join(into, d.Name())
		if !folder {
			at = to
		}
		if err := moveAll(filepath.Join(from, d.Name()), at); err != nil {
			return list, err
		}
		if len(list) < mostPlaced {
			list = append(list, put{driver.Placed{File: driver.File{Path: at}}, d.Name()})
		}
	}
	return list, syncFile(into)
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
	if err := os.Chmod(from, 0o700); err != nil { // else it could not be emptied
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
func (s *Site) keepPlaced(ctx context.Context, tree string, list []put) {
	kept, err := s.open()
	if err != nil {
		return
	}
	all, err := depot.LoadTree(ctx, kept, depot.ID(tree))
	if err != nil || len(all.Entries) == 0 {
		return
	}
	for i := range list {
		one, bytes := below(all, all.Entries[0].Path+"/"+list[i].name, filepath.Base(list[i].Path))
		id, err := depot.Keep(ctx, kept, one)
		if err == nil && s.note(ctx, brought{string(id), bytes}) == nil {
			list[i].Tree = string(id)
		}
	}
}

// below is what lies at a path of a tree, by another name.
func below(all *depot.Tree, path, name string) (*depot.Tree, int64) {
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

// Drop removes what agents set aside.
func (s *Site) Drop(_ context.Context, path string) error {
	if !s.isOutgoing(path) {
		return fmt.Errorf("%s: %w: it is not ours to remove", path, fs.ErrInvalid)
	}
	return os.RemoveAll(path)
}
