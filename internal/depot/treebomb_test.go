package depot

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// bomb is a root that names one part many times: a few kilobytes that say they are
// hundreds of megabytes.
func bomb(t *testing.T, s *Store, times int) chunk.ID {
	t.Helper()
	part := bytes.Repeat([]byte(`{"path":"a","mode":420},`), chunk.MaxChunk/24)
	parts := make([]chunk.Sum, times)
	for i := range parts {
		parts[i] = chunk.SumOf(part)
	}
	root, err := encodeParts(parts, int64(times*len(part)))
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range [][]byte{part, root} {
		if err := s.PutChunk(t.Context(), chunk.IDOf(plain), plain); err != nil {
			t.Fatal(err)
		}
	}
	return chunk.IDOf(root)
}

func TestATreeThatNamesAPartOverAndOverIsRefusedBeforeItTakesMemory(t *testing.T) {
	for times, want := range map[int]string{60: "entries", 1000: "bytes"} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			s, err := Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			id := bomb(t, s, times)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = tree.LoadTree(t.Context(), s, id)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, tree.ErrBadTree) || !strings.Contains(err.Error(), want) {
				t.Errorf("the error is %v, want one about %s", err, want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
				t.Errorf("%d MiB were taken", used>>20)
			}
		})
	}
}

func TestATreeIsThereWhenAllItIsKeptInIs(t *testing.T) {
	s, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if there, err := s.HasTree(t.Context(), bomb(t, s, 3)); err != nil || !there {
		t.Errorf("with all its parts: %v, %v", there, err)
	}
	missing, err := encodeParts([]chunk.Sum{{1}}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PutChunk(t.Context(), chunk.IDOf(missing), missing); err != nil {
		t.Fatal(err)
	}
	for _, id := range []chunk.ID{chunk.IDOf(missing), chunk.IDOf([]byte("nothing")), "rubbish"} {
		if there, _ := s.HasTree(t.Context(), id); there {
			t.Errorf("%s is said to be there", id)
		}
	}
}
