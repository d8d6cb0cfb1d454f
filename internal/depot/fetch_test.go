package depot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"golang.org/x/sys/unix"
)

func TestFetchMakesAFolderExactlyTheTree(t *testing.T) {
	s := openStore(t, t.TempDir())
	client := serve(t, httpdepot.NewHandler(s))
	outside := t.TempDir()
	if err := os.Chmod(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	dirs := make([]string, 6)
	ids := make([]chunk.ID, len(dirs))
	for i := range dirs {
		dirs[i] = t.TempDir()
		depottest.RandomFolder(t, dirs[i], uint64(200+i))
		// Names that are of one kind here and of another there.
		switch p := filepath.Join(dirs[i], "same"); i % 3 {
		case 0:
			depottest.WriteFile(t, p, []byte(fmt.Sprint(i)))
		case 1:
			depottest.WriteFile(t, filepath.Join(p, "inside"), []byte("x"))
			if err := os.Chmod(p, 0o500); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := os.Symlink(outside, p); err != nil {
				t.Fatal(err)
			}
		}
		ids[i], _, _ = mustPush(t, dirs[i], s, PushOptions{})
	}
	back := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(back, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range dirs {
		mustFetch(t, []chunk.Source{s, client}[i%2], ids[i], back)
		depottest.WantSame(t, back, dirs[i])
		mustFetch(t, s, ids[i], back)
		depottest.WantSame(t, back, dirs[i])
	}
	for i := range dirs { // so that it can be removed
		if i%3 == 1 {
			os.Chmod(filepath.Join(dirs[i], "same"), 0o700)
		}
	}
	if _, err := os.Stat(filepath.Join(outside, "inside")); err == nil {
		t.Error("a file was written through a symbolic link")
	}
	if st, err := os.Stat(outside); err != nil || st.Mode().Perm() != 0o755 {
		t.Errorf("a folder was changed through a symbolic link: %v, %v", st.Mode(), err)
	}
}

func TestAFileThatIsRightIsNotWrittenAgain(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir, back := folderOf(t, 1, 10, 100_000, 2<<20), t.TempDir()
	id, _, _ := mustPush(t, dir, s, PushOptions{})
	mustFetch(t, s, id, back)
	var before, after unix.Stat_t
	if err := unix.Stat(filepath.Join(back, "1"), &before); err != nil {
		t.Fatal(err)
	}
	// The same size and time, but other content: this one is found out.
	wrong := filepath.Join(back, "2")
	st, _ := os.Stat(wrong)
	depottest.WriteFile(t, wrong, depottest.RandomBytes(99, 2<<20))
	os.Chtimes(wrong, st.ModTime(), st.ModTime())
	mustFetch(t, s, id, back)
	depottest.WantSame(t, back, dir)
	if err := unix.Stat(filepath.Join(back, "1"), &after); err != nil || before.Ino != after.Ino {
		t.Errorf("a file that was right was written again (%v)", err)
	}
}

func TestSparseFilesStaySparse(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir, back := t.TempDir(), t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	const size = 1<<40 + 123 // a terabyte is not read
	f.Truncate(size)
	f.WriteAt([]byte("in the middle"), size/2)
	f.Close()
	id, tree, stats := mustPush(t, dir, s, PushOptions{})
	if stats.Moved > 10_000 || len(tree.Entries[0].Chunks) > 5 {
		t.Errorf("%d bytes moved in %d chunks", stats.Moved, len(tree.Entries[0].Chunks))
	}
	mustFetch(t, s, id, back)
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(back, "sparse"), &st); err != nil || st.Size != size || st.Blocks > 10_000 {
		t.Errorf("it comes back with %d bytes in %d blocks (%v)", st.Size, st.Blocks, err)
	}
	g, _ := os.Open(filepath.Join(back, "sparse"))
	defer g.Close()
	b := make([]byte, 13)
	if _, err := g.ReadAt(b, size/2); err != nil || string(b) != "in the middle" {
		t.Errorf("it holds %q, %v", b, err)
	}
}

func TestATreeThatLeadsOutOfTheFolderIsRefused(t *testing.T) {
	s := openStore(t, t.TempDir())
	file := func(p string) tree.Entry { return tree.Entry{Path: p, Mode: 0o644} }
	folder := func(p string) tree.Entry { return tree.Entry{Path: p, Mode: fs.ModeDir | 0o755} }
	link := func(p, to string) tree.Entry { return tree.Entry{Path: p, Mode: fs.ModeSymlink | 0o777, Link: to} }
	for name, entries := range map[string][]tree.Entry{
		"up":             {file("../evil")},
		"up in between":  {folder("a"), file("a/../../evil")},
		"absolute":       {file("/tmp/evil")},
		"dot":            {file(".")},
		"empty":          {file("")},
		"trailing slash": {folder("a/")},
		"double slash":   {folder("a"), file("a//b")},
		"zero byte":      {file("a\x00b")},
		"through a link": {link("a", "/tmp"), file("a/evil")},
		"no folder":      {file("a/evil")},
		"out of order":   {file("b"), file("a")},
		"twice":          {link("a", "/tmp"), folder("a"), file("a/evil")},
		"a device":       {{Path: "a", Mode: fs.ModeDevice | 0o666}},
		"setuid":         {{Path: "a", Mode: fs.ModeSetuid | 0o755}},
		"negative":       {{Path: "a", Mode: 0o644, Size: -1}},
		"no content":     {{Path: "a", Mode: 0o644, Size: 1}},
		"no such chunk":  {{Path: "a", Mode: 0o644, Size: 1, Chunks: []chunk.ID{"x"}}},
	} {
		in := treeJSON{Version: treeVersion}
		for _, e := range entries {
			w := entryJSON{Path: e.Path, Mode: e.Mode, Size: e.Size, Link: e.Link}
			for _, id := range e.Chunks {
				w.Chunks += string(id)
			}
			in.Entries = append(in.Entries, w)
		}
		b, err := canonicalJSON(in)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if _, err := FetchTree(t.Context(), s, put(t, s, b), filepath.Join(dir, "in")); !errors.Is(err, chunk.ErrDamaged) {
			t.Errorf("%s: %v, want %v", name, err, chunk.ErrDamaged)
		}
		if list := depottest.DescribeFolder(t, dir); len(list) > 1 {
			t.Errorf("%s: it left %q", name, list)
		}
		if _, err := tree.EncodeTree(&tree.Tree{Entries: entries}); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

func TestAFileOfWrongSizeIsRefused(t *testing.T) {
	s := openStore(t, t.TempDir())
	id := put(t, s, []byte("ten bytes."))
	for _, size := range []int64{9, 11, 1 << 40} {
		b, err := tree.EncodeTree(&tree.Tree{Entries: []tree.Entry{{Path: "a", Mode: 0o644, Size: size,
			Chunks: []chunk.ID{id}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := FetchTree(t.Context(), s, put(t, s, b), t.TempDir()); !errors.Is(err, chunk.ErrDamaged) {
			t.Errorf("%d bytes of 10: %v, want %v", size, err, chunk.ErrDamaged)
		}
	}
}

func TestApplyWritesWhatDiffersAndLeavesTheRestAlone(t *testing.T) {
	s := openStore(t, t.TempDir())
	before, after, user := t.TempDir(), t.TempDir(), t.TempDir()
	for _, d := range []string{before, after, user} {
		depottest.WriteFile(t, filepath.Join(d, "same"), []byte("same"))
	}
	for _, d := range []string{before, user} {
		depottest.WriteFile(t, filepath.Join(d, "gone/deep/file"), []byte("x"))
		depottest.WriteFile(t, filepath.Join(d, "edited"), []byte("old"))
		depottest.WriteFile(t, filepath.Join(d, "becomes-folder"), []byte("old"))
		depottest.WriteFile(t, filepath.Join(d, "becomes-file/old"), []byte("old"))
		os.Symlink("a", filepath.Join(d, "link"))
	}
	depottest.WriteFile(t, filepath.Join(user, "mine"), []byte("the user's own"))
	depottest.WriteFile(t, filepath.Join(user, "gone/mine"), []byte("the user's own"))
	depottest.WriteFile(t, filepath.Join(after, "edited"), []byte("new"))
	depottest.WriteFile(t, filepath.Join(after, "becomes-folder/new"), depottest.RandomBytes(1, 3<<20))
	depottest.WriteFile(t, filepath.Join(after, "becomes-file"), []byte("new"))
	depottest.WriteFile(t, filepath.Join(after, "made/deep/file"), depottest.RandomBytes(2, 100_000))
	os.Symlink("b", filepath.Join(after, "link"))
	os.Mkdir(filepath.Join(after, "empty"), 0o750)
	_, a, _ := mustPush(t, before, s, PushOptions{})
	_, b, _ := mustPush(t, after, s, PushOptions{})
	changed, removed := tree.DiffTrees(a, b)
	if slices.ContainsFunc(changed, func(e tree.Entry) bool { return e.Path == "same" }) {
		t.Error("what is the same differs")
	}
	if err := ApplyChanges(t.Context(), s, user, changed, removed); err != nil {
		t.Fatal(err)
	}
	depottest.WriteFile(t, filepath.Join(after, "mine"), []byte("the user's own"))
	depottest.WriteFile(t, filepath.Join(after, "gone/mine"), []byte("the user's own"))
	for _, d := range []string{user, after} { // written at other times
		for _, f := range []string{"mine", "gone/mine", "same"} {
			os.Chtimes(filepath.Join(d, f), time.Unix(1, 0), time.Unix(1, 0))
		}
	}
	depottest.WantSame(t, user, after)
	if err := ApplyChanges(t.Context(), s, user, []tree.Entry{{Path: "../evil", Mode: 0o644}}, nil); err == nil {
		t.Error("a path that leads out was written")
	}
	if err := ApplyChanges(t.Context(), s, user, nil, []string{"../evil"}); err == nil {
		t.Error("a path that leads out was removed")
	}
}

func TestApplyNeverFollowsALinkOutOfTheFolder(t *testing.T) {
	s := openStore(t, t.TempDir())
	outside, user := t.TempDir(), t.TempDir()
	os.Symlink(outside, filepath.Join(user, "a"))
	id := put(t, s, []byte("evil"))
	err := ApplyChanges(t.Context(), s, user, []tree.Entry{{Path: "a/b", Mode: 0o644, Size: 4, Chunks: []chunk.ID{id}}},
		[]string{"a/c"})
	if err == nil || strings.Contains(err.Error(), "panic") {
		t.Errorf("writing through a link that leads out: %v", err)
	}
	if list := depottest.DescribeFolder(t, outside); len(list) != 0 {
		t.Errorf("outside there is %q", list)
	}
}
