package pack_test

import (
	"os"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/depottest"
	"github.com/godwit-hpc/godwit/internal/depot/storetest"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childFlag {
		child(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

// Short names for what all tests of the depot share.
var (
	openStore   = storetest.OpenStore
	serve       = storetest.ServeHandler
	put         = storetest.PutChunk
	mustSync    = storetest.SyncChunks
	wantGet     = storetest.WantGet
	wantMissing = storetest.WantMissing
	bytesIn     = storetest.CountBytes
	mustCollect = storetest.CollectGarbage
	folderOf    = depottest.SizedFolder
)

func mustPush(t testing.TB, dir string, to chunk.Sink, opt depot.PushOptions) (chunk.ID, *tree.Tree, depot.Stats) {
	t.Helper()
	id, tree, stats, err := depot.PushFolder(t.Context(), dir, to, opt)
	if err != nil {
		t.Fatal(err)
	}
	return id, tree, stats
}

func mustFetch(t testing.TB, from chunk.Source, id chunk.ID, dir string) {
	t.Helper()
	if _, err := depot.FetchTree(t.Context(), from, id, dir); err != nil {
		t.Fatal(err)
	}
}

func isRoot() bool { return unix.Geteuid() == 0 }
