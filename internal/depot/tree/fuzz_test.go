package tree

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
)

// Whatever a tree says, it is refused or it is safe, and it reads back as it
// was.
func FuzzTree(f *testing.F) {
	good, err := EncodeTree(&Tree{Entries: []Entry{
		{Path: "a", Mode: 0o644, Size: 10, Chunks: []chunk.ID{chunk.IDOf([]byte("x")), chunk.ZerosID(9).ToID()}},
		{Path: "b", Mode: os.ModeDir | 0o755},
		{Path: "b/\xff", Mode: os.ModeSymlink | 0o777, Link: "../\xfe"},
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"godwit-tree":1}`))
	f.Add([]byte(`{"godwit-tree":1,"entries":[{"path":"../x","mode":420}]}`))
	f.Add([]byte(`{"godwit-tree":1,"parts":"AAAA","size":3}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		decodeParts(in)
		tree, err := decodeTree(in)
		if err != nil {
			return
		}
		for _, e := range tree.Entries {
			if !filepath.IsLocal(e.Path) || filepath.Clean(e.Path) != e.Path {
				t.Errorf("the path %q passed", e.Path)
			}
		}
		b, err := EncodeTree(tree)
		if err != nil {
			t.Fatalf("encoding what was decoded: %v", err)
		}
		again, err := decodeTree(b)
		if err != nil {
			t.Fatalf("decoding what was encoded: %v", err)
		}
		if changed, removed := DiffTrees(tree, again); len(changed)+len(removed) > 0 {
			t.Errorf("it comes back with %v changed and %v removed", changed, removed)
		}
	})
}

// Whatever two texts say, the patch between them turns the one into the other,
// and whatever a patch says, applying it ends.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("a,b,c,d"), []byte("a,x,c,d,e"))
	f.Add([]byte(""), []byte(",,,"))
	f.Add(bytes.Repeat([]byte("same,"), 20), append(bytes.Repeat([]byte("same,"), 30), "other"...))
	f.Fuzz(func(t *testing.T, base, next []byte) {
		got, err := ApplyPatch(base, MakePatch(base, next))
		if err != nil || !bytes.Equal(got, next) {
			t.Errorf("%q comes back as %q, %v", next, got, err)
		}
		ApplyPatch(base, next)
		ApplyPatch(base, chunk.BlockEncoder().EncodeAll(next, nil))
	})
}
