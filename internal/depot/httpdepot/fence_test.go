package httpdepot_test

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// Who asks from a cluster learns nothing of what other jobs brought.
func TestAFenceLetsAskAboutWhatWasGrantedOrOffered(t *testing.T) {
	store := openStore(t, t.TempDir())
	folder := func(seed uint64) (string, chunk.ID) {
		dir := t.TempDir()
		depottest.WriteFile(t, filepath.Join(dir, "data"), depottest.RandomBytes(seed, 200_000))
		id, _, _, err := depot.PushFolder(t.Context(), dir, store, depot.PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return dir, id
	}
	mine, granted := folder(1)
	_, secret := folder(2)
	fence := httpdepot.NewFence(store)
	client := serve(t, httpdepot.FencedHandler(store, fence))
	chunksOf := func(id chunk.ID) []chunk.ID {
		tree, err := tree.LoadTree(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		return append(tree.Entries[0].Chunks, id)
	}
	asked := append(chunksOf(granted), chunksOf(secret)...)
	missing := func() int {
		t.Helper()
		gone, err := client.MissingChunks(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		return len(gone)
	}
	if n := missing(); n != len(asked) {
		t.Errorf("before anything is granted %d of %d are told to be missing", n, len(asked))
	}
	revoke := fence.Grant(granted)
	if n := missing(); n != len(chunksOf(secret)) {
		t.Errorf("%d of %d are told to be missing", n, len(asked))
	}
	if _, err := depot.FetchTree(t.Context(), client, granted, filepath.Join(t.TempDir(), "x")); err != nil {
		t.Errorf("what was granted cannot be fetched: %v", err)
	}
	for _, id := range chunksOf(secret) {
		if _, err := client.GetChunk(t.Context(), id); !errors.Is(err, chunk.ErrMissing) {
			t.Errorf("a chunk of somebody else's tree gives %v", err)
		}
	}
	if held, err := client.HoldTree(t.Context(), mustParse(t, secret)); err != nil || held {
		t.Errorf("a tree of somebody else is there: %v, %v", held, err)
	}

	// A tree of one's own that names somebody else's chunk tells nothing either.
	guess, err := tree.LoadTree(t.Context(), store, secret)
	if err != nil {
		t.Fatal(err)
	}
	guess.Entries[0].Path = "guess"
	text, err := tree.EncodeTree(guess)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.PutChunk(t.Context(), chunk.IDOf(text), text); err != nil {
		t.Fatal(err)
	}
	if held, err := client.HoldTree(t.Context(), chunk.SumOf(text)); err != nil || held {
		t.Errorf("a tree with a chunk of somebody else is whole: %v, %v", held, err)
	}

	// What comes from who asks may be asked about, also if it was there before.
	depottest.WriteFile(t, filepath.Join(mine, "more"), depottest.RandomBytes(3, 100_000))
	made, _, _, err := depot.PushFolder(t.Context(), mine, client, depot.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := depot.FetchTree(t.Context(), client, made, filepath.Join(t.TempDir(), "y")); err != nil {
		t.Errorf("what was pushed cannot be fetched: %v", err)
	}
	revoke()
	if yes, err := httpdepot.AdmitsSums(fence, t.Context(), []chunk.Sum{mustParse(t, granted)}); err != nil || yes[0] {
		t.Errorf("what is not granted any more may be asked about: %v, %v", yes, err)
	}
}

func mustParse(t *testing.T, id chunk.ID) chunk.Sum {
	t.Helper()
	s, err := chunk.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestADepotTakesNoMoreThanItMay(t *testing.T) {
	store := openStore(t, t.TempDir())
	client := serve(t, httpdepot.NewHandler(store))
	store.SetLimit(1 << 20)
	dir := t.TempDir()
	depottest.WriteFile(t, filepath.Join(dir, "fits"), depottest.RandomBytes(1, 300_000))
	if _, _, _, err := depot.PushFolder(t.Context(), dir, client, depot.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	depottest.WriteFile(t, filepath.Join(dir, "large"), depottest.RandomBytes(2, 3<<20))
	_, _, _, err := depot.PushFolder(t.Context(), dir, client, depot.PushOptions{})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "limits.depot") ||
		strings.Contains(err.Error(), "\n\n") {
		t.Errorf("more than it may take gives %v", err)
	}
	if !httpdepot.IsTroubled(err) {
		t.Error("who brings results does not know that it may work later")
	}
	if used, err := store.DiskUsage(t.Context(), nil, 0); err != nil || used.Bytes > 1<<20+64<<10 {
		t.Errorf("it takes %d bytes: %v", used.Bytes, err)
	}
	store.SetLimit(16 << 20)
	if _, _, _, err := depot.PushFolder(t.Context(), dir, client, depot.PushOptions{}); err != nil {
		t.Errorf("with a higher limit: %v", err)
	}
}
