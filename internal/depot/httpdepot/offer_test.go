package httpdepot_test

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
)

// offered is a folder with two files, and an offer of one of them from the
// folder, and one from a store that holds both.
func offered(t testing.TB) (folder, stored *httpdepot.Offer, other []chunk.Sum) {
	t.Helper()
	dir := t.TempDir()
	data := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(data)
	for name, b := range map[string][]byte{"mine": data[:150_000], "theirs": data[150_000:]} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := pack.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_, all, _, err := depot.PushFolder(t.Context(), dir, s, depot.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	only := depot.PushOptions{Exclude: []string{"/*", "!/mine"}}
	id, _, _, err := depot.PushFolder(t.Context(), dir, s, only)
	if err != nil {
		t.Fatal(err)
	}
	if folder, err = depot.OfferFolder(t.Context(), dir, only); err != nil || folder.TreeID() != id ||
		folder.TotalBytes() != 150_000 {
		t.Fatalf("%+v, want %s: %v", folder, id, err)
	}
	if stored, err = httpdepot.OfferTree(t.Context(), s, id); err != nil || stored.TotalBytes() != 150_000 {
		t.Fatal(stored, err)
	}
	for i := range all.Entries {
		if all.Entries[i].Path == "theirs" {
			other = append(other, all.Entries[i].ChunkSums()...)
		}
	}
	return folder, stored, other
}

// asked is what an offer answers: the chunks that come, of which none may be of
// another file, and how many are said to be missing.
func asked(t testing.TB, o *httpdepot.Offer, body []byte,
	secret []chunk.Sum) (got map[chunk.Sum]bool, missing int, code int) {
	t.Helper()
	w := httptest.NewRecorder()
	o.ChunkHandler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/get",
		bytes.NewReader(body)))
	if w.Code != http.StatusOK {
		return nil, 0, w.Code
	}
	got = map[chunk.Sum]bool{}
	a, err := httpdepot.ReadAnswer(w.Body, func(b *chunk.Block) error {
		for i := range b.Count {
			got[b.ChunkID(i)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range secret {
		if got[id] {
			t.Errorf("%s is given, which was not offered", id.ToID())
		}
	}
	return got, len(a.Missing) + len(a.Damaged), w.Code
}

func TestAnOfferGivesItsTreeAndNothingElse(t *testing.T) {
	folder, stored, secret := offered(t)
	for _, o := range []*httpdepot.Offer{folder, stored} {
		root, _ := chunk.ParseID(o.TreeID())
		body := httpdepot.AppendIDs(nil, append([]chunk.Sum{root}, secret...))
		if got, missing, _ := asked(t, o, body, secret); !got[root] || missing != len(secret) {
			t.Errorf("%d chunks, and %d of %d are missing", len(got), missing, len(secret))
		}
	}
}

// FuzzOffer: whatever is asked of an offer, nothing else than its tree comes.
func FuzzOffer(f *testing.F) {
	folder, stored, secret := offered(f)
	root, _ := chunk.ParseID(folder.TreeID())
	f.Add([]byte(nil))
	f.Add(root[:])
	f.Add(httpdepot.AppendIDs(nil, secret))
	f.Add(httpdepot.AppendIDs(nil, append(secret[:1:1], root, root, chunk.Sum{}, chunk.ZerosID(1<<40))))
	f.Add(make([]byte, 33))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, o := range []*httpdepot.Offer{folder, stored} {
			got, missing, code := asked(t, o, body, secret)
			if (code == http.StatusOK) != (len(body)%32 == 0 && len(body) <= 32*httpdepot.MaxIDs) {
				t.Errorf("%d bytes are answered %d", len(body), code)
			}
			if code == http.StatusOK && len(body) == 32 && len(got)+missing != 1 && !got[root] {
				t.Errorf("%d chunks and %d missing for one", len(got), missing)
			}
		}
	})
}
