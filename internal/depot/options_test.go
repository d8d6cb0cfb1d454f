package depot

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
	"golang.org/x/sys/unix"
)

func pathsOf(t *tree.Tree) (list []string) {
	for _, e := range t.Entries {
		list = append(list, e.Path)
	}
	return list
}

func TestIgnoreFilesSayWhatIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{
		".git/config", "a.o", "src/a.o", "src/a.c", "build/x", "src/build/x", "keep.o", "logs/1.log", "logs/deep/2.log",
		"src/only-here", "only-here", "doc/a/b/notes.txt", "doc/notes.txt", "sub/.git", "sub/x", "tmp1", "tmpx", "sp ace",
		"#x",
	} {
		depottest.WriteFile(t, filepath.Join(dir, p), []byte(p))
	}
	depottest.WriteFile(t, filepath.Join(dir, ".gitignore"),
		[]byte("# objects\n*.o\n!keep.o\nbuild/\n/only-here\nlogs/**\ndoc/**/notes.txt\r\ntmp[!x]\nsp\\ ace   \n\\#x\n"))
	depottest.WriteFile(t, filepath.Join(dir, ".godwitignore"), []byte("!build/\nsub/x\n"))
	depottest.WriteFile(t, filepath.Join(dir, "src/.gitignore"), []byte("/build\n!a.o\n"))
	s := openStore(t, t.TempDir())
	_, tree, _ := mustPush(t, dir, s, PushOptions{Ignore: true})
	want := []string{".gitignore", ".godwitignore", "build", "build/x", "doc", "doc/a", "doc/a/b", "keep.o", "logs", "src",
		"src/.gitignore", "src/a.c", "src/a.o", "src/only-here", "sub", "tmpx"}
	if got := pathsOf(tree); !slices.Equal(got, want) {
		t.Errorf("pushed\n%q, want\n%q", got, want)
	}
	_, tree, _ = mustPush(t, dir, s, PushOptions{Exclude: []string{"src", ".*", "!keep.o", "/logs"}})
	want = []string{"#x", "a.o", "build", "build/x", "doc", "doc/a", "doc/a/b", "doc/a/b/notes.txt", "doc/notes.txt",
		"keep.o", "only-here", "sp ace", "sub", "sub/x", "tmp1", "tmpx"}
	if got := pathsOf(tree); !slices.Equal(got, want) {
		t.Errorf("without ignore files pushed\n%q, want\n%q", got, want)
	}
	_, tree, _ = mustPush(t, dir, s, PushOptions{})
	if !slices.Contains(pathsOf(tree), ".git/config") {
		t.Error("something is left out though nobody asked")
	}
}

func TestTooMuchIsRefusedBeforeAnythingMoves(t *testing.T) {
	dir := folderOf(t, 1, 5000, 6000, 7000)
	s := openStore(t, t.TempDir())
	for _, limit := range []walk.Limit{{Bytes: 17_000}, {Files: 2}, {Bytes: 1 << 40, Files: 1}} {
		_, _, _, err := PushFolder(t.Context(), dir, s, PushOptions{Limit: limit})
		if !errors.Is(err, tree.ErrTooLarge) {
			t.Fatalf("%v: %v, want %v", limit, err, tree.ErrTooLarge)
		}
		for _, part := range []string{dir, "17.6 KiB", "3 files", limit.String()} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
	}
	if c := mustCollect(t, s, 0); c.Chunks+c.Kept != 0 {
		t.Errorf("%d chunks moved", c.Chunks+c.Kept)
	}
	mustPush(t, dir, s, PushOptions{Limit: walk.Limit{Bytes: 18_000, Files: 3}})
}

func TestWhatIsNeitherFileNorFolderNorLinkIsSkippedAndTold(t *testing.T) {
	dir := t.TempDir()
	depottest.WriteFile(t, filepath.Join(dir, "a"), []byte("a"))
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	if len(socket) > 100 {
		t.Fatalf("the path %s is too long for a socket", socket)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := openStore(t, t.TempDir())
	_, tree, stats := mustPush(t, dir, s, PushOptions{})
	if got := pathsOf(tree); !slices.Equal(got, []string{"a"}) || !slices.Equal(stats.Skipped, []string{"pipe", "s"}) {
		t.Errorf("pushed %q, skipped %q", got, stats.Skipped)
	}
}

func TestAFileThatDidNotChangeIsNotReadAgain(t *testing.T) {
	dir, cache := folderOf(t, 1, 5000, 200_000), filepath.Join(t.TempDir(), "cache")
	age(t, dir)
	s := openStore(t, t.TempDir())
	opt := PushOptions{Cache: cache}
	id, _, _ := mustPush(t, dir, s, opt)
	// To see that it is not read the cache is made to tell of other chunks.
	known := walk.ReadCache(cache)
	if len(known) != 2 {
		t.Fatalf("%d files are remembered, want 2", len(known))
	}
	c := known["0"]
	other := chunk.SumOf(depottest.RandomBytes(5, 5000))
	put(t, s, depottest.RandomBytes(5, 5000))
	files := []*source{}
	for p, k := range known {
		src := &source{FoundEntry: walk.FoundEntry{Entry: tree.Entry{Path: p}, Stamp: k.Stamp}, chunks: k.ChunkSums(),
			trusted: true}
		if p == "0" {
			src.chunks = []chunk.Sum{other}
		}
		files = append(files, src)
	}
	walk.WriteCache(cache, cacheOf(files))
	_, tree, _ := mustPush(t, dir, s, opt)
	if tree.Entries[0].Chunks[0] != other.ToID() {
		t.Error("a file that did not change was read again")
	}
	// Where the depot has lost it the file is read.
	empty := openStore(t, t.TempDir())
	if got, _, _ := mustPush(t, dir, empty, opt); got != id {
		t.Errorf("to an empty depot goes %s, want %s", got, id)
	}
	if got := walk.ReadCache(cache)["0"]; got.Stamp != c.Stamp || string(got.Chunks) != string(c.Chunks) {
		t.Error("the cache was not put right")
	}
	// A file that changed is read, and so is everything if the cache is damaged.
	depottest.WriteFile(t, filepath.Join(dir, "0"), depottest.RandomBytes(6, 5000))
	_, tree, _ = mustPush(t, dir, s, opt)
	if tree.Entries[0].Chunks[0] != chunk.IDOf(depottest.RandomBytes(6, 5000)) {
		t.Error("a file that changed was not read")
	}
	b, _ := os.ReadFile(cache)
	for _, wrong := range [][]byte{nil, b[:len(b)/2], append([]byte("x"), b...),
		[]byte(strings.Replace(string(b), "A", "B", 1))} {
		depottest.WriteFile(t, cache, wrong)
		if _, _, _, err := PushFolder(t.Context(), dir, s, opt); err != nil {
			t.Errorf("with a damaged cache: %v", err)
		}
	}
}

func TestAFileThatWasJustWrittenIsNotRemembered(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	depottest.WriteFile(t, filepath.Join(dir, "a"), []byte("one"))
	s := openStore(t, t.TempDir())
	mustPush(t, dir, s, PushOptions{Cache: cache})
	if known := walk.ReadCache(cache); len(known) != 0 {
		t.Errorf("%d files are remembered, want none: the next change may not show", len(known))
	}
}
