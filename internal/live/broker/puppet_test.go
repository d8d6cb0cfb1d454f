package broker_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/live/store/storetest"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

// puppet is a cluster whose agents do what the test says. It keeps the promises
// of a driver: one run per attempt however often it is started, nothing after a
// release.
type puppet struct {
	grid *grid
	name string
	kind string // of its driver
	own  bool   // it has a queue of its own
	mem  int64  // of its host

	mu       sync.Mutex
	attempts map[driver.ID]*attempt
	released map[driver.ID]bool
	starts   int // calls of Start
	load     driver.Load
	fail     error // what Start returns
	away     bool  // it is out of reach

	spares atomic.Bool // agents live on when their attempt is released
}

func (p *puppet) startCalls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

func (p *puppet) setFail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fail = err
}

// setUsage sets how many processors the manager says there are, and how many of them others hold.
func (p *puppet) setUsage(procs, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load.Usage = &driver.Usage{Procs: procs, Others: others}
}

func (p *puppet) setAway(away bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

// attempt is an agent in the hands of the test.
type attempt struct {
	wire.Attempt
	grid *grid

	mu     sync.Mutex
	conn   net.Conn
	seq    uint64
	sent   []wire.Message // numbered, not acknowledged
	orders chan wire.Order
	dead   bool
	final  bool // its last word has been acknowledged: it leaves

	stubborn bool // its program does not end when it is told to
	stays    bool // it does not leave after its last word
}

func (p *puppet) StartAttempt(_ context.Context, a *wire.Attempt) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starts++
	id := driver.AttemptID(a)
	if p.fail != nil {
		return p.fail
	}
	if p.released[id] || p.attempts[id] != nil {
		return nil
	}
	at := &attempt{Attempt: *a, grid: p.grid, orders: make(chan wire.Order, 100)}
	p.attempts[id] = at
	p.grid.started <- at
	return nil
}

func (p *puppet) ReleaseAttempt(_ context.Context, id driver.ID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released[id] = true
	if a := p.attempts[id]; a != nil && !p.spares.Load() {
		a.die()
		delete(p.attempts, id)
	}
	return nil
}

func (p *puppet) FindAttempts(context.Context) ([]driver.Found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []driver.Found
	for id := range p.attempts {
		list = append(list, driver.Found{ID: id, Alive: true})
	}
	return list, nil
}

func (p *puppet) MeasureLoad(context.Context) (driver.Load, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away {
		return driver.Load{}, driver.ErrAway
	}
	return p.load, nil
}

func (p *puppet) running() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.attempts)
}

// connect has the agent connect and say again what was not acknowledged.
func (a *attempt) connect() {
	mine, theirs := net.Pipe()
	b := a.grid.broker()
	a.grid.serving.Go(func() {
		_ = b.ServeAgent(context.Background(), &wire.Conn{Conn: theirs, R: bufio.NewReader(theirs)})
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = mine
	a.grid.serving.Go(func() { a.listen(mine) })
	a.write(wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Part: a.Part, Mark: a.Mark})
	for _, m := range a.sent {
		a.write(m)
	}
}

// beConnected has the agent connect if it is not connected: of two connections the broker keeps the one whose hello it
// sees last, whichever was made first, and unlike a real agent this one does not come back by itself.
func (a *attempt) beConnected() {
	a.mu.Lock()
	isConnected := a.conn != nil
	a.mu.Unlock()
	if !isConnected {
		a.connect()
	}
}

func (a *attempt) listen(conn net.Conn) {
	in := bufio.NewReader(conn)
	for {
		var o wire.Order
		if wire.ReadFrame(in, &o) != nil {
			return
		}
		if o.Kind != wire.Ack {
			a.orders <- o
			if o.Kind == wire.Cancel && !a.isStubborn() {
				a.end(143)
			}
			continue
		}
		a.mu.Lock()
		for len(a.sent) > 0 && a.sent[0].Seq <= o.Seq {
			a.final = a.final || slices.Contains([]wire.Kind{wire.Ended, wire.Left, wire.Lost}, a.sent[0].Kind)
			a.sent = a.sent[1:]
		}
		leaves := a.final && len(a.sent) == 0 && !a.stays
		a.mu.Unlock()
		if leaves {
			a.cut()
		}
	}
}

func (a *attempt) write(m wire.Message) {
	if a.conn != nil {
		_ = wire.WriteFrame(a.conn, &m) // the broker is gone: said again when it is back
	}
}

// say sends a message that matters.
func (a *attempt) say(m wire.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq++
	m.Seq = a.seq
	a.sent = append(a.sent, m)
	a.write(m)
}

// cut ends the connection.
func (a *attempt) cut() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		_ = a.conn.Close()
		a.conn = nil
	}
}

func (a *attempt) isStubborn() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stubborn
}

func (a *attempt) setStubborn() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stubborn = true
}

func (a *attempt) isDead() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dead || a.final && len(a.sent) == 0
}

func (a *attempt) die() {
	a.cut()
	a.mu.Lock()
	a.dead = true
	a.mu.Unlock()
}

func (a *attempt) run() {
	a.beConnected()
	a.say(wire.Message{Kind: wire.Running, Method: "sandbox", Why: "the test says so"})
}

func (a *attempt) end(code int) {
	a.say(wire.Message{Kind: wire.Ended, Code: code, State: &wire.Vitals{CPU: 1, Used: 1, Wall: 1, Chance: -1}})
}

// order waits for an order of a kind.
func (a *attempt) order(t *testing.T, kind wire.Kind) wire.Order {
	t.Helper()
	for {
		select {
		case o := <-a.orders:
			if o.Kind == kind {
				return o
			}
		case <-time.After(3 * time.Minute):
			t.Fatalf("job %d epoch %d gets no order %s", a.Job, a.Epoch, kind)
		}
	}
}

// grid is two clusters of puppets, a store, and a broker that can be killed.
type grid struct {
	t       *testing.T
	a, b    *puppet
	store   store.Store
	state   string       // folder of every broker on it
	depot   *depot.Store // nil: jobs have no work folders
	started chan *attempt
	serving sync.WaitGroup
	procs   int      // of a; 0: 2
	hosts   []string // of a, each with 2 processors; nil: one without a name
	removed bool     // a is not in the settings

	driverOfA driver.Driver // instead of a itself; nil: a

	mu       sync.Mutex
	br       *broker.Broker
	stop     func() error
	endsWith chan error // what the broker ends with

	maxJobs  int // of one user; 0: the usual
	maxTries int // of placing a job; 0: no limit
	keepFree int // processors of a that are left to others
	maxQueue int // processors that jobs may wait for in the queue of a; 0: any number

	maxLog     int64         // of one user; 0: no limit
	untrusted  bool          // a is
	indirect   bool          // a is
	retryPause time.Duration // after the first attempt that is lost quickly
	claimGrace time.Duration // 0: the usual
	growGrace  time.Duration // 0: the usual
	scanEvery  time.Duration // 0: a second
	sample     time.Duration // 0: 20 ms
}

func newGrid(t *testing.T) *grid { return newGridWith(t, nil) }

// newDepotGrid is a grid with a depot of its own.
func newDepotGrid(t *testing.T) *grid {
	t.Helper()
	d, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return newGridWith(t, d)
}

// submitIn submits a job that has a working directory, with what is in it.
func (g *grid) submitIn(home, work string, spec *jobfile.Job) []core.JobID {
	g.t.Helper()
	spec.Workdir = home
	ids, err := g.broker().SubmitJob(g.t.Context(), spec, work)
	if err != nil {
		g.t.Fatal(err)
	}
	return ids
}

func newGridWith(t *testing.T, d *depot.Store) *grid {
	g := &grid{t: t, state: t.TempDir(), store: memory.New(), depot: d, started: make(chan *attempt, 1000)}
	g.a, g.b = g.puppet("a"), g.puppet("b")
	t.Cleanup(func() {
		g.kill()
		g.a.closeAll()
		g.b.closeAll()
		g.serving.Wait()
		storetest.CheckJobReplay(t, g.store)
	})
	g.up()
	return g
}

func (g *grid) puppet(name string) *puppet {
	return &puppet{grid: g, name: name, kind: "puppet", attempts: map[driver.ID]*attempt{}, released: map[driver.ID]bool{},
		load: driver.Load{Share: 1, Sd: 0.01}}
}

func (p *puppet) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.attempts {
		a.die()
	}
}

func (g *grid) options() broker.Options {
	cfg := engine.DefaultConfig()
	cfg.ScanEvery, cfg.RetryPause = cmp.Or(g.scanEvery, time.Second), g.retryPause
	if g.claimGrace > 0 {
		cfg.ClaimGrace = g.claimGrace
	}
	if g.growGrace > 0 {
		cfg.GrowGrace = g.growGrace
	}
	o := broker.Options{State: g.state, MaxJobs: g.maxJobs, MaxTries: g.maxTries, MaxLog: g.maxLog, Socket: "none", User: "u", Store: g.store,
		Depot: g.depot, Engine: cfg, Sample: cmp.Or(g.sample, 20*time.Millisecond),
		Clusters: []broker.Cluster{
			{Name: "a", Kind: g.a.kind, Managed: g.a.own, Driver: g.a,
				Hosts: []world.HostSpec{{Procs: 2, Speed: 1, Memory: g.a.mem}}},
			{Name: "b", Kind: g.b.kind, Driver: g.b, Hosts: []world.HostSpec{{Procs: 2, Speed: 1}}}}}
	if g.driverOfA != nil {
		o.Clusters[0].Driver = g.driverOfA
	}
	if g.procs > 0 {
		o.Clusters[0].Hosts[0].Procs = g.procs
	}
	if len(g.hosts) > 0 {
		o.Clusters[0].HostNames, o.Clusters[0].Hosts = g.hosts, nil
		for range g.hosts {
			o.Clusters[0].Hosts = append(o.Clusters[0].Hosts, world.HostSpec{Procs: 2, Speed: 1})
		}
	}
	o.Clusters[0].KeepFree, o.Clusters[0].Queue = g.keepFree, g.maxQueue
	o.Clusters[0].Removed, o.Clusters[0].Untrusted, o.Clusters[0].Indirect = g.removed, g.untrusted, g.indirect
	return o
}

// up starts a broker on the store.
func (g *grid) up() {
	g.t.Helper()
	if err := g.tryUp(); err != nil {
		g.t.Fatal(err)
	}
}

func (g *grid) tryUp() error {
	b, err := broker.Open(context.Background(), g.options())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- b.Run(ctx) }()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.br = b
	g.stop = func() error { cancel(); return <-done }
	g.endsWith = done
	return nil
}

func (g *grid) broker() *broker.Broker {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.br
}

// kill ends the broker: what it has not stored is gone.
func (g *grid) kill() {
	g.mu.Lock()
	stop := g.stop
	g.stop = nil
	g.mu.Unlock()
	if stop == nil {
		return
	}
	if err := stop(); err != nil {
		g.t.Errorf("the broker ended with %v", err)
	}
}

func (g *grid) submit(spec jobfile.Job) core.JobID {
	g.t.Helper()
	ids, err := g.broker().SubmitJob(g.t.Context(), complete(spec), "")
	if err != nil || len(ids) != 1 {
		g.t.Fatalf("submitted %v, %v", ids, err)
	}
	return ids[0]
}

func complete(spec jobfile.Job) *jobfile.Job {
	if len(spec.Argv) == 0 {
		spec.Argv = []string{"prog", "1"}
	}
	spec.Min, spec.Max = max(1, spec.Min), max(1, spec.Max)
	return &spec
}

// next is the attempt that was started next.
func (g *grid) next() *attempt {
	g.t.Helper()
	select {
	case a := <-g.started:
		return a
	case <-time.After(3 * time.Minute):
		g.t.Fatal("nothing is started")
		return nil
	}
}

// until waits until a job is in a state.
func (g *grid) until(id core.JobID, want core.State) *broker.View {
	g.t.Helper()
	var v *broker.View
	waitUntil(g.t, func() bool { v = g.view(id); return v.State == want },
		func() string { return fmt.Sprintf("job %d is %s (%s), want %s", id, v.State, v.Reason, want) })
	return v
}

// waitUntil waits until something holds of which nobody is told. Only a broker that hangs
// reaches the limit, however busy the machine is.
func waitUntil(t *testing.T, holds func() bool, complaint func() string) {
	t.Helper()
	if !(clocktest.PollLoop{Pause: 2 * time.Millisecond}).Until(holds) {
		t.Fatal(complaint())
	}
}
