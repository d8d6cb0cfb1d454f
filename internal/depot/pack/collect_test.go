package pack_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
)

func TestWhatNoRootReachesIsDroppedAndTheRestStays(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	kept, dropped := folderOf(t, 1, 100, 5000, 400_000, 1<<20), folderOf(t, 2, 100, 5000, 400_000, 1<<20)
	keep, _, _ := mustPush(t, kept, s, depot.PushOptions{})
	drop, tree, _ := mustPush(t, dropped, s, depot.PushOptions{})
	before := bytesIn(t, filepath.Join(dir, "packs"))
	c := mustCollect(t, s, 0, keep)
	if c.Chunks < 4 || c.Bytes < 1_400_000 || len(c.Bad) > 0 {
		t.Errorf("collected %+v", c)
	}
	if after := bytesIn(t, filepath.Join(dir, "packs")); before-after < 1_400_000 {
		t.Errorf("the packs went from %d bytes to %d", before, after)
	}
	var gone []chunk.ID
	for _, e := range tree.Entries {
		gone = append(gone, e.Chunks...)
	}
	wantMissing(t, s, append(gone, drop), append(gone, drop)...)
	back := t.TempDir()
	mustFetch(t, s, keep, back)
	depottest.WantSame(t, back, kept)
	again := openStore(t, dir)
	mustFetch(t, again, keep, back)
	depottest.WantSame(t, back, kept)
	if c := mustCollect(t, s, 0); c.Kept != 0 {
		t.Errorf("%d chunks kept without a root", c.Kept)
	}
	if left := bytesIn(t, filepath.Join(dir, "packs")); left > 100 {
		t.Errorf("%d bytes left of an empty depot", left)
	}
}

func TestChunksOfABlockThatStillLiveOutliveIt(t *testing.T) {
	s := openStore(t, t.TempDir())
	// Small files share a block.
	sizes := make([]int, 60)
	for i := range sizes {
		sizes[i] = 1500
	}
	folder := folderOf(t, 1, sizes...)
	mustPush(t, folder, s, depot.PushOptions{})
	half := t.TempDir()
	for i := range 30 {
		depottest.WriteFile(t, filepath.Join(half, fmt.Sprint(i)), depottest.RandomBytes(100+uint64(2*i), 1500))
	}
	id, _, stats := mustPush(t, half, s, depot.PushOptions{})
	if stats.New != 1 {
		t.Fatalf("%d new chunks, want the tree alone", stats.New)
	}
	if c := mustCollect(t, s, 0, id); c.Kept != 31 {
		t.Errorf("%d chunks kept, want 31", c.Kept)
	}
	if err := depot.VerifyTree(t.Context(), s, id); err != nil {
		t.Error(err)
	}
}

func TestWhatAPushReliesOnIsSparedForItsTime(t *testing.T) {
	dir := t.TempDir()
	now := 1000 * time.Hour
	clock := func() time.Duration { return now }
	open := func() *pack.Store {
		s := openStore(t, dir)
		s.SetTouchClock(clock)
		return s
	}
	s := open()
	old, young := depottest.RandomBytes(1, 10_000), depottest.RandomBytes(2, 10_000)
	put(t, s, old)
	mustSync(t, s)
	now += 2 * time.Hour
	put(t, s, young)
	c := mustCollect(t, s, time.Hour)
	wantMissing(t, s, []chunk.ID{chunk.IDOf(old), chunk.IDOf(young)}, chunk.IDOf(old))
	if c.Chunks != 1 {
		t.Errorf("%d chunks dropped, want 1", c.Chunks)
	}

	// Being told that it is there counts as well, also for a process that is
	// started later, and for another that runs.
	now += 2 * time.Hour
	other := open()
	wantMissing(t, other, []chunk.ID{chunk.IDOf(young)})
	mustCollect(t, s, time.Hour)
	wantMissing(t, open(), []chunk.ID{chunk.IDOf(young)})
	now += 59 * time.Minute
	mustCollect(t, s, time.Hour)
	wantGet(t, s, young)
	now += 2 * time.Minute
	mustCollect(t, s, time.Hour)
	for _, s := range []*pack.Store{s, other, open()} {
		if _, err := s.GetChunk(t.Context(), chunk.IDOf(young)); !errors.Is(err, chunk.ErrMissing) {
			t.Errorf("after its time: %v, want %v", err, chunk.ErrMissing)
		}
		wantMissing(t, s, []chunk.ID{chunk.IDOf(young)}, chunk.IDOf(young))
	}
	if n := bytesIn(t, filepath.Join(dir, "touched")); n > 1000 {
		t.Errorf("%d bytes of old touches are kept", n)
	}
}

func TestARootThatIsDamagedIsToldAndDoesNotStopTheCollection(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	bad, _, _ := mustPush(t, folderOf(t, 1, 50_000), s, depot.PushOptions{})
	damage(t, dir, 1)
	good, _, _ := mustPush(t, folderOf(t, 2, 50_000), s, depot.PushOptions{})
	c := mustCollect(t, s, 0, bad, good, chunk.IDOf([]byte("never there")))
	if len(c.Bad) != 2 || c.Bad[0] != bad {
		t.Errorf("bad roots %v, want %s and one more", c.Bad, bad)
	}
	if err := depot.VerifyTree(t.Context(), s, good); err != nil {
		t.Error(err)
	}
}

func TestThePackOfAProcessThatWritesIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	a, b := openStore(t, dir), openStore(t, dir)
	mine, theirs := depottest.RandomBytes(1, 10_000), depottest.RandomBytes(2, 10_000)
	put(t, a, mine)
	put(t, b, theirs)
	mustCollect(t, a, 0)
	mustSync(t, b)
	wantGet(t, b, theirs)
	wantGet(t, a, theirs)
	wantMissing(t, a, []chunk.ID{chunk.IDOf(mine)}, chunk.IDOf(mine))
}

func TestPushesAndCollectionsAtOnceLoseNothing(t *testing.T) {
	dir := t.TempDir()
	stores := []*pack.Store{openStore(t, dir), openStore(t, dir)}
	client := serve(t, httpdepot.NewHandler(stores[0]))
	folders := make([]string, 6)
	for i := range folders {
		// They share most of their content.
		folders[i] = folderOf(t, 1, 2000, 3000, 100_000, 4000)
		depottest.WriteFile(t, filepath.Join(folders[i], "own"), depottest.RandomBytes(uint64(1000+i), 60_000))
	}
	var roots sync.Map // what the broker knows
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			sink := []chunk.Sink{stores[0], stores[1], client}[i]
			r := rand.New(rand.NewPCG(uint64(i), 6))
			for range 15 {
				id, _, _, err := depot.PushFolder(t.Context(), folders[r.IntN(len(folders))], sink, depot.PushOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				if err := depot.VerifyTree(t.Context(), sink.(chunk.Source), id); err != nil {
					t.Errorf("right after a push: %v", err)
				}
				roots.Clear()
				roots.Store(id, true)
			}
		})
	}
	collecting := make(chan struct{})
	go func() {
		defer close(collecting)
		for i := 0; !stop.Load(); i++ {
			var ids []chunk.ID
			roots.Range(func(k, _ any) bool { ids = append(ids, k.(chunk.ID)); return true })
			if _, err := stores[i%2].CollectGarbage(t.Context(), ids, time.Hour); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	wg.Wait()
	stop.Store(true)
	<-collecting
}
