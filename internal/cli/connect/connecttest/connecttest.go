// Package connecttest lets tests of commands answer as a broker. It must not know which commands.
package connecttest

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// ListenAsBroker makes a handler the broker that commands use, until the test ends.
func ListenAsBroker(t *testing.T, h http.Handler) {
	t.Helper()
	dir, err := os.MkdirTemp("", "godwit-test-") // the paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	t.Setenv("GODWIT_SOCKET", filepath.Join(dir, "s"))
	t.Setenv("GODWIT_STATE", filepath.Join(dir, "state"))
}
