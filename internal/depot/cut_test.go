package depot

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
)

// cutAll cuts content as a push does, and checks that the chunks are its.
func cutAll(t testing.TB, content []byte, holes *holeMap) []sum {
	t.Helper()
	var c cutter
	var list []sum
	var joined []byte
	p := planFor(int64(len(content)))
	for off := int64(0); off < int64(len(content)); off += p.piece {
		var piece []sum
		err := c.cutPiece(bytes.NewReader(content), p, off, min(p.piece, int64(len(content))-off), holes, func(id sum, plain []byte) error {
			piece = append(piece, id)
			if n, zero := id.isZeros(); zero {
				joined = append(joined, make([]byte, n)...)
				return nil
			}
			if sumOf(plain) != id || len(plain) == 0 || len(plain) > maxChunk {
				t.Errorf("a chunk of %d bytes with a wrong name", len(plain))
			}
			joined = append(joined, plain...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		list = appendChunks(list, piece)
	}
	if !bytes.Equal(joined, content) {
		t.Errorf("the chunks of %d bytes make %d other ones", len(content), len(joined))
	}
	return list
}

// fresh is the part of the chunks of b that a has not.
func fresh(a, b []sum) float64 {
	have := map[sum]bool{}
	for _, id := range a {
		have[id] = true
	}
	n := 0
	for _, id := range b {
		if !have[id] {
			n++
		}
	}
	return float64(n) / float64(len(b))
}

func TestWhateverAFileHoldsItsChunksMakeIt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		size := []int{r.IntN(10), r.IntN(70_000), 4096 * r.IntN(20), r.IntN(700_000), 4096 * (256 + r.IntN(20))}[r.IntN(5)]
		b := noise(r.Uint64(), size)
		for range r.IntN(6) {
			if size > 0 {
				from := r.IntN(size)
				if r.IntN(2) == 0 {
					from = from / 4096 * 4096
				}
				clear(b[from:min(size, from+r.IntN(200_000))])
			}
		}
		plain := cutAll(t, b, nil)
		// Knowing where the holes are changes nothing.
		holes := &holeMap{}
		for off := 0; off < size; off += 512 {
			end := min(off+512, size)
			if allZero(b[off:end]) {
				continue
			}
			if n := len(holes.data); n > 0 && holes.data[n-1].to == int64(off) {
				holes.data[n-1].to = int64(end)
			} else {
				holes.data = append(holes.data, extent{int64(off), int64(end)})
			}
		}
		if with := cutAll(t, b, holes); !slices.Equal(plain, with) {
			t.Errorf("%d bytes are cut in another way when the holes are known", size)
		}
	}
}

func TestLargeImagesAreCutAtPagesByContent(t *testing.T) {
	b := noise(1, 512*pageSize)
	clear(b[100*pageSize : 150*pageSize])
	for _, pages := range []int{2, 4, 8} {
		cutIn := func(content []byte) (list []sum) {
			var c cutter
			var joined []byte
			err := c.cutPiece(bytes.NewReader(content), plan{pages: pages}, 0, int64(len(content)), nil, func(id sum, plain []byte) error {
				list = append(list, id)
				if n, zero := id.isZeros(); zero {
					plain = make([]byte, n)
				} else if len(plain)%pageSize != 0 || len(plain) > 4*pages*pageSize {
					t.Errorf("a chunk of %d bytes", len(plain))
				}
				joined = append(joined, plain...)
				return nil
			})
			if err != nil || !bytes.Equal(joined, content) {
				t.Errorf("%d pages a chunk: %v", pages, err)
			}
			return list
		}
		list := cutIn(b)
		if n := 462 / len(list); n < pages/2 || n > pages*2 {
			t.Errorf("%d pages a chunk on average, want about %d", n, pages)
		}
		moved := slices.Concat(noise(2, 3*pageSize), b)
		if part := fresh(list, cutIn(moved)); part > 0.1 {
			t.Errorf("after three pages were put before it %.0f %% of the chunks are new", 100*part)
		}
	}
}

func TestAnInsertionCostsAFewChunks(t *testing.T) {
	b := prose(1, 6_000_001)
	longer := slices.Concat(b[:1000], []byte("a line more\n"), b[1000:])
	if part := fresh(cutAll(t, b, nil), cutAll(t, longer, nil)); part > 0.1 {
		t.Errorf("%.0f %% of the chunks are new", 100*part)
	}
	image := noise(1, 1500*pageSize)
	longer = slices.Concat(image[:10*pageSize], noise(2, pageSize), image[10*pageSize:])
	if part := fresh(cutAll(t, image, nil), cutAll(t, longer, nil)); part > 0.01 {
		t.Errorf("one page more in an image makes %.1f %% of the chunks new", 100*part)
	}
}

// counting counts the bytes of bodies, both ways.
type counting struct {
	http.RoundTripper
	n *atomic.Int64
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(r.ContentLength)
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = countBody{resp.Body, c.n}
	}
	return resp, err
}

type countBody struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c countBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func TestOfAnImageOfWhichATwentiethChangedFarLessThanASeventhMoves(t *testing.T) {
	// 32 MiB for 1 GiB; the parts do not depend on the size.
	const pages = 8192
	mixed := slices.Concat(prose(1, pages*pageSize/2), noise(2, pages*pageSize/2))
	counters := make([]byte, pages*pageSize) // hardly anything in a page, but each is different
	for i := range pages {
		binary.LittleEndian.PutUint64(counters[i*pageSize:], uint64(i+1))
	}
	for _, c := range []struct {
		name  string
		image []byte
		run   int
		whole bool // all of a touched page changes
	}{
		{"text and noise, single pages", mixed, 1, true},
		{"text and noise, runs of up to 64 pages", mixed, 64, true},
		{"counters, single pages", counters, 1, false},
		{"counters, runs of up to 64 pages", counters, 64, false},
	} {
		r := rand.New(rand.NewPCG(3, 4))
		image := bytes.Clone(c.image)
		client := serve(t, NewHandler(openStore(t, t.TempDir())))
		var wire atomic.Int64
		client.http.Transport = counting{client.http.Transport, &wire}
		dir := t.TempDir()
		write(t, dir+"/pages.img", image)
		_, _, first := mustPush(t, dir, client, PushOptions{})
		firstWire := wire.Swap(0)
		for left := pages / 20; left > 0; {
			n := min(left, 1+r.IntN(c.run))
			at := r.IntN(pages-n) * pageSize
			for i := at; i < at+n*pageSize; i += 8 {
				if c.whole || i%pageSize == 0 {
					image[i+3] ^= byte(1 + r.IntN(255))
				}
			}
			left -= n
		}
		write(t, dir+"/pages.img", image)
		id, _, second := mustPush(t, dir, client, PushOptions{})
		part := float64(second.Moved) / float64(first.Moved)
		onWire := float64(wire.Load()) / float64(firstWire)
		t.Logf("%s: %d bytes moved, then %d, %.1f %%; on the wire %.1f %% of %d", c.name, first.Moved, second.Moved, 100*part, 100*onWire, firstWire)
		if part > 0.15 || onWire > 0.15 {
			t.Errorf("%s: %.1f %% of the bytes moved again, on the wire %.1f %%, want less than 15 %%", c.name, 100*part, 100*onWire)
		}
		back := t.TempDir()
		mustFetch(t, client, id, back)
		wantSame(t, back, dir)
	}
}

func TestALargeTreeIsSentAsWhatDiffersIfBothHaveItsLike(t *testing.T) {
	dir := t.TempDir()
	for i := range 1500 {
		write(t, filepath.Join(dir, fmt.Sprintf("file%04d", i)), []byte(fmt.Sprint(i)))
	}
	first, second := openStore(t, t.TempDir()), openStore(t, t.TempDir())
	handler := NewHandler(first)
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	_, _, full := mustPush(t, dir, client, PushOptions{})
	write(t, filepath.Join(dir, "file0700"), []byte("changed"))
	write(t, filepath.Join(dir, "zzz"), []byte("new"))
	id, _, part := mustPush(t, dir, client, PushOptions{})
	if part.Moved > full.Moved/20 || part.New != 2 {
		t.Errorf("%d bytes moved for two small files, after %d", part.Moved, full.Moved)
	}
	back := t.TempDir()
	mustFetch(t, first, id, back)
	wantSame(t, back, dir)
	if _, _, same := mustPush(t, dir, client, PushOptions{}); same.Moved != 0 {
		t.Errorf("%d bytes moved for nothing", same.Moved)
	}
	// Another depot, or one that lost it, gets all of it.
	handler = NewHandler(second)
	if got, _, stats := mustPush(t, dir, client, PushOptions{}); got != id || stats.Moved < full.Moved/2 {
		t.Errorf("to another depot goes %s in %d bytes, want %s in about %d", got, stats.Moved, id, full.Moved)
	}
	if err := VerifyTree(t.Context(), second, id); err != nil {
		t.Error(err)
	}
	mustCollect(t, second, 0)
	mustPush(t, dir, client, PushOptions{})
	if err := VerifyTree(t.Context(), second, id); err != nil {
		t.Error(err)
	}
}
