package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// depotFrom is the depot of a user as somebody at a cluster asks it.
func (b *bench) depotFrom(u broker.User, cluster string) *depot.Client {
	b.Helper()
	socket := filepath.Join(b.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: b.handler,
		BaseContext: func(net.Listener) context.Context { return ForUser(context.Background(), u) }, ConnContext: FromCluster}
	go func() { _ = srv.Serve(l) }()
	b.Cleanup(func() { _ = srv.Close() })
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dial := net.Dialer{LocalAddr: rendezvous.CallerAddress(cluster)}
		return dial.DialContext(ctx, "unix", socket)
	}}
	b.Cleanup(t.CloseIdleConnections)
	return depot.NewClient(&http.Client{Transport: t}, "http://broker"+wire.Depot)
}

func TestAClusterAsksTheDepotAboutItsOwnAttemptsOnly(t *testing.T) {
	b := newBench(t)
	push := func(text string) depot.ID {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		chunks, err := b.broker.DepotFor(broker.WithUser(t.Context(), alice))
		if err != nil {
			t.Fatal(err)
		}
		id, _, _, err := depot.PushFolder(t.Context(), dir, chunks, depot.PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	secret, work := push("of another job"), push("of the job at the cluster")
	spec := jobfile.Job{Argv: []string{"true"}, Min: 1, Max: 1, Workdir: "/w"}
	ids, err := b.broker.SubmitJob(broker.WithUser(t.Context(), alice), &spec, string(work))
	if err != nil {
		t.Fatal(err)
	}
	b.started(ids[0])
	at, elsewhere := b.depotFrom(alice, "a"), b.depotFrom(alice, "another")
	if _, err := at.GetChunk(t.Context(), work); err != nil {
		t.Errorf("an agent does not get what its job needs: %v", err)
	}
	for who, c := range map[string]*depot.Client{"its own cluster": at, "another cluster": elsewhere} {
		if _, err := c.GetChunk(t.Context(), secret); !errors.Is(err, depot.ErrMissing) {
			t.Errorf("%s gets what no job there needs: %v", who, err)
		}
		if gone, err := c.MissingChunks(t.Context(), []depot.ID{secret}); err != nil || len(gone) != 1 {
			t.Errorf("%s learns what is in the depot: %v, %v", who, gone, err)
		}
	}
	if _, err := elsewhere.GetChunk(t.Context(), work); !errors.Is(err, depot.ErrMissing) {
		t.Errorf("another cluster gets the work folder: %v", err)
	}
}
