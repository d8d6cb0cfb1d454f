package depot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// FetchTree makes dir hold exactly the tree id: what is not in the tree is removed,
// and files that are right already are left as they are. Every chunk is
// verified; if one is missing or damaged the error is ErrMissing or ErrDamaged
// and dir holds part of the tree.
func FetchTree(ctx context.Context, from chunk.Source, id chunk.ID, dir string) (*tree.Tree, error) {
	t, err := tree.LoadTree(ctx, from, id)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening a folder: %w", err)
	}
	defer root.Close() //nolint:errcheck // only opened
	want, err := cleanFolder(root, dir, t)
	if err == nil {
		err = placeAll(ctx, from, root, want, false)
	}
	if err != nil {
		return nil, fmt.Errorf("filling %s: %w", dir, err)
	}
	return t, nil
}

// cleanFolder removes from dir what the tree does not have, and returns those
// entries that dir does not have.
func cleanFolder(root *os.Root, dir string, t *tree.Tree) ([]tree.Entry, error) {
	list, odd, err := walk.ListFolder(dir, nil, walk.Limit{})
	if err != nil {
		return nil, err
	}
	want := make(map[string]*tree.Entry, len(t.Entries))
	for i := range t.Entries {
		want[t.Entries[i].Path] = &t.Entries[i]
	}
	have := map[string]bool{}
	var c chunk.Cutter
	for _, f := range list {
		if f.Mode.IsDir() && f.Mode&0o700 != 0o700 {
			// Else what is in it could not be changed. It gets its mode in the end.
			if err := root.Chmod(f.Path, 0o700); err != nil {
				return nil, err
			}
		}
		e := want[f.Path]
		if e != nil && (f.Mode.IsDir() && e.Mode.IsDir() || holdsEntry(&c, dir, &f, e)) {
			have[f.Path] = true
		} else {
			odd = append(odd, f.Path)
		}
	}
	for _, p := range odd {
		if err := root.RemoveAll(p); err != nil {
			return nil, err
		}
	}
	var left []tree.Entry
	for _, e := range t.Entries {
		// Folders are gone through again for their modes.
		if !have[e.Path] || e.Mode.IsDir() {
			left = append(left, e)
		}
	}
	return left, nil
}

// holdsEntry reports whether what was found is the entry already. Only a file that
// looks right from outside is read.
func holdsEntry(c *chunk.Cutter, dir string, f *walk.FoundEntry, e *tree.Entry) bool {
	if f.Mode != e.Mode || f.Size != e.Size || f.ModTime != e.ModTime || f.Link != e.Link {
		return false
	}
	if f.Size == 0 {
		return true
	}
	in, err := os.Open(filepath.Join(dir, f.Path))
	if err != nil {
		return false
	}
	defer in.Close() //nolint:errcheck // only read
	holes, err := chunk.MapHoles(in, f.Size, f.Blocks)
	if err != nil {
		return false
	}
	var chunks []chunk.Sum
	p := chunk.PlanFor(f.Size)
	for off := int64(0); off < f.Size; off += p.PieceSize {
		var piece []chunk.Sum
		err := c.CutPiece(in, p, off, min(p.PieceSize, f.Size-off), holes, func(id chunk.Sum, _ []byte) error {
			piece = append(piece, id)
			return nil
		})
		if err != nil {
			return false
		}
		chunks = chunk.JoinPieces(chunks, piece)
	}
	return slices.EqualFunc(chunks, e.Chunks, func(s chunk.Sum, id chunk.ID) bool { return s.ToID() == id })
}

// ApplyChanges removes and writes single entries of a folder, as DiffTrees found them
// between two trees, and leaves everything else in it alone. A file is replaced
// at once, when all of it has arrived.
func ApplyChanges(ctx context.Context, from chunk.Source, dir string, changed []tree.Entry, removed []string) error {
	for i := range changed {
		if err := changed[i].CheckEntry(); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("opening a folder: %w", err)
	}
	defer root.Close() //nolint:errcheck // only opened
	for _, p := range removed {
		if !tree.IsSafePath(p) {
			return tree.BadTree("the path %q", chunk.ClipText(p))
		}
		// A folder that is not empty holds what is none of our business.
		st, err := root.Lstat(p)
		if err == nil && st.IsDir() {
			root.Remove(p) //nolint:errcheck // see above
		} else if err == nil {
			err = root.Remove(p)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", filepath.Join(dir, p), err)
		}
	}
	if err := placeAll(ctx, from, root, changed, true); err != nil {
		return fmt.Errorf("writing to %s: %w", dir, err)
	}
	return nil
}

// placeAll puts entries into the folder root. Where replace is set there may be
// something in their place.
func placeAll(ctx context.Context, from chunk.Source, root *os.Root, entries []tree.Entry, replace bool) error {
	var files []*tree.Entry
	var folders []*tree.Entry
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Mode.IsDir():
			folders = append(folders, e)
			if err := placeFolder(root, e, replace); err != nil {
				return err
			}
		case e.Mode.IsRegular():
			files = append(files, e)
		default:
			if err := placeLink(root, e, replace); err != nil {
				return err
			}
		}
	}
	if err := placeFiles(ctx, from, root, files, replace); err != nil {
		return err
	}
	for _, e := range slices.Backward(folders) {
		if e.Mode.Perm() == 0o700 && !replace {
			continue
		}
		if err := root.Chmod(e.Path, e.Mode.Perm()); err != nil {
			return err
		}
	}
	return nil
}

func placeFolder(root *os.Root, e *tree.Entry, replace bool) error {
	err := root.Mkdir(e.Path, 0o700)
	if errors.Is(err, fs.ErrNotExist) && replace {
		err = root.MkdirAll(e.Path, 0o700)
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := root.Lstat(e.Path)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return root.Chmod(e.Path, 0o700)
	}
	if err := root.Remove(e.Path); err != nil {
		return err
	}
	return root.Mkdir(e.Path, 0o700)
}

func placeLink(root *os.Root, e *tree.Entry, replace bool) error {
	if replace {
		if err := makeRoom(root, e.Path); err != nil {
			return err
		}
	}
	return root.Symlink(e.Link, e.Path)
}

// makeRoom removes what stands in the place of a file or link, and makes the
// folder that it will be in.
func makeRoom(root *os.Root, p string) error {
	if up := path.Dir(p); up != "." {
		if err := root.MkdirAll(up, 0o755); err != nil {
			return err
		}
	}
	return root.RemoveAll(p)
}

// finishFile gives a file that is complete its mode and time.
func finishFile(root *os.Root, name string, f *os.File, e *tree.Entry) error {
	if err := f.Chmod(e.Mode.Perm()); err != nil {
		return err
	}
	t := time.Unix(0, e.ModTime)
	return root.Chtimes(name, t, t)
}
