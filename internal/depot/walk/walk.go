package walk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"golang.org/x/sys/unix"
)

// FoundEntry is something in a folder.
type FoundEntry struct {
	tree.Entry // without Chunks
	Stamp      FileStamp
	Blocks     int64 // of 512 bytes that it has on the disk
}

// Limit bounds a folder; 0 is no limit.
type Limit struct {
	Bytes int64
	Files int
}

// String is how messages write a limit.
func (l Limit) String() string {
	switch {
	case l.Bytes > 0 && l.Files > 0:
		return fmt.Sprintf("%s in %d files", chunk.HumanBytes(l.Bytes), l.Files)
	case l.Files > 0:
		return fmt.Sprintf("%d files", l.Files)
	}
	return chunk.HumanBytes(l.Bytes)
}

// ListFolder lists what is in dir, sorted by path. skip, which may be nil, says what to
// leave out; a folder left out is not entered. Sockets, devices and pipes are
// skipped. What vanishes meanwhile was never there.
func ListFolder(dir string, skip func(path string, isDir bool) bool,
	limit Limit) (list []FoundEntry, skipped []string, err error) {
	w := walker{dir: dir, skip: skip, limit: limit}
	if err := w.walkInto(""); err != nil {
		return nil, nil, err
	}
	if w.tooLarge {
		return nil, nil, fmt.Errorf("%w: %s holds %s in %d files; the limit is %s",
			tree.ErrTooLarge, dir, chunk.HumanBytes(w.bytes), w.files, limit)
	}
	slices.SortFunc(w.list, func(a, b FoundEntry) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(w.skipped)
	return w.list, w.skipped, nil
}

type walker struct {
	dir      string
	skip     func(path string, isDir bool) bool
	limit    Limit
	list     []FoundEntry
	skipped  []string
	bytes    int64
	files    int
	tooLarge bool
}

// walkInto takes in all that is in the folder path, "" for the whole.
func (w *walker) walkInto(path string) error {
	list, err := w.readFolder(path)
	if err != nil {
		if path != "" && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for i := range list {
		w.bytes += list[i].Size
		if list[i].Mode.IsRegular() {
			w.files++
		}
	}
	if w.limit.Bytes > 0 && w.bytes > w.limit.Bytes || w.limit.Files > 0 && w.files > w.limit.Files {
		w.tooLarge, w.list = true, nil // from now on only counted
	}
	if !w.tooLarge {
		w.list = append(w.list, list...)
	}
	for i := range list {
		if list[i].Mode.IsDir() {
			if err := w.walkInto(list[i].Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// readFolder gives what is directly in a folder.
func (w *walker) readFolder(path string) ([]FoundEntry, error) {
	d, err := os.Open(filepath.Join(w.dir, path))
	if err != nil {
		return nil, fmt.Errorf("listing a folder: %w", err)
	}
	defer d.Close() //nolint:errcheck // only read
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("listing a folder: %w", err)
	}
	list := make([]FoundEntry, 0, len(names))
	for _, name := range names {
		rel := name
		if path != "" {
			rel = path + "/" + name
		}
		var st unix.Stat_t
		if err := unix.Fstatat(int(d.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			if errors.Is(err, unix.ENOENT) {
				continue
			}
			return nil, fmt.Errorf("looking at %s: %w", filepath.Join(w.dir, rel), err)
		}
		if w.skip != nil && w.skip(rel, st.Mode&unix.S_IFMT == unix.S_IFDIR) {
			continue
		}
		f := FoundEntry{Entry: tree.Entry{Path: rel, Mode: fs.FileMode(st.Mode & 0o777)}, Stamp: StampOf(&st),
			Blocks: st.Blocks}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			f.Size, f.ModTime = st.Size, st.Mtim.Nano()
		case unix.S_IFDIR:
			f.Mode |= fs.ModeDir
		case unix.S_IFLNK:
			f.Mode = fs.ModeSymlink | 0o777
			f.Link, err = os.Readlink(filepath.Join(w.dir, rel))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("reading a symbolic link: %w", err)
			}
		default:
			w.skipped = append(w.skipped, rel)
			continue
		}
		list = append(list, f)
	}
	return list, nil
}
