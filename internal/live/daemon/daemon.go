// Package daemon is one broker put together and listening: settings, store,
// depot, drivers, the loop and the server around it. It is wiring; what is
// decided is decided elsewhere.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver/local"
	"github.com/godwit-hpc/godwit/internal/host/account"
	"github.com/godwit-hpc/godwit/internal/host/proctree"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/config"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/joblog"
	"github.com/godwit-hpc/godwit/internal/live/server"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/sqlite"
	"github.com/godwit-hpc/godwit/internal/live/workflow"
	"github.com/godwit-hpc/godwit/internal/live/workpool"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/malleable"
)

// Options say which broker.
type Options struct {
	State    string // its folder
	Config   string // file with its settings; "": where settings are looked for
	Embedded bool   // started for a command, ends when idle
	// the process is a broker and nothing else: SIGHUP has it read its settings again
	HangUp bool
	// socket at which all users of this machine are answered, each as themselves; "": only our own user is
	Shared   string
	Accounts func(uid uint32) (*account.User, error) // of those users; nil: as the system says
	Version  string
	Agent    []string // command of an agent; nil: this program
	Log      *slog.Logger
	Ready    func(socket string, cfg *config.Config) // told once it listens
}

// idleTimeout is how long an embedded broker stays with nothing to do.
const idleTimeout = 10 * time.Minute

// goneTimeout is how long the store of a broker that does not answer is waited for:
// one that was killed holds it until the system has cleared the process away, and a
// child that it was just starting no longer.
const goneTimeout = time.Minute

// ErrRunning says that another broker has the state folder.
var ErrRunning = errors.New("another broker runs for this state folder")

// Run is a broker from its start to its end: when ctx is cancelled, a client asks
// for it, or, embedded, when it has nothing to do. Jobs run on.
func Run(ctx context.Context, o Options) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := errors.Join(proctree.CloseInheritedOnExec(), os.MkdirAll(o.State, 0o700)); err != nil {
		return err
	}
	cpus, err := local.UsableCPUs()
	if err != nil {
		return err
	}
	cfg, sum, err := loadSettings(o.Config, cpus)
	if err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		// A quarter is left for what the garbage collector does not count or is late to find.
		debug.SetMemoryLimit(cfg.Limits.Memory / 4 * 3)
	}
	st, err := openStore(ctx, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	chunks, err := depot.Open(filepath.Join(o.State, "depot"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chunks.Close()) }()
	chunks.SetLimit(cfg.Limits.Depot)
	p, err := listenSockets(&o, st)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.closeSockets()) }()
	if p.users != nil {
		p.users.depotLimit = cfg.Limits.Depot
	}
	g := &grid{Options: o, cfg: cfg, socket: p.socket, door: p.door, files: localFiles(o.State, chunks), users: p.users}
	defer func() { err = errors.Join(err, g.closeAll()) }()
	r := &reloader{g: g, cpus: cpus}
	r.current.Store(&settings{cfg, sum})
	if err := g.prepareClusters(ctx, cfg); err != nil {
		return err
	}
	clusters := r.atStart(ctx)
	options := broker.Options{State: o.State, Socket: p.socket, User: userName(), Store: st, Depot: chunks,
		Clusters: clusters, Place: cfg.Policy.Place, Engine: engineConfig(cfg), Sample: cfg.Sample, Grace: cfg.Grace,
		Rule: cfg.Policy.Predict, Logs: joblog.Limits{Keep: cfg.Keep.Logs}, KeepJobs: cfg.Keep.Jobs, MaxJobs: cfg.Limits.Jobs,
		MaxTries: cfg.Policy.Tries,
		MaxLog:   cfg.Limits.Log, Weather: cfg.Weather, Log: o.Log}
	if p.users != nil {
		options.Users = p.users
	}
	options.Stale = r.isStale
	b, err := broker.Open(ctx, options)
	if err != nil {
		return err
	}
	r.b = b
	return serveBroker(ctx, stop, o, r, b, st, p)
}

// openStore opens the store of the state folder, once a broker that was killed has
// let go of it.
func openStore(ctx context.Context, o *Options) (*sqlite.Store, error) {
	socket := o.Shared
	if socket == "" {
		socket = api.SocketPath(o.State)
	}
	other := api.DialBroker(socket)
	defer other.Close()
	wait, stop := context.WithTimeout(ctx, goneTimeout)
	defer stop()
	var tell sync.Once
	for {
		st, err := sqlite.Open(ctx, filepath.Join(o.State, "godwit.db"))
		if !errors.Is(err, store.ErrLocked) {
			return st, err
		}
		var refusal *api.Refusal
		if _, err := other.PingBroker(wait); err == nil || errors.As(err, &refusal) {
			return nil, ErrRunning
		}
		tell.Do(func() {
			o.Log.Info("the store is in use, and nobody answers: waiting for a broker that was killed to be gone")
		})
		if !clock.SleepContext(wait, 20*time.Millisecond) {
			return nil, cmp.Or(ctx.Err(), ErrRunning)
		}
	}
}

// serveBroker runs the loop and answers until one of them ends.
func serveBroker(ctx context.Context, stop func(), o Options, r *reloader, b *broker.Broker, st store.Store,
	p *brokerSockets) error {
	cfg := r.current.Load().cfg
	watch := &activity{clock: clock.RealClock()}
	watch.last.Store(watch.clock().UnixNano())
	flows := workflow.New(workflow.Options{Store: st, Broker: b, Log: o.Log, MaxFlows: cfg.Limits.Workflows,
		MaxTasks: cfg.Limits.Tasks,
		Port:     func(owner broker.User, work string) flowrun.Broker { return server.FlowPort(b, owner, work) }})
	pools := workpool.New(workpool.Options{Store: st, Broker: b, State: o.State, Log: o.Log, MaxPools: cfg.Limits.Pools,
		MaxItems: cfg.Limits.Items, MaxOutput: cfg.Limits.Log, Keep: cfg.Keep.Jobs})
	about := server.Options{Broker: b, Flows: flows, Pools: pools, Version: o.Version, PID: os.Getpid(), State: o.State,
		Embedded: o.Embedded,
		Limit:    api.Limit{Bytes: cfg.Limits.Work, Files: cfg.Limits.Files}, Shutdown: stop,
		Reload: r.reloadSettings, Stale: r.isStale}
	if p.users != nil {
		about.Users = p.users.brokerUser
	}
	h := server.NewHandler(about)
	srv := &http.Server{Handler: watch.countRequests(h), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: server.IdleTimeout, BaseContext: func(net.Listener) context.Context { return ctx }}
	l := p.listener
	if p.users == nil {
		l = server.SameUser(l, uint32(os.Getuid()))
	} else {
		l = server.PerUser(l)
		srv.ConnContext = server.IdentifyConn
		p.users.serve = func(u broker.User, l net.Listener) func() { return serveAgents(server.ForUser(ctx, u), h, l) }
	}
	close := serveAgents(server.ForUser(ctx, broker.User{Name: userName()}), h, p.agents)
	defer close()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	if o.HangUp {
		r.catchHangUp(ctx)
	}
	if o.Ready != nil {
		o.Ready(p.socket, r.sizedSettings())
	}
	go r.forgetClusters(ctx)
	if o.Embedded {
		go watch.leaveWhenIdle(ctx, b, func() int { return flows.CountOpen() + pools.CountOpen() }, stop)
	}
	var carried sync.WaitGroup
	carried.Go(func() {
		if err := flows.Run(ctx); err != nil { // jobs are run all the same
			o.Log.Error("workflows are not carried out", "error", err)
		}
	})
	carried.Go(func() {
		if err := pools.Run(ctx); err != nil {
			o.Log.Error("pools are not carried out", "error", err)
		}
	})
	err := b.Run(ctx)
	stop()
	carried.Wait()  // the store is closed next
	_ = srv.Close() // whoever is still connected asks again
	if e := <-served; e != nil && !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func engineConfig(cfg *config.Config) engine.Config {
	e := engine.DefaultConfig()
	if cfg.Policy.Approach == engine.PRA.String() {
		e.Approach = engine.PRA
	}
	if cfg.Policy.Malleable != "" {
		e.Malleable = malleable.ByName(cfg.Policy.Malleable) // none: sizes never change
	}
	e.RetryPause = cfg.Retry
	for _, x := range []struct {
		set  *time.Duration
		into *time.Duration
	}{{cfg.Graces.Stop, &e.StopGrace}, {cfg.Graces.Collect, &e.CollectGrace}, {cfg.Graces.Shrink, &e.ShrinkGrace},
		{cfg.Graces.Grow, &e.GrowGrace},
		{cfg.Graces.Claim, &e.ClaimGrace}} {
		if x.set != nil {
			*x.into = *x.set
		}
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

func (a *activity) countRequests(h http.Handler) http.Handler {
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
// that has no job, no workflow and no pool.
func (a *activity) leaveWhenIdle(ctx context.Context, b *broker.Broker, countOpen func() int, stop func()) {
	for range time.Tick(idleTimeout / 10) {
		if ctx.Err() != nil {
			return
		}
		n, err := b.CountLive(ctx)
		if err == nil && n == 0 && countOpen() == 0 && a.open.Load() == 0 &&
			a.clock.Since(time.Unix(0, a.last.Load())) > idleTimeout {
			stop()
			return
		}
	}
}

func clusterError(name string, err error) error { return fmt.Errorf("cluster %s: %w", name, err) }
