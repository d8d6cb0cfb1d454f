package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestSettingsAreReadAgainAtSIGHUP(t *testing.T) {
	b := up(t, oneCluster)
	if err := os.WriteFile(filepath.Join(b.dir, "config.yaml"), []byte(twoClusters), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		known, err := b.client.ListClusters(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if len(known) == 2 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("known are %+v", known)
		}
	}
}
