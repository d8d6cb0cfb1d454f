// Package daemon is one broker put together and listening: settings, store,
// depot, drivers, the loop and the server around it. It is wiring; what is
// decided is decided elsewhere.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/api"
	"github.com/godwit-hpc/godwit/internal/api/server"
	"github.com/godwit-hpc/godwit/internal/broker"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/config"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/engine"
	"github.com/godwit-hpc/godwit/internal/joblog"
	"github.com/godwit-hpc/godwit/internal/policy/malleable"
	"github.com/godwit-hpc/godwit/internal/store"
	"github.com/godwit-hpc/godwit/internal/store/sqlite"
)

// Options say which broker.
type Options struct {
	State    string // its folder
	Config   string // file with its settings; "": where settings are looked for
	Embedded bool   // started for a command, ends when idle
	Version  string
	Agent    []string // command of an agent; nil: this program
	Log      *slog.Logger
	Ready    func(socket string, cfg *config.Config) // told once it listens
}

// idleAfter is how long an embedded broker stays with nothing to do.
const idleAfter = 10 * time.Minute

// ErrRunning says that another broker has the state folder.
var ErrRunning = errors.New("another broker runs for this state folder")

// Run is a broker from its start to its end: when ctx is cancelled, a client asks
// for it, or, embedded, when it has nothing to do. Jobs run on.
func Run(ctx context.Context, o Options) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := os.MkdirAll(o.State, 0o700); err != nil {
		return err
	}
	cpus, err := local.UsableCPUs()
	if err != nil {
		return err
	}
	cfg, err := config.Load(o.Config, os.Getenv, cpus)
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, filepath.Join(o.State, "godwit.db"))
	if errors.Is(err, store.ErrLocked) {
		return ErrRunning
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	chunks, err := depot.Open(filepath.Join(o.State, "depot"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	socket, listener, err := listen(o.State)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()

	door, agents, err := openDoor(socket)
	if err != nil {
		return err
	}
	defer func() { _ = agents.Close() }()

	g := &grid{Options: o, cfg: cfg, socket: socket, door: door, files: filesHere(o.State, chunks)}
	defer func() { err = errors.Join(err, g.close()) }()
	clusters, err := g.clusters(ctx)
	if err != nil {
		return err
	}
	b, err := broker.Open(ctx, broker.Options{State: o.State, Socket: socket, User: userName(), Store: st, Depot: chunks,
		Clusters: clusters, Engine: engineConfig(cfg), Sample: cfg.Sample, Rule: cfg.Policy.Predict, Logs: joblog.Limits{Keep: cfg.Keep.Logs}, KeepJobs: cfg.Keep.Jobs, Log: o.Log})
	if err != nil {
		return err
	}
	return serve(ctx, stop, o, cfg, b, chunks, socket, listener, agents)
}

// serve runs the loop and answers until one of them ends.
func serve(ctx context.Context, stop func(), o Options, cfg *config.Config, b *broker.Broker, chunks *depot.Store, socket string, l, agents net.Listener) error {
	watch := &activity{clock: clock.Real()}
	watch.last.Store(watch.clock().UnixNano())
	h := server.Handler(server.Options{Broker: b, Depot: chunks, Version: o.Version, PID: os.Getpid(), State: o.State,
		Embedded: o.Embedded, Shutdown: stop})
	srv := &http.Server{Handler: watch.around(h), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	close := serveAgents(ctx, h, agents)
	defer close()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(server.SameUser(l, uint32(os.Getuid()))) }()
	if o.Ready != nil {
		o.Ready(socket, cfg)
	}
	if o.Embedded {
		go watch.leaveWhenIdle(ctx, b, stop)
	}
	err := b.Run(ctx)
	stop()
	_ = srv.Close() // whoever is still connected asks again
	if e := <-served; e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// listen makes the socket. The store is ours by now, so a socket that is there
// is left from a broker that was killed.
func listen(state string) (string, net.Listener, error) {
	path, err := api.PrepareSocket(state)
	if err != nil {
		return "", nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return "", nil, err
	}
	return path, l, os.Chmod(path, 0o600)
}

func engineConfig(cfg *config.Config) engine.Config {
	e := engine.DefaultConfig()
	if cfg.Policy.Approach == engine.PRA.String() {
		e.Approach = engine.PRA
	}
	if cfg.Policy.Malleable != "" {
		e.Malleable = malleable.ByName(cfg.Policy.Malleable) // none: sizes never change
	}
	return e
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// activity is when somebody last asked for something.
type activity struct {
	clock clock.Clock
	last  atomic.Int64
	open  atomic.Int64
}

func (a *activity) around(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.open.Add(1)
		defer func() {
			a.last.Store(a.clock().UnixNano())
			a.open.Add(-1)
		}()
		h.ServeHTTP(w, r)
	})
}

// leaveWhenIdle ends a broker that nobody has asked for anything for a while and
// that has no job.
func (a *activity) leaveWhenIdle(ctx context.Context, b *broker.Broker, stop func()) {
	for range time.Tick(idleAfter / 10) {
		if ctx.Err() != nil {
			return
		}
		n, err := b.Live(ctx)
		if err == nil && n == 0 && a.open.Load() == 0 && a.clock.Since(time.Unix(0, a.last.Load())) > idleAfter {
			stop()
			return
		}
	}
}

func complain(name string, err error) error { return fmt.Errorf("cluster %s: %w", name, err) }
