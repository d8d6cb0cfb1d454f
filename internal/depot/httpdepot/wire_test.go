package httpdepot_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
)

// cutting is a handler that aborts after so many bytes came in or went out.
func cutting(h http.Handler, left *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = cutBody{r.Body, left}
		h.ServeHTTP(cutWriter{w, left}, r)
	})
}

type cutBody struct {
	io.ReadCloser
	left *atomic.Int64
}

func (b cutBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), 10_000)])
	if b.left.Add(-int64(n)) < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

type cutWriter struct {
	http.ResponseWriter
	left *atomic.Int64
}

func (w cutWriter) Write(p []byte) (int, error) {
	if w.left.Add(-int64(len(p))) < 0 {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(p)
}

func TestATransferThatIsCutAgainAndAgainArrivesInTheEnd(t *testing.T) {
	for seed := range uint64(4) {
		folder, dir := t.TempDir(), t.TempDir()
		depottest.RandomFolder(t, folder, 100+seed)
		depottest.WriteFile(t, filepath.Join(folder, "zzz"), depottest.RandomBytes(seed, 1<<20+7))
		store := openStore(t, dir)
		var left atomic.Int64
		client := serve(t, cutting(httpdepot.NewHandler(store), &left))
		r := rand.New(rand.NewPCG(seed, 1))
		var id chunk.ID
		back := filepath.Join(t.TempDir(), "x")
		for try := 0; ; try++ {
			left.Store(int64(r.IntN(200_000) + 300_000*try))
			ctx, cancel := context.WithCancel(t.Context())
			if r.IntN(3) == 0 {
				cancel() // as if we were stopped right away
			}
			var err error
			id, _, _, err = depot.PushFolder(ctx, folder, client, depot.PushOptions{})
			cancel()
			if err == nil {
				break
			}
		}
		for try := 0; ; try++ {
			left.Store(int64(r.IntN(200_000) + 300_000*try))
			if _, err := depot.FetchTree(t.Context(), client, id, back); err == nil {
				break
			}
		}
		depottest.WantSame(t, back, folder)
	}
}

func TestARepeatedPushSendsOnlyWhatDidNotArrive(t *testing.T) {
	folder := t.TempDir()
	const size = 8<<20 + 5
	depottest.WriteFile(t, filepath.Join(folder, "big"), depottest.RandomBytes(1, size))
	store := openStore(t, t.TempDir())
	var left atomic.Int64
	left.Store(size / 2)
	client := serve(t, cutting(httpdepot.NewHandler(store), &left))
	if _, _, _, err := depot.PushFolder(t.Context(), folder, client, depot.PushOptions{}); err == nil {
		t.Fatal("a push succeeded through a connection that was cut")
	}
	left.Store(1 << 40)
	_, _, stats := mustPush(t, folder, client, depot.PushOptions{})
	if stats.Moved > size*3/4 || stats.Moved < size/4 {
		t.Errorf("%d bytes of %d were sent again after half of them had arrived", stats.Moved, size)
	}
}

func TestTheHandlerTakesNothingThatIsWrong(t *testing.T) {
	store := openStore(t, t.TempDir())
	h := httpdepot.NewHandler(store)
	good := chunk.EncodeBlock(nil, []chunk.Content{{ID: chunk.SumOf([]byte("good")), Plain: []byte("good")}}, nil)
	large := chunk.EncodeBlock(nil,
		[]chunk.Content{{ID: chunk.SumOf(depottest.RandomBytes(1, 100_000)), Plain: depottest.RandomBytes(1, 100_000)}}, nil)
	wrong := chunk.EncodeBlock(nil, []chunk.Content{{ID: chunk.SumOf([]byte("good")), Plain: []byte("evil")}}, nil)
	torn := bytes.Clone(good)
	torn[len(torn)-1] ^= 1
	for _, c := range []struct {
		what, method, path string
		body               []byte
		want               int
	}{
		{"wrong content", "POST", "/put", wrong, http.StatusUnprocessableEntity},
		{"a damaged block", "POST", "/put", torn, http.StatusUnprocessableEntity},
		{"half a block", "POST", "/put", good[:len(good)-1], http.StatusBadRequest},
		{"no block", "POST", "/put", []byte(strings.Repeat("x", 100)), http.StatusUnprocessableEntity},
		{"too much", "POST", "/put", bytes.Repeat(large, httpdepot.MaxPutBody/len(large)+1),
			http.StatusRequestEntityTooLarge},
		{"half an ID", "POST", "/missing", make([]byte, 33), http.StatusBadRequest},
		{"too many IDs", "POST", "/get", make([]byte, 32*httpdepot.MaxIDs+32), http.StatusBadRequest},
		{"another verb", "POST", "/drop", nil, http.StatusNotFound},
		{"another method", "GET", "/sync", nil, http.StatusMethodNotAllowed},
		{"good content", "POST", "/a/b/put", good, http.StatusNoContent},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, bytes.NewReader(c.body)))
		if w.Code != c.want {
			t.Errorf("%s: answered %d %s, want %d", c.what, w.Code, strings.TrimSpace(w.Body.String()), c.want)
		}
	}
	wantGet(t, store, []byte("good"))
}

func TestADepotThatLiesIsFoundOut(t *testing.T) {
	id := chunk.SumOf([]byte("good"))
	evil := chunk.EncodeBlock(nil, []chunk.Content{{ID: id, Plain: []byte("evil")}}, nil)
	for what, answer := range map[string][]byte{
		"wrong content": append(evil, httpdepot.EndMark...),
		"nothing":       []byte(httpdepot.EndMark),
	} {
		client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(answer) }))
		if got, err := client.GetChunk(t.Context(), id.ToID()); !errors.Is(err, chunk.ErrDamaged) {
			t.Errorf("%s: got %q, %v, want %v", what, got, err, chunk.ErrDamaged)
		}
	}
	cut := chunk.EncodeBlock(nil, []chunk.Content{{ID: id, Plain: []byte("good")}}, nil)
	client := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(cut) }))
	if _, err := client.GetChunk(t.Context(), id.ToID()); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an answer without an end: %v, want %v", err, io.ErrUnexpectedEOF)
	}
}
