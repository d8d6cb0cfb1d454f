package depot

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
	"golang.org/x/sys/unix"
)

func mustSnapshot(t testing.TB, dir string, prev *Shot) (*Shot, string) {
	t.Helper()
	into := filepath.Join(t.TempDir(), "copies")
	shot, err := TakeSnapshot(dir, into, prev)
	if err != nil {
		t.Fatal(err)
	}
	return shot, into
}

func mustPushShot(t testing.TB, shot *Shot, to chunk.Sink) (chunk.ID, Stats) {
	t.Helper()
	id, _, stats, err := shot.PushTree(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return id, stats
}

func TestAShotHoldsTheMomentWhateverHappensAfter(t *testing.T) {
	s := openStore(t, t.TempDir())
	for seed := range uint64(6) {
		dir, want, back := t.TempDir(), t.TempDir(), t.TempDir()
		depottest.RandomFolder(t, dir, 300+seed)
		id, _, _ := mustPush(t, dir, s, PushOptions{})
		mustFetch(t, s, id, want)
		shot, into := mustSnapshot(t, dir, nil)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		depottest.RandomFolder(t, dir2(t, dir), 400+seed)
		got, _ := mustPushShot(t, shot, s)
		os.RemoveAll(into)
		if got != id {
			t.Errorf("seed %d: the shot is %s, want %s", seed, got, id)
		}
		mustFetch(t, s, got, back)
		depottest.WantSame(t, back, want)
		// A second push needs the copies no more.
		if again, stats := mustPushShot(t, shot, s); again != id || stats.Moved != 0 {
			t.Errorf("seed %d: pushed again it is %s and moves %d bytes", seed, again, stats.Moved)
		}
	}
}

// dir2 makes dir anew.
func dir2(t testing.TB, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatDidNotChangeIsNotCopied(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir := folderOf(t, 1, 10, 5000, 300_000, 2<<20)
	age(t, dir)
	first, into := mustSnapshot(t, dir, nil)
	if n := bytesIn(t, into); n < 2<<20 {
		t.Errorf("the first shot copied %d bytes", n)
	}
	id, _ := mustPushShot(t, first, s)
	second, into := mustSnapshot(t, dir, first)
	if n := bytesIn(t, into); n != 0 {
		t.Errorf("%d bytes were copied though nothing changed", n)
	}
	if got, stats := mustPushShot(t, second, s); got != id || stats.Moved != 0 {
		t.Errorf("nothing changed, yet the tree is %s and %d bytes move", got, stats.Moved)
	}
	depottest.WriteFile(t, filepath.Join(dir, "1"), depottest.RandomBytes(77, 5000))
	os.Remove(filepath.Join(dir, "0"))
	third, into := mustSnapshot(t, dir, second)
	if n := bytesIn(t, into); n != 5000 {
		t.Errorf("%d bytes were copied, want 5000", n)
	}
	got, _ := mustPushShot(t, third, s)
	back := t.TempDir()
	mustFetch(t, s, got, back)
	depottest.WantSame(t, back, dir)
}

func TestAChangeThatNoTimeShowsIsNotMissed(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir := t.TempDir()
	p := filepath.Join(dir, "shared")
	depottest.WriteFile(t, p, depottest.RandomBytes(1, 8192))
	age(t, dir)
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	f.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	m[0]++ // this one shows
	age(t, dir)
	var shot *Shot
	for range 3 {
		m[0]++ // this one may not
		shot, _ = mustSnapshot(t, dir, shot)
		id, _ := mustPushShot(t, shot, s)
		back := t.TempDir()
		mustFetch(t, s, id, back)
		got, err := os.ReadFile(filepath.Join(back, "shared"))
		if err != nil || got[0] != m[0] {
			t.Errorf("the shot holds %d where the file holds %d (%v)", got[0], m[0], err)
		}
	}
}

func TestAChangeRightAfterAShotIsNotMissed(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir := t.TempDir()
	p := filepath.Join(dir, "a")
	depottest.WriteFile(t, p, []byte("one"))
	shot, _ := mustSnapshot(t, dir, nil)
	mustPushShot(t, shot, s)
	st, _ := os.Stat(p)
	depottest.WriteFile(t, p, []byte("two"))
	os.Chtimes(p, st.ModTime(), st.ModTime()) // as if within one tick
	shot, _ = mustSnapshot(t, dir, shot)
	id, _ := mustPushShot(t, shot, s)
	back := t.TempDir()
	mustFetch(t, s, id, back)
	if b, _ := os.ReadFile(filepath.Join(back, "a")); string(b) != "two" {
		t.Errorf("the shot holds %q", b)
	}
}

func TestADepotThatLostAFileGetsItAgainIfThatCanBe(t *testing.T) {
	dir := folderOf(t, 1, 5000, 6000)
	age(t, dir)
	s := openStore(t, t.TempDir())
	shot, _ := mustSnapshot(t, dir, nil)
	id, _ := mustPushShot(t, shot, s)

	empty := openStore(t, t.TempDir())
	shot, _ = mustSnapshot(t, dir, shot)
	if got, _ := mustPushShot(t, shot, empty); got != id {
		t.Errorf("the tree is %s, want %s", got, id)
	}
	if err := VerifyTree(t.Context(), empty, id); err != nil {
		t.Error(err)
	}

	empty = openStore(t, t.TempDir())
	shot, _ = mustSnapshot(t, dir, shot)
	depottest.WriteFile(t, filepath.Join(dir, "0"), []byte("changed since"))
	if _, _, _, err := shot.PushTree(t.Context(), empty); !errors.Is(err, chunk.ErrMissing) {
		t.Errorf("what is neither here nor there: %v, want %v", err, chunk.ErrMissing)
	}
	shot, _ = mustSnapshot(t, dir, shot)
	id, _ = mustPushShot(t, shot, empty)
	back := t.TempDir()
	mustFetch(t, empty, id, back)
	depottest.WantSame(t, back, dir)
}

func TestALargeSparseFileIsCopiedAsOne(t *testing.T) {
	s := openStore(t, t.TempDir())
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	f.Truncate(10 << 30)
	f.WriteAt(depottest.RandomBytes(1, 3<<20), 5<<30)
	f.Close()
	shot, into := mustSnapshot(t, dir, nil)
	var blocks int64
	list, _, _ := walk.ListFolder(into, nil, walk.Limit{})
	for _, f := range list {
		blocks += f.Blocks
	}
	if blocks*512 > 10<<20 {
		t.Errorf("the copy takes %d bytes", blocks*512)
	}
	id, _ := mustPushShot(t, shot, s)
	direct, _, _ := mustPush(t, dir, s, PushOptions{})
	if id != direct {
		t.Errorf("the shot is %s, the folder %s", id, direct)
	}
}
