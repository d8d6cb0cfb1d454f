package daemon_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

func TestSettingsAreReadAgainAtSIGHUP(t *testing.T) {
	b := up(t, oneCluster)
	if err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(twoClusters), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	var known []api.Cluster
	clocktest.WaitFor(t, "a second cluster", func() bool {
		var err error
		if known, err = b.client.ListClusters(context.Background()); err != nil {
			t.Fatal(err)
		}
		return len(known) == 2
	}, func() string { return fmt.Sprintf("known are %+v", known) })
}
