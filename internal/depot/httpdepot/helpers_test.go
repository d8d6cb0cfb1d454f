package httpdepot_test

import (
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/storetest"
	"github.com/godwit-hpc/godwit/internal/depot/tree"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Short names for what all tests of the depot share.
var (
	openStore = storetest.OpenStore
	serve     = storetest.ServeHandler
	wantGet   = storetest.WantGet
)

func mustPush(t testing.TB, dir string, to chunk.Sink, opt depot.PushOptions) (chunk.ID, *tree.Tree, depot.Stats) {
	t.Helper()
	id, tree, stats, err := depot.PushFolder(t.Context(), dir, to, opt)
	if err != nil {
		t.Fatal(err)
	}
	return id, tree, stats
}
