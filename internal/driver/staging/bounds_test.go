package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
)

// bytesIn is how much the files of a folder hold.
func bytesIn(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestCopiesOfResultsAreKeptWithinBounds(t *testing.T) {
	s := site(t, nil)
	s.Limit = 3 << 20
	mount(t, s.OutgoingFolder(), "16m")
	for i := range 4 {
		aside := filepath.Join(s.OutgoingFolder(), fmt.Sprintf("%d.1", i), "0")
		write(t, filepath.Join(aside, fmt.Sprint(i)), noise(byte(i), 2<<20))
		placed(t, s, driver.ResultPlacement{Path: aside, To: "runs/"})
	}
	if n := bytesIn(t, KeptFolder(s.Dir)); n > s.Limit {
		t.Errorf("%d bytes are kept", n)
	}
}

// fragile is a depot that breaks after a number of chunks.
type fragile struct {
	Depot
	left atomic.Int64
}

var errBroke = errors.New("it broke")

func (f *fragile) GetChunk(ctx context.Context, id depot.ID) ([]byte, error) {
	if f.left.Add(-1) < 0 {
		return nil, errBroke
	}
	return f.Depot.GetChunk(ctx, id)
}

func TestWhatWasBroughtInPartGoesSomeTime(t *testing.T) {
	d := open(t)
	home := site(t, d)
	push := func(name string, n int) string {
		t.Helper()
		write(t, filepath.Join(home.Home, name), noise(name[0], n))
		m, err := home.PushFiles(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return m.Tree
	}
	big, small := push("big", 24<<20), push("small", 1000)
	tree, err := depot.LoadTree(t.Context(), d, depot.ID(big))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// again is the site after it was started again.
	again := func(from Depot, spare time.Duration) *Site {
		s := &Site{Home: t.TempDir(), Dir: dir, Depot: from, spare: spare}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	broken := &fragile{Depot: d}
	broken.left.Store(int64(2 + len(tree.Entries[0].Chunks)*3/4))
	s := again(broken, 0)
	if _, err := s.BringTree(t.Context(), big); !errors.Is(err, errBroke) {
		t.Fatal(err)
	}
	if list, err := readList(filepath.Join(dir, "brought.json")); err != nil || len(list) != 1 ||
		list[0] != (brought{big, 24 << 20}) {
		t.Errorf("noted is %+v: %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	part := bytesIn(t, KeptFolder(dir))
	if part < 1<<20 {
		t.Fatalf("only %d bytes came", part)
	}
	for _, c := range []struct {
		spare time.Duration
		stays bool
	}{{time.Hour, true}, {time.Nanosecond, false}} {
		s := again(d, c.spare)
		if _, err := s.BringTree(t.Context(), small); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := bytesIn(t, KeptFolder(dir)); (n > part/2) != c.stays {
			t.Errorf("%d of %d bytes stay for %v", n, part, c.spare)
		}
	}
}

func TestWhatFilesHeldIsForgotten(t *testing.T) {
	d := open(t)
	s := site(t, d)
	aside := filepath.Join(s.OutgoingFolder(), "7.1", "0")
	write(t, filepath.Join(aside, "x"), []byte("x"))
	if _, err := s.PushFiles(t.Context(), aside); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Dir, "pushed")
	gone(t, s, dir) // of what is moved once nothing is remembered
	for name, age := range map[string]time.Duration{"old.json": pushedMaxAge + time.Hour,
		"new.json": pushedMaxAge - time.Hour} {
		write(t, filepath.Join(dir, name), nil)
		at := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(s.Home, "x"), []byte("x"))
	if _, err := s.PushFiles(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	gone(t, s, filepath.Join(dir, "old.json"))
}
