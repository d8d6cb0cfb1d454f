package pack_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
)

// packsOf gives the files of the packs of a depot.
func packsOf(t testing.TB, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "packs", "*"+pack.PackExt))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWhatIsPutIsGotBack(t *testing.T) {
	store := openStore(t, t.TempDir())
	for _, to := range []interface {
		chunk.Sink
		chunk.Source
	}{store, serve(t, httpdepot.NewHandler(store))} {
		plain := [][]byte{{}, {1}, depottest.RandomBytes(1, 100_000), depottest.LogText(2, chunk.MaxChunk),
			depottest.RandomBytes(3, chunk.MaxChunk), make([]byte, 70_000)}
		for _, b := range plain {
			put(t, to, b)
		}
		mustSync(t, to)
		for _, b := range plain {
			wantGet(t, to, b)
			wantMissing(t, to, []chunk.ID{chunk.IDOf(b)})
		}
		nowhere := chunk.IDOf([]byte("never put"))
		wantMissing(t, to, []chunk.ID{chunk.IDOf(plain[2]), nowhere, nowhere, chunk.ZerosID(5).ToID()}, nowhere, nowhere)
		if _, err := to.GetChunk(t.Context(), nowhere); !errors.Is(err, chunk.ErrMissing) {
			t.Errorf("getting what was never put: %v, want %v", err, chunk.ErrMissing)
		}
		if got, err := to.GetChunk(t.Context(), chunk.ZerosID(5000).ToID()); err != nil ||
			!bytes.Equal(got, make([]byte, 5000)) {
			t.Errorf("5000 zeros: %d bytes, %v", len(got), err)
		}
		if _, err := to.GetChunk(t.Context(), chunk.ZerosID(1<<40).ToID()); err == nil {
			t.Error("a terabyte of zeros was given at once")
		}
	}
}

func TestWrongNamesAndSizesAreRefused(t *testing.T) {
	store := openStore(t, t.TempDir())
	for _, to := range []chunk.Sink{store, serve(t, httpdepot.NewHandler(store))} {
		if err := to.PutChunk(t.Context(), chunk.IDOf([]byte("a")), []byte("b")); !errors.Is(err, chunk.ErrDamaged) {
			t.Errorf("putting content under a wrong name: %v, want %v", err, chunk.ErrDamaged)
		}
		if err := to.PutChunk(t.Context(), chunk.IDOf(make([]byte, chunk.MaxChunk+1)),
			make([]byte, chunk.MaxChunk+1)); err == nil {
			t.Error("a chunk that is too large was taken")
		}
		for _, id := range []chunk.ID{"", "x", chunk.ID(strings.Repeat("G", 64)), chunk.ID(strings.Repeat("A", 64)),
			chunk.ID(strings.Repeat("0", 65))} {
			if _, err := to.MissingChunks(t.Context(), []chunk.ID{id}); err == nil {
				t.Errorf("%q passed for an ID", id)
			}
		}
	}
}

func TestAChunkIsKeptOnce(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, dir)
	folder := t.TempDir()
	depottest.WriteFile(t, filepath.Join(folder, "a"), depottest.RandomBytes(1, 300_000))
	depottest.WriteFile(t, filepath.Join(folder, "b"), depottest.RandomBytes(1, 300_000))
	_, _, first := mustPush(t, folder, store, depot.PushOptions{})
	if first.Moved > 310_000 {
		t.Errorf("%d bytes moved for two files of the same 300000", first.Moved)
	}
	before := bytesIn(t, filepath.Join(dir, "packs"))
	_, _, again := mustPush(t, folder, store, depot.PushOptions{})
	if now := bytesIn(t, filepath.Join(dir, "packs")); again.Moved != 0 || again.New != 0 || now != before {
		t.Errorf("the second push moved %d bytes, the depot grew from %d to %d", again.Moved, before, now)
	}
}

func TestADamagedChunkIsNeverGivenAndIsHealed(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, dir)
	other := openStore(t, dir) // another process, as far as the depot knows
	client := serve(t, httpdepot.NewHandler(store))
	plain := depottest.LogText(1, 200_000)
	id := put(t, store, plain)
	mustSync(t, store)
	wantGet(t, other, plain)
	sources := []chunk.Source{store, client, other}
	for i := range 3 * len(sources) {
		damage(t, dir, uint64(i))
		if got, err := sources[i%3].GetChunk(t.Context(), id); !errors.Is(err, chunk.ErrDamaged) || got != nil {
			t.Fatalf("a damaged chunk: %d bytes, %v, want %v", len(got), err, chunk.ErrDamaged)
		}
		wantMissing(t, store, []chunk.ID{id}, id)
		wantMissing(t, other, []chunk.ID{id}, id)
		put(t, []chunk.Sink{store, client, other}[(i+1)%3], plain)
		mustSync(t, store)
		mustSync(t, other)
		for _, s := range sources {
			wantGet(t, s, plain)
		}
	}
	reopened := openStore(t, dir)
	wantGet(t, reopened, plain)
}

// damage changes one byte of every block that is in the packs.
func damage(t testing.TB, dir string, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	for _, p := range packsOf(t, dir) {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := pack.BlocksOf(p)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(p, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks {
			at := int(block.Offset) + r.IntN(int(block.Size))
			if _, err := f.WriteAt([]byte{b[at] ^ byte(1+r.IntN(255))}, int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		f.Close()
	}
}

func TestWhateverIsDamagedNoWrongByteComesOut(t *testing.T) {
	folder, dir := t.TempDir(), t.TempDir()
	depottest.RandomFolder(t, folder, 4)
	store := openStore(t, dir)
	id, _, _ := mustPush(t, folder, store, depot.PushOptions{})
	pristine := map[string][]byte{}
	files, _ := filepath.Glob(filepath.Join(dir, "packs", "*"))
	for _, p := range files {
		pristine[p], _ = os.ReadFile(p)
	}
	store.Close()
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 5))
		for _, p := range files {
			b := bytes.Clone(pristine[p])
			switch r.IntN(4) {
			case 0:
				b = b[:r.IntN(len(b))]
			case 1:
				from := r.IntN(len(b))
				clear(b[from:min(len(b), from+r.IntN(100_000))])
			default:
				for range 1 + r.IntN(3) {
					b[r.IntN(len(b))] ^= 1 << r.IntN(8)
				}
			}
			if err := os.WriteFile(p, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := pack.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		back := filepath.Join(t.TempDir(), "x")
		if _, err := depot.FetchTree(t.Context(), s, id, back); err == nil {
			depottest.WantSame(t, back, folder)
		} else if !errors.Is(err, chunk.ErrDamaged) && !errors.Is(err, chunk.ErrMissing) {
			t.Errorf("seed %d: %v, want %v or %v", seed, err, chunk.ErrDamaged, chunk.ErrMissing)
		}
		// Whatever VerifyTree finds, a push heals; it may find the tree alone first.
		healed := id
		for range 3 {
			if depot.VerifyTree(t.Context(), s, id) == nil {
				break
			}
			healed, _, _ = mustPush(t, folder, s, depot.PushOptions{})
		}
		mustFetch(t, s, healed, back)
		depottest.WantSame(t, back, folder)
		s.Close()
		left, _ := filepath.Glob(filepath.Join(dir, "packs", "*"))
		for _, p := range left {
			os.Remove(p)
		}
	}
}

func TestAFullDiskIsToldAndTheStoreStaysSound(t *testing.T) {
	dir := t.TempDir()
	store := openStore(t, dir)
	client := serve(t, httpdepot.NewHandler(store))
	safe := depottest.RandomBytes(1, 300_000)
	put(t, store, safe)
	mustSync(t, store)
	for i, to := range []chunk.Sink{store, client} {
		room := 100_000 // bytes until the disk is full
		store.SetWrite(func(f *os.File, b []byte, off int64) (int, error) {
			if len(b) > room {
				n, _ := f.WriteAt(b[:room], off)
				return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			room -= len(b)
			return f.WriteAt(b, off)
		})
		lost := depottest.RandomBytes(uint64(10+i), 400_000)
		err := to.PutChunk(t.Context(), chunk.IDOf(lost), lost)
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("on a full disk: %v, want %v", err, syscall.ENOSPC)
		}
		folder := t.TempDir()
		depottest.WriteFile(t, filepath.Join(folder, "a"), depottest.RandomBytes(uint64(20+i), 2<<20))
		if _, _, _, err := depot.PushFolder(t.Context(), folder, to, depot.PushOptions{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("pushing to a full disk: %v, want %v", err, syscall.ENOSPC)
		}
		wantMissing(t, to, []chunk.ID{chunk.IDOf(lost), chunk.IDOf(safe)}, chunk.IDOf(lost))
		wantGet(t, store, safe)
		store.SetWrite(nil)
		put(t, to, lost)
		mustSync(t, to)
		again := openStore(t, dir)
		wantGet(t, again, lost)
		wantGet(t, again, safe)
	}
}

func TestTwoProcessesSeeWhatTheOtherMadeDurable(t *testing.T) {
	dir := t.TempDir()
	a, b := openStore(t, dir), openStore(t, dir)
	for i := range uint64(5) {
		x, y := depottest.RandomBytes(2*i, 50_000), depottest.RandomBytes(2*i+1, 50_000)
		put(t, a, x)
		put(t, b, y)
		wantGet(t, a, x)
		mustSync(t, a)
		mustSync(t, b)
		wantGet(t, b, x)
		wantGet(t, a, y)
		wantMissing(t, b, []chunk.ID{chunk.IDOf(x), chunk.IDOf(y)})
		wantMissing(t, a, []chunk.ID{chunk.IDOf(x), chunk.IDOf(y)})
	}
	if n := len(packsOf(t, dir)); n != 2 {
		t.Errorf("%d packs, want one for each writer", n)
	}
}

func TestAStoreGoesOnWithThePackOfTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	for i := range uint64(5) {
		s, err := pack.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, depottest.RandomBytes(i, 1000))
		if i%2 == 0 {
			mustSync(t, s) // the others are found by reading the pack
		}
		s.Close()
	}
	s := openStore(t, dir)
	for i := range uint64(5) {
		wantMissing(t, s, []chunk.ID{chunk.IDOf(depottest.RandomBytes(i, 1000))})
		wantGet(t, s, depottest.RandomBytes(i, 1000))
	}
	if n := len(packsOf(t, dir)); n != 1 {
		t.Errorf("%d packs, want 1", n)
	}
}

func TestAPackThatEndsAnywhereIsTakenOverFromItsLastWholeBlock(t *testing.T) {
	dir := t.TempDir()
	s, err := pack.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var plain [][]byte
	for i := range uint64(4) {
		plain = append(plain, depottest.RandomBytes(i, 300))
		put(t, s, plain[i])
		if i == 1 {
			mustSync(t, s)
		}
	}
	s.Close()
	packFile := packsOf(t, dir)[0]
	whole, _ := os.ReadFile(packFile)
	index, _ := filepath.Glob(filepath.Join(dir, "packs", "*"+pack.IndexExt))
	wholeIndex, _ := os.ReadFile(index[0])
	one := (len(whole) - pack.PackHeader) / 4
	for cut := pack.PackHeader + 2*one; cut < len(whole); cut += 7 {
		if err := os.WriteFile(packFile, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(index[0], wholeIndex, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := pack.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		var want []chunk.ID
		var ids []chunk.ID
		for i, b := range plain {
			ids = append(ids, chunk.IDOf(b))
			if pack.PackHeader+(i+1)*one > cut {
				want = append(want, chunk.IDOf(b))
			}
		}
		wantMissing(t, s, ids, want...)
		put(t, s, plain[3])
		mustSync(t, s)
		wantGet(t, s, plain[3])
		wantGet(t, s, plain[0])
		s.Close()
	}
}

func TestADamagedBlockIsHealedThoughItsIndexIsDamagedToo(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	var plain [][]byte
	for i := range uint64(6) {
		plain = append(plain, depottest.RandomBytes(i, 3000))
		put(t, s, plain[i])
	}
	mustSync(t, s)
	index, _ := filepath.Glob(filepath.Join(dir, "packs", "*"+pack.IndexExt))
	b, _ := os.ReadFile(index[0])
	b[len(b)/2] ^= 1 // in the fourth record
	depottest.WriteFile(t, index[0], b)
	packFile := packsOf(t, dir)[0]
	b, _ = os.ReadFile(packFile)
	for _, i := range []int{1, 4} { // one before, one behind that
		b[pack.PackHeader+i*(len(b)-pack.PackHeader)/6+100] ^= 1
	}
	depottest.WriteFile(t, packFile, b)
	for _, i := range []int{1, 4} {
		if _, err := s.GetChunk(t.Context(), chunk.IDOf(plain[i])); !errors.Is(err, chunk.ErrDamaged) &&
			!errors.Is(err, chunk.ErrMissing) {
			t.Errorf("chunk %d: %v, want %v or %v", i, err, chunk.ErrDamaged, chunk.ErrMissing)
		}
		wantMissing(t, s, []chunk.ID{chunk.IDOf(plain[i])}, chunk.IDOf(plain[i]))
		put(t, s, plain[i])
	}
	mustSync(t, s)
	for _, s := range []*pack.Store{s, openStore(t, dir)} {
		for _, b := range plain {
			wantGet(t, s, b)
		}
	}
}

// A block whose form and checksum are right may still hold something else than the
// name says: whoever wrote it need not have been us.
func TestContentThatIsNotWhatItsNameSaysIsNotGiven(t *testing.T) {
	store := openStore(t, t.TempDir())
	id := chunk.SumOf([]byte("good"))
	raw := chunk.EncodeBlock(nil, []chunk.Content{{ID: id, Plain: []byte("evil")}}, nil)
	b, err := chunk.ParseBlock(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PutBlocks(t.Context(), raw, []*chunk.Block{b}); err != nil {
		t.Fatal(err)
	}
	mustSync(t, store)
	if got, err := store.GetChunk(t.Context(), id.ToID()); !errors.Is(err, chunk.ErrDamaged) || got != nil {
		t.Errorf("got %q, %v, want %v", got, err, chunk.ErrDamaged)
	}
}
