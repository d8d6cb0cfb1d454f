package tree

import (
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
)

// EntryIndex is the entries of a tree that is being made, by their paths.
type EntryIndex map[string]*Entry

// IndexEntries is the entries of a tree by their paths.
func (t *Tree) IndexEntries() EntryIndex {
	x := make(EntryIndex, len(t.Entries))
	for i := range t.Entries {
		x[t.Entries[i].Path] = &t.Entries[i]
	}
	return x
}

// BuildTree is the tree of the entries.
func (x EntryIndex) BuildTree() *Tree {
	list := make([]Entry, 0, len(x))
	for _, p := range slices.Sorted(maps.Keys(x)) {
		list = append(list, *x[p])
	}
	return &Tree{Entries: list}
}

// EnsureParents sees to it that the folders of a path are there; false if something
// else is in their place.
func (x EntryIndex) EnsureParents(p string) bool {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if e := x[dir]; e != nil && !e.Mode.IsDir() {
			return false
		}
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if x[dir] == nil {
			x[dir] = &Entry{Path: dir, Mode: fs.ModeDir | 0o755}
		}
	}
	return true
}

// IsSameFile says whether two entries are the same file, but for its path and time.
func (e *Entry) IsSameFile(other *Entry) bool {
	return e.Mode == other.Mode && e.Size == other.Size && e.Link == other.Link && slices.Equal(e.Chunks, other.Chunks)
}

// OverlayTree is mine with the files of another tree. It says whether that changes
// anything.
func OverlayTree(mine, other *Tree) (*Tree, bool) {
	have, changed := mine.IndexEntries(), false
	for _, e := range other.Entries {
		if now := have[e.Path]; e.Mode.IsDir() || now != nil && now.IsSameFile(&e) || !have.EnsureParents(e.Path) {
			continue
		}
		have[e.Path] = &e
		changed = true
	}
	return have.BuildTree(), changed
}

// MergeTrees is mine with what was made of base in result, where mine has what
// base had. place says where a path of these lies in mine.
func MergeTrees(base, result, mine *Tree, place func(string) (string, bool)) (*Tree, bool) {
	was, have := base.IndexEntries(), mine.IndexEntries()
	changed, _ := DiffTrees(base, result)
	any := false
	for _, e := range changed {
		old := was[e.Path]
		at, ok := place(e.Path)
		if !ok {
			continue
		}
		now, there := have[at]
		if there && (old == nil || !now.IsSameFile(old)) || !there && old != nil || !have.EnsureParents(at) {
			continue // changed, or removed, by somebody else
		}
		e.Path = at
		have[at] = &e
		any = true
	}
	return have.BuildTree(), any
}

// PathMover says where a path of one folder lies in another, if it does.
func PathMover(from, to string) func(string) (string, bool) {
	return func(p string) (string, bool) {
		rel, err := filepath.Rel(to, filepath.Join(from, p))
		return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel) && rel != "."
	}
}
