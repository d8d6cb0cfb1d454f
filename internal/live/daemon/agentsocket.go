package daemon

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/server"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// openAgentSocket makes a socket beside the broker's own for what comes from other
// machines: whoever rules over one of those must not rule over this one.
// The word tells doors apart.
func openAgentSocket(socket, word string) (string, net.Listener, error) {
	path := filepath.Join(filepath.Dir(socket), strings.Replace(filepath.Base(socket), "broker", "agents"+word, 1))
	if path == socket { // it has no name of its own
		path = strings.TrimSuffix(socket, ".sock") + "a" + word + ".sock"
	}
	l, err := listenAt(path, 0o600)
	return path, l, err
}

// serveAgents answers agents, and nobody else, until the function that it
// returns is called.
func serveAgents(ctx context.Context, h http.Handler, l net.Listener) func() {
	srv := &http.Server{Handler: agentsOnly(h), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: server.FromCluster}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(server.SameUser(l, uint32(os.Getuid()))) // until it is closed
	}()
	return func() {
		_ = srv.Close()
		<-done
	}
}

// agentsOnly lets through what agents ask for.
func agentsOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == wire.Path || r.URL.Path == poolwork.Path || strings.HasPrefix(r.URL.Path, wire.Depot) {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "only agents are answered here", http.StatusForbidden)
	})
}
