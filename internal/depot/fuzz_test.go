package depot

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
)

// Whatever the tree and whatever is in the folder, nothing outside is touched.
func FuzzFetchStaysInside(f *testing.F) {
	f.Add("a", "../outside", "a/b", "x")
	f.Add("d", "", "d/../../outside/b", "x")
	f.Add("..", "x", "/etc/x", "x")
	f.Add("a", "/", "a/tmp/evil", "")
	s := openStore(f, f.TempDir())
	f.Fuzz(func(t *testing.T, first, link, second, content string) {
		top := t.TempDir()
		depottest.WriteFile(t, filepath.Join(top, "outside", "b"), []byte("precious"))
		inside := filepath.Join(top, "in")
		os.Mkdir(inside, 0o700)
		if tree.IsSafePath(second) && !strings.Contains(first, "\x00") {
			os.Symlink("../outside", filepath.Join(inside, strings.Split(second, "/")[0]))
		}
		before := depottest.DescribeFolder(t, filepath.Join(top, "outside"))
		id := put(t, s, []byte(content+"x"))
		raw, _ := chunk.ParseID(id)
		in := treeJSON{Version: treeVersion, Entries: []entryJSON{
			{Path64: []byte(first), Mode: os.ModeSymlink | 0o777, Link64: []byte(link)},
			{Path64: []byte(second), Mode: 0o644, Size: int64(len(content) + 1),
				Chunks: base64.RawStdEncoding.EncodeToString(raw[:])},
		}}
		if link == "" {
			in.Entries[0] = entryJSON{Path64: []byte(first), Mode: os.ModeDir | 0o755}
		}
		b, err := canonicalJSON(in)
		if err != nil || len(b) > chunk.MaxChunk {
			return
		}
		FetchTree(t.Context(), s, put(t, s, b), inside)
		entry := tree.Entry{Path: second, Mode: 0o644, Size: int64(len(content) + 1), Chunks: []chunk.ID{id}}
		ApplyChanges(t.Context(), s, inside, []tree.Entry{{Path: first, Mode: os.ModeSymlink | 0o777, Link: link}, entry},
			[]string{first, second})
		if after := depottest.DescribeFolder(t, filepath.Join(top, "outside")); !slices.Equal(before, after) {
			t.Errorf("outside there was\n%q, now there is\n%q", before, after)
		}
		if list, _ := os.ReadDir(top); len(list) != 2 {
			t.Errorf("beside the folder there is %v", list)
		}
	})
}
