package daemon_test

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/daemon"
	"github.com/godwit-hpc/godwit/internal/live/store/sqlite"
)

// A state folder has one broker, and one that was killed is no broker, though the
// system may hold its store for it a little longer.
func TestOneBrokerForAFolder(t *testing.T) {
	b := up(t, oneCluster)
	o := daemon.Options{State: filepath.Join(b.dir, "state"), Config: filepath.Join(b.dir, "config.yaml"),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	if err := daemon.Run(t.Context(), o); !errors.Is(err, daemon.ErrRunning) {
		t.Errorf("a second broker ended with %v", err)
	}
	b.down()
	held, err := sqlite.Open(t.Context(), filepath.Join(o.State, "godwit.db"))
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	})
	b.start()
	if _, err := b.client.PingBroker(t.Context()); err != nil {
		t.Error(err)
	}
}
