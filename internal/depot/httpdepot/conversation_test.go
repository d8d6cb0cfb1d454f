package httpdepot_test

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// guest uses a depot as a client may: with what it likes, in any order.
type guest struct {
	t     *testing.T
	dir   string
	store *pack.Store
	data  []byte
	known map[chunk.ID][]byte // put, and not collected since
	safe  map[chunk.ID][]byte // of these, what is durable

	precious map[chunk.ID][]byte // what is in use
}

func (g *guest) pick(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	c := g.data[0]
	g.data = g.data[1:]
	return int(c) % n
}

func (g *guest) some(n int) []byte {
	n = min(n, len(g.data))
	taken := g.data[:n]
	g.data = g.data[n:]
	return taken
}

// post sends a request. Nothing that is sent is the depot's own fault.
func (g *guest) post(verb string, body []byte) *httptest.ResponseRecorder {
	g.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/depot/"+verb, bytes.NewReader(body))
	w := httptest.NewRecorder()
	httpdepot.NewHandler(g.store).ServeHTTP(w, r)
	if w.Code >= 500 {
		g.t.Errorf("%s: %d %s", verb, w.Code, w.Body)
	}
	return w
}

// content is a piece of data, of which there are few, so that some come again.
func (g *guest) content() []byte { return depottest.LogText(uint64(g.pick(8)), 1+g.pick(4)*700) }

// ids is a list of ids, of chunks that are there and others.
func (g *guest) ids() []byte {
	var list []byte
	for range g.pick(4) {
		id := chunk.SumOf(g.content())
		if g.pick(4) == 0 {
			copy(id[:], g.some(32))
		}
		list = append(list, id[:]...)
	}
	return append(list, g.some(g.pick(3))...)
}

func (g *guest) act(roots []chunk.ID) {
	switch g.pick(9) {
	case 0, 1:
		text := g.content()
		if w := g.post("put", chunk.EncodeBlock(nil, []chunk.Content{{ID: chunk.SumOf(text), Plain: text}},
			nil)); w.Code < 300 {
			g.known[chunk.IDOf(text)] = text
		}
	case 2: // under the name of something else
		text := g.content()
		g.post("put", mend(chunk.EncodeBlock(nil, []chunk.Content{{ID: chunk.SumOf([]byte("precious")), Plain: text}}, nil)))
	case 3:
		g.post("put", mend(append(someBlocks(), g.some(40)...)))
	case 4:
		g.post([]string{"missing", "get", "hold"}[g.pick(3)], g.ids())
	case 5:
		g.post("patch", append(g.ids(), g.some(64)...))
	case 6:
		if g.post("sync", g.some(4)).Code < 300 {
			g.safe = maps.Clone(g.known)
		}
	case 7:
		if _, err := g.store.CollectGarbage(g.t.Context(), roots, 0); err != nil {
			g.t.Errorf("collecting: %v", err)
		}
		g.known, g.safe = maps.Clone(g.precious), g.precious
	case 8:
		if err := g.store.Close(); err != nil {
			g.t.Fatal(err)
		}
		var err error
		if g.store, err = pack.Open(g.dir); err != nil {
			g.t.Fatalf("it cannot be opened again: %v", err)
		}
		g.known = maps.Clone(g.safe)
	}
}

// Whatever a client does with a depot: what is in use stays as it was, what was taken in
// can be had again, and nothing else is found under its name.
func FuzzConversation(f *testing.F) {
	f.Add([]byte{0, 1, 1, 0, 2, 2, 4, 1, 2, 1, 1, 7, 8, 4, 0, 2, 1, 1})
	f.Add([]byte("\x02\x03\x01\x03xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\x05\x02\x01\x01\x00\x06\x08"))
	f.Add([]byte("\x00\x05\x02\x08\x05\x03\x01\x01\x02\x00\x01\x01\x01\x01\x01\x00\x07\x08\x04\x02\x01\x05\x02\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g := &guest{t: t, dir: t.TempDir(), data: data}
		var err error
		if g.store, err = pack.Open(g.dir); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = g.store.Close() }()
		precious := depottest.LogText(99, 3000)
		id := chunk.IDOf(precious)
		tree, err := tree.EncodeTree(&tree.Tree{Entries: []tree.Entry{{Path: "a", Mode: 0o600, Size: int64(len(precious)),
			Chunks: []chunk.ID{id}}}})
		if err != nil {
			t.Fatal(err)
		}
		root := chunk.IDOf(tree)
		g.precious = map[chunk.ID][]byte{id: precious, root: tree}
		for id, text := range g.precious {
			if err := g.store.PutChunk(t.Context(), id, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.store.SyncChunks(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.known, g.safe = maps.Clone(g.precious), g.precious
		for n := 0; n < 30 && len(g.data) > 0; n++ {
			g.act([]chunk.ID{root})
		}
		for id, want := range g.known {
			if got, err := g.store.GetChunk(context.Background(), id); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s is %d bytes, %v", id, len(got), err)
			}
		}
		if got, err := g.store.GetChunk(context.Background(), chunk.IDOf([]byte("precious"))); err == nil &&
			string(got) != "precious" {
			t.Errorf("something else is found under its name: %q", got)
		}
	})
}
