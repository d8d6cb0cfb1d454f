package depot

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// cutOff is a depot whose connection breaks after so many chunks.
type cutOff struct {
	*Store
	left int
}

var errCut = errors.New("cut off")

func (c *cutOff) GetMany(ctx context.Context, ids []chunk.Sum, give func(chunk.Sum, []byte) error) error {
	return c.Store.GetMany(ctx, ids, func(id chunk.Sum, plain []byte) error {
		if c.left--; c.left < 0 {
			return errCut
		}
		return give(id, plain)
	})
}

func TestACopyThatWasCutOffGoesOn(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 12<<20)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(data)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "large"), data, 0o600),
		os.WriteFile(filepath.Join(dir, "holes"), make([]byte, 1<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	open := func() *Store {
		s, err := Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	from, to := open(), open()
	id, tree, stats, err := PushFolder(t.Context(), dir, from, PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := CopyTree(t.Context(), &cutOff{from, stats.New * 3 / 4}, id, to); !errors.Is(err, errCut) {
		t.Fatalf("the copy ended with %v", err)
	}
	if err := VerifyTree(t.Context(), to, id); !errors.Is(err, chunk.ErrMissing) {
		t.Errorf("half a tree is %v", err)
	}
	got, again, err := CopyTree(t.Context(), from, id, to)
	if err != nil || len(got.Entries) != len(tree.Entries) {
		t.Fatal(got, err)
	}
	if again.Bytes != stats.Bytes || again.Moved > stats.Moved*3/4 || again.Moved == 0 {
		t.Errorf("%d of %d bytes were sent the second time", again.Moved, stats.Moved)
	}
	if _, third, err := CopyTree(t.Context(), from, id, to); err != nil || third.New != 0 {
		t.Errorf("%d chunks were sent the third time: %v", third.New, err)
	}
	if err := VerifyTree(t.Context(), to, id); err != nil {
		t.Error(err)
	}
}
