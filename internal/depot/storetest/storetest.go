// Package storetest opens and serves depots for tests, and looks at what they hold.
package storetest

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot/chunk"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/depot/pack"
	"github.com/godwit-hpc/godwit/internal/depot/walk"
)

// OpenStore opens a depot on disk until the test ends.
func OpenStore(t testing.TB, dir string) *pack.Store {
	t.Helper()
	s, err := pack.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

// ServeHandler gives a client of a handler over a Unix socket.
func ServeHandler(t testing.TB, h http.Handler) *httpdepot.Client {
	t.Helper()
	return ServeThrough(t, h, func(r http.RoundTripper) http.RoundTripper { return r })
}

// ServeThrough is ServeHandler with something around the client's transport.
func ServeThrough(t testing.TB, h http.Handler, around func(http.RoundTripper) http.RoundTripper) *httpdepot.Client {
	t.Helper()
	// The path of a socket must be short.
	dir, err := os.MkdirTemp("", "depot")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/depot/", h)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		_ = server.Close() // whoever still asks is cut off
		<-done
		_ = os.RemoveAll(dir)
	})
	return httpdepot.NewClient(&http.Client{Transport: around(tr)}, "http://broker/v1/depot/")
}

// PutChunk puts plain and returns its ID.
func PutChunk(t testing.TB, to chunk.Sink, plain []byte) chunk.ID {
	t.Helper()
	id := chunk.IDOf(plain)
	if err := to.PutChunk(t.Context(), id, plain); err != nil {
		t.Fatal(err)
	}
	return id
}

// SyncChunks makes durable what was put.
func SyncChunks(t testing.TB, to chunk.Sink) {
	t.Helper()
	if err := to.SyncChunks(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// WantGet expects that a chunk can be had.
func WantGet(t testing.TB, from chunk.Source, plain []byte) {
	t.Helper()
	got, err := from.GetChunk(t.Context(), chunk.IDOf(plain))
	if err != nil {
		t.Errorf("getting %d bytes: %v", len(plain), err)
	} else if !bytes.Equal(got, plain) {
		t.Errorf("got other bytes than were put")
	}
}

// WantMissing expects that of ids just those wanted are missing.
func WantMissing(t testing.TB, in chunk.Sink, ids []chunk.ID, want ...chunk.ID) {
	t.Helper()
	got, err := in.MissingChunks(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("missing are %v, want %v", got, want)
	}
}

// CountBytes is the size of all files below dir.
func CountBytes(t testing.TB, dir string) int64 {
	t.Helper()
	list, _, err := walk.ListFolder(dir, nil, walk.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, f := range list {
		n += f.Size
	}
	return n
}

// CollectGarbage drops what no root reaches and is older.
func CollectGarbage(t testing.TB, s *pack.Store, olderThan time.Duration, roots ...chunk.ID) pack.Collected {
	t.Helper()
	c, err := s.CollectGarbage(t.Context(), roots, olderThan)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
