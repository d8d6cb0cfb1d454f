package depot

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

func TestATreeSurvivesPushAndFetchByteForByte(t *testing.T) {
	store := openStore(t, t.TempDir())
	client := serve(t, httpdepot.NewHandler(store))
	for seed := range uint64(12) {
		dir, back := t.TempDir(), t.TempDir()
		depottest.RandomFolder(t, dir, seed)
		var sink chunk.Sink = store
		var source chunk.Source = client
		if seed%2 == 0 {
			sink, source = client, store
		}
		id, tree, stats := mustPush(t, dir, sink, PushOptions{})
		if stats.Files == 0 || len(tree.Entries) < stats.Files {
			t.Errorf("seed %d: %d files, %d entries", seed, stats.Files, len(tree.Entries))
		}
		mustFetch(t, source, id, filepath.Join(back, "x"))
		depottest.WantSame(t, filepath.Join(back, "x"), dir)
		again, _, stats := mustPush(t, filepath.Join(back, "x"), sink, PushOptions{})
		if again != id || stats.Moved != 0 {
			t.Errorf("seed %d: pushed back it is %s and moves %d bytes, want %s and none", seed, again, stats.Moved, id)
		}
		if err := VerifyTree(t.Context(), source, id); err != nil {
			t.Error(err)
		}
	}
}

func TestZerosCostNothing(t *testing.T) {
	store := openStore(t, t.TempDir())
	dir := t.TempDir()
	for _, n := range []int{zeroRun, 1 << 20, 5<<20 + 17, 8<<20 + 4096} {
		depottest.WriteFile(t, filepath.Join(dir, fmt.Sprint(n)), make([]byte, n))
	}
	id, tree, stats := mustPush(t, dir, store, PushOptions{})
	if stats.New != 1 {
		t.Errorf("%d chunks sent, want the tree alone", stats.New)
	}
	for _, e := range tree.Entries {
		if len(e.Chunks) != 1 {
			t.Errorf("%s has %d chunks, want 1", e.Path, len(e.Chunks))
		}
	}
	back := t.TempDir()
	mustFetch(t, store, id, back)
	depottest.WantSame(t, back, dir)
}

func TestAPushTellsHowFarItHasCome(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+" content"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var last, total int64
	for range 2 { // what is there already counts as done
		last, total = 0, 0
		told := func(done, all int64) {
			if done < last || done > all {
				t.Errorf("%d of %d after %d", done, all, last)
			}
			last, total = done, all
		}
		if _, _, _, err := PushFolder(t.Context(), dir, s,
			PushOptions{Cache: filepath.Join(t.TempDir(), "cache"), Progress: told}); err != nil {
			t.Fatal(err)
		}
		if last != 18 || total != 18 {
			t.Errorf("ends at %d of %d bytes, want 18 of 18", last, total)
		}
	}
}
