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

	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/storetest"
)

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
	mixed := slices.Concat(depottest.LogText(1, pages*pageSize/2), depottest.RandomBytes(2, pages*pageSize/2))
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
		var wire atomic.Int64
		client := storetest.ServeThrough(t, httpdepot.NewHandler(openStore(t, t.TempDir())),
			func(r http.RoundTripper) http.RoundTripper { return counting{r, &wire} })
		dir := t.TempDir()
		depottest.WriteFile(t, dir+"/pages.img", image)
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
		depottest.WriteFile(t, dir+"/pages.img", image)
		id, _, second := mustPush(t, dir, client, PushOptions{})
		part := float64(second.Moved) / float64(first.Moved)
		onWire := float64(wire.Load()) / float64(firstWire)
		t.Logf("%s: %d bytes moved, then %d, %.1f %%; on the wire %.1f %% of %d", c.name, first.Moved, second.Moved, 100*part,
			100*onWire, firstWire)
		if part > 0.15 || onWire > 0.15 {
			t.Errorf("%s: %.1f %% of the bytes moved again, on the wire %.1f %%, want less than 15 %%", c.name, 100*part,
				100*onWire)
		}
		back := t.TempDir()
		mustFetch(t, client, id, back)
		depottest.WantSame(t, back, dir)
	}
}

func TestALargeTreeIsSentAsWhatDiffersIfBothHaveItsLike(t *testing.T) {
	dir := t.TempDir()
	for i := range 1500 {
		depottest.WriteFile(t, filepath.Join(dir, fmt.Sprintf("file%04d", i)), []byte(fmt.Sprint(i)))
	}
	first, second := openStore(t, t.TempDir()), openStore(t, t.TempDir())
	handler := httpdepot.NewHandler(first)
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	_, _, full := mustPush(t, dir, client, PushOptions{})
	depottest.WriteFile(t, filepath.Join(dir, "file0700"), []byte("changed"))
	depottest.WriteFile(t, filepath.Join(dir, "zzz"), []byte("new"))
	id, _, part := mustPush(t, dir, client, PushOptions{})
	if part.Moved > full.Moved/20 || part.New != 2 {
		t.Errorf("%d bytes moved for two small files, after %d", part.Moved, full.Moved)
	}
	back := t.TempDir()
	mustFetch(t, first, id, back)
	depottest.WantSame(t, back, dir)
	if _, _, same := mustPush(t, dir, client, PushOptions{}); same.Moved != 0 {
		t.Errorf("%d bytes moved for nothing", same.Moved)
	}
	// Another depot, or one that lost it, gets all of it.
	handler = httpdepot.NewHandler(second)
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
