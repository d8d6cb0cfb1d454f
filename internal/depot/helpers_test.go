package depot

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/storetest"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// As files are cut; see package chunk.
const (
	pageSize = 4096
	zeroRun  = 4 * pageSize
	memoFrom = 16 << 20 // bytes of an image that is remembered
)

// Short names for what all tests of the depot share.
var (
	openStore   = storetest.OpenStore
	serve       = storetest.ServeHandler
	put         = storetest.PutChunk
	bytesIn     = storetest.CountBytes
	mustCollect = storetest.CollectGarbage
	folderOf    = depottest.SizedFolder
)

func mustPush(t testing.TB, dir string, to chunk.Sink, opt PushOptions) (chunk.ID, *tree.Tree, Stats) {
	t.Helper()
	id, tree, stats, err := PushFolder(t.Context(), dir, to, opt)
	if err != nil {
		t.Fatal(err)
	}
	return id, tree, stats
}

func mustFetch(t testing.TB, from chunk.Source, id chunk.ID, dir string) {
	t.Helper()
	if _, err := FetchTree(t.Context(), from, id, dir); err != nil {
		t.Fatal(err)
	}
}

// age makes the files in dir look as if they had not changed for long.
func age(t testing.TB, dir string) {
	t.Helper()
	clocktest.WaitFor(t, "files that are no longer young", func() bool {
		list, _, err := walk.ListFolder(dir, nil, walk.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if f.Mode.IsRegular() && !f.Stamp.IsSettled(wallClock()) {
				return false
			}
		}
		return true
	})
}

// A tree as it is written down, so that tests can write what no tree says.
type treeJSON struct {
	Version int         `json:"godwit-tree"`
	Entries []entryJSON `json:"entries,omitempty"`
	Parts   []byte      `json:"parts,omitempty"`
	Size    int64       `json:"size,omitempty"`
}

type entryJSON struct {
	Path   string      `json:"path,omitempty"`
	Path64 []byte      `json:"path64,omitempty"`
	Mode   fs.FileMode `json:"mode"`
	Size   int64       `json:"size,omitempty"`
	Link   string      `json:"link,omitempty"`
	Link64 []byte      `json:"link64,omitempty"`
	Chunks string      `json:"chunks,omitempty"`
}

const treeVersion = 1

func canonicalJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func encodeParts(parts []chunk.Sum, size int64) ([]byte, error) {
	out := treeJSON{Version: treeVersion, Size: size}
	for _, p := range parts {
		out.Parts = append(out.Parts, p[:]...)
	}
	return canonicalJSON(out)
}
