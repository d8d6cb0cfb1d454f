package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/live/workflow"
	"github.com/godwit-hpc/godwit/internal/live/workpool"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
	"github.com/godwit-hpc/godwit/internal/sched/world"
)

var root, alice, bob = broker.User{ID: 0, Name: "root"}, broker.User{ID: 20001, Name: "alice"},
	broker.User{ID: 20002, Name: "bob"}

func lookUp(uid uint32) (broker.User, error) {
	for _, u := range []broker.User{root, alice, bob} {
		if u.ID == uid {
			return u, nil
		}
	}
	return broker.User{}, fmt.Errorf("user %d has no account", uid)
}

// secret is in everything of alice's that nobody else is to see.
const secret = "alices-secret"

// idle is a cluster where attempts are started and nothing more.
type idle struct {
	mu      sync.Mutex
	started map[core.JobID]wire.Attempt
}

func (d *idle) StartAttempt(_ context.Context, a *wire.Attempt) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.started[a.Job] = *a
	return nil
}
func (d *idle) ReleaseAttempt(context.Context, driver.ID) error      { return nil }
func (d *idle) FindAttempts(context.Context) ([]driver.Found, error) { return nil, nil }
func (d *idle) MeasureLoad(context.Context) (driver.Load, error)     { return driver.Load{Share: 1}, nil }
func (d *idle) attempt(id core.JobID) (a wire.Attempt, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a, ok = d.started[id]
	return a, ok
}

// depots are those of users.
type depots struct {
	t   *testing.T
	dir string
	mu  sync.Mutex
	of  map[uint32]*depot.Store
}

func (d *depots) UserDepot(user uint32) (*depot.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of[user] == nil {
		s, err := depot.Open(filepath.Join(d.dir, fmt.Sprint(user)))
		if err != nil {
			return nil, err
		}
		d.t.Cleanup(func() { _ = s.Close() })
		d.of[user] = s
	}
	return d.of[user], nil
}
func (d *depots) UsersWithDepot() ([]uint32, error)        { return nil, nil }
func (d *depots) FilesOf(uint32) (broker.UserFiles, error) { return nil, errors.ErrUnsupported }

// bench is a broker of several users, and a server for each of them.
type bench struct {
	*testing.T
	broker  *broker.Broker
	cluster *idle
	handler http.Handler
	routes  map[string]http.HandlerFunc
	clients map[uint32]*api.Client
	at      map[uint32]string // address
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, cluster: &idle{started: map[core.JobID]wire.Attempt{}}, clients: map[uint32]*api.Client{},
		at: map[uint32]string{}}
	own, err := depot.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	st := memory.New()
	b.broker, err = broker.Open(t.Context(),
		broker.Options{State: t.TempDir(), User: root.Name, Store: st, Depot: own, Engine: engine.DefaultConfig(),
			Users: &depots{t: t, dir: t.TempDir(), of: map[uint32]*depot.Store{}},
			Clusters: []broker.Cluster{{Name: "a", Kind: "idle", Driver: b.cluster,
				Hosts: []world.HostSpec{{Procs: 100, Speed: 1}}}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.broker.Run(ctx) }()
	flows := workflow.New(workflow.Options{Store: st, Broker: b.broker, MaxFlows: 2, MaxTasks: 5,
		Port: func(owner broker.User, work string) flowrun.Broker { return FlowPort(b.broker, owner, work) }})
	carried := make(chan error, 2)
	pools := workpool.New(workpool.Options{Store: st, Broker: b.broker, State: t.TempDir(), MaxPools: 2, MaxItems: 5})
	go func() { carried <- pools.Run(ctx) }()
	go func() { carried <- flows.Run(ctx) }()
	o := Options{Broker: b.broker, Flows: flows, Pools: pools, Users: lookUp, Version: "test",
		Shutdown: func() { t.Error("the broker is to end") }}
	b.handler, b.routes = NewHandler(o), (&server{o}).routeTable()
	for _, u := range []broker.User{root, alice, bob} {
		s := httptest.NewUnstartedServer(b.handler)
		s.Config.BaseContext = func(net.Listener) context.Context { return ForUser(ctx, u) }
		s.Start()
		t.Cleanup(s.Close)
		address := s.Listener.Addr().String()
		b.at[u.ID] = address
		b.clients[u.ID] = &api.Client{HTTP: &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _,
			_ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}}}}
		t.Cleanup(b.clients[u.ID].Close)
	}
	t.Cleanup(func() { // before the servers: it ends what they answer
		cancel()
		if err := errors.Join(<-ended, <-carried, <-carried); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) submit(u broker.User, argv ...string) core.JobID {
	b.Helper()
	got, err := b.clients[u.ID].SubmitJob(b.Context(),
		&api.Submit{Job: jobfile.Job{Name: argv[0], Argv: argv, Min: 1, Max: 1}})
	if err != nil {
		b.Fatal(err)
	}
	return got.IDs[0]
}

// ask sends a request as somebody and returns the whole answer.
func (b *bench) ask(u broker.User, method, path, body string) (int, string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 3*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, api.Base+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := b.clients[u.ID].HTTP.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(text)
}

// What each request is about. One that is about a job is answered to others as if
// that job did not exist; one that is about the broker only to root; of one that is
// about all, or about one's own, nothing of others is in the answer.
const (
	aboutAJob = "a job"
	aboutOwn  = "one's own"
	aboutAll  = "all"
	aboutIt   = "the broker"
)

var about = map[string]string{
	"GET /v1/ping":                  aboutAll,
	"POST /v1/jobs":                 aboutOwn,
	"GET /v1/jobs":                  aboutOwn,
	"POST /v1/jobs/bulk":            aboutOwn,
	"GET /v1/events":                aboutOwn, // see TestTheStreamTellsOfOnesOwnJobs
	"GET /v1/jobs/{id}/timeline":    aboutAJob,
	"GET /v1/openapi.json":          aboutAll,
	"GET /metrics":                  aboutAll,
	"GET /v1/select":                aboutOwn, // see TestNobodySelectsTheJobsOfOthers
	"GET /v1/depot-usage":           aboutOwn,
	"GET /v1/log":                   aboutOwn, // see TestEverybodyExportsTheirOwnJobs
	"POST /v1/depot-prune":          aboutOwn,
	"GET /v1/jobs/{id}":             aboutAJob,
	"POST /v1/jobs/{id}/cancel":     aboutAJob,
	"POST /v1/jobs/{id}/migrate":    aboutAJob,
	"POST /v1/jobs/{id}/resize":     aboutAJob,
	"POST /v1/jobs/{id}/checkpoint": aboutAJob,
	"POST /v1/jobs/{id}/hold":       aboutAJob,
	"POST /v1/jobs/{id}/release":    aboutAJob,
	"POST /v1/jobs/{id}/requeue":    aboutAJob,
	"POST /v1/jobs/{id}/suspend":    aboutAJob,
	"POST /v1/jobs/{id}/resume":     aboutAJob,
	"POST /v1/jobs/{id}/update":     aboutAJob,
	"GET /v1/jobs/{id}/explain":     aboutAJob,
	"GET /v1/jobs/{id}/logs":        aboutAJob,
	"GET /v1/jobs/{id}/watch":       aboutAJob,
	"POST /v1/flows":                aboutOwn, // see TestNobodyTouchesTheWorkflowsOfOthers
	"GET /v1/flows":                 aboutOwn,
	"GET /v1/flows/{id}":            aboutAJob, // or a workflow
	"GET /v1/flows/{id}/tasks":      aboutAJob,
	"POST /v1/flows/{id}/cancel":    aboutAJob,
	"GET /v1/flows/{id}/explain":    aboutAJob,
	"GET /v1/flows/{id}/watch":      aboutAJob,
	"POST /v1/pools":                aboutOwn, // see TestNobodyTouchesThePoolsOfOthers
	"GET /v1/pools":                 aboutOwn,
	"GET /v1/pools/{id}":            aboutAJob, // or a pool
	"GET /v1/pools/{id}/failures":   aboutAJob,
	"POST /v1/pools/{id}/cancel":    aboutAJob,
	"GET /v1/pools/{id}/watch":      aboutAJob,
	"GET /v1/pools/{id}/outcomes":   aboutAJob,
	"POST " + poolwork.Path:         aboutOwn, // see TestAWorkerReportsToPoolsOfThoseWhoLetItIn
	"POST /v1/quote":                aboutAll,
	"POST /v1/estimates":            aboutAll,
	"GET /v1/clusters":              aboutAll,
	"POST /v1/drain":                aboutIt, // see TestOnlyRootDrainsTheClustersOfAll
	"POST /v1/undrain":              aboutIt,
	"GET /v1/history":               aboutAll,
	"GET /v1/history/calibration":   aboutAll,
	"GET /v1/weather":               aboutAll,
	"GET /v1/weather/graph":         aboutAll,
	"GET /v1/hosts":                 aboutAll,
	"POST /v1/shutdown":             aboutIt,
	"POST /v1/reload":               aboutIt,
	"POST " + wire.Path:             aboutOwn, // see TestAnAgentSpeaksForJobsOfThoseWhoLetItIn
	wire.Depot:                      aboutOwn, // see TestADepotIsOfOneUserAlone
	"/":                             aboutAll,
}

func TestNoRequestShowsOrTouchesWhatIsSomebodyElses(t *testing.T) {
	b := newBench(t)
	id := b.submit(alice, secret, secret)
	if flow := b.submitFlow(alice, secret); flow != int64(id) {
		t.Fatalf("the numbers of the job and of the workflow are %d and %d: the requests below are about both", id, flow)
	}
	if pool := b.submitPool(alice, "pool", secret); pool != int64(id) {
		t.Fatalf("the numbers of the job and of the pool are %d and %d: the requests below are about both", id, pool)
	}
	queries := []string{"", "?all=1", "?stream=1&offset=0", "?program=" + secret}
	for pattern := range b.routes {
		what, known := about[pattern]
		if !known {
			t.Errorf("nobody has said what %q is about: say it here, and see to it that it holds", pattern)
			continue
		}
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method, path = http.MethodPost, pattern
		}
		for _, q := range queries {
			if pattern == "GET /v1/events" {
				continue // its answer does not end
			}
			place := func(id core.JobID) string { return strings.ReplaceAll(path, "{id}", fmt.Sprint(id)) + q }
			status, text := b.ask(bob, method, place(id), "")
			if strings.Contains(text, secret) {
				t.Errorf("%s%s tells bob %s", pattern, q, text)
			}
			const none = 999999
			switch _, nothing := b.ask(bob, method, place(none), ""); {
			case what == aboutAJob && (status < 400 ||
				strings.ReplaceAll(text, fmt.Sprint(none), fmt.Sprint(id)) != strings.ReplaceAll(nothing, fmt.Sprint(none),
					fmt.Sprint(id))):
				t.Errorf("%s%s: bob is told %d %s, and of a job that is not there %s", pattern, q, status, text, nothing)
			case what == aboutIt && status < 400:
				t.Errorf("%s: bob may: %s", pattern, text)
			}
		}
		// Whoever is not known is told nothing.
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, httptest.NewRequest(method, strings.ReplaceAll(path, "{id}", fmt.Sprint(id)), nil))
		if w.Code < 400 || strings.Contains(w.Body.String(), secret) {
			t.Errorf("%s: a stranger is told %d %s", pattern, w.Code, w.Body)
		}
	}
	for pattern := range about {
		if b.routes[pattern] == nil {
			t.Errorf("there is no request %q any more", pattern)
		}
	}
	if j, err := b.clients[alice.ID].GetJob(t.Context(), fmt.Sprint(id)); err != nil || j.IsOver() ||
		j.User != alice.Name {
		t.Errorf("alice's job is %+v, %v", j, err)
	}
}

func TestNobodySelectsTheJobsOfOthers(t *testing.T) {
	b := newBench(t)
	hers := b.submit(alice, secret)
	for _, ref := range []string{fmt.Sprint(hers), "1-99", secret, "last", fmt.Sprintf("%d_*", hers)} {
		if jobs, err := b.clients[bob.ID].SelectJobs(t.Context(), []string{ref}, false); err == nil {
			t.Errorf("%s is %v to bob", ref, jobs)
		}
	}
	if jobs, err := b.clients[bob.ID].SelectJobs(t.Context(), []string{"all"}, false); err != nil || len(jobs) > 0 {
		t.Errorf("all jobs of bob are %v, %v", jobs, err)
	}
	if jobs, err := b.clients[alice.ID].SelectJobs(t.Context(), []string{secret}, false); err != nil || len(jobs) != 1 ||
		jobs[0].ID != hers {
		t.Errorf("alice's are %v, %v", jobs, err)
	}
}

func TestOneSeesOnesOwnJobsAndRootAll(t *testing.T) {
	b := newBench(t)
	hers, his := b.submit(alice, "hers"), b.submit(bob, "his")
	for _, c := range []struct {
		who  broker.User
		all  bool
		want []core.JobID
	}{{alice, false, []core.JobID{hers}}, {bob, false, []core.JobID{his}}, {root, false, nil},
		{root, true, []core.JobID{his, hers}}} {
		list := b.clients[c.who.ID].ListJobs
		if c.all {
			list = b.clients[c.who.ID].JobsOfAll
		}
		jobs, err := list(t.Context(), true)
		var got []core.JobID
		for i := range jobs {
			got = append(got, jobs[i].ID)
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s sees %v, %v; want %v", c.who.Name, got, err, c.want)
		}
	}
	if jobs, err := b.clients[bob.ID].JobsOfAll(t.Context(), true); err == nil {
		t.Errorf("bob sees %v", jobs)
	}
	// A unique id, or the beginning of one, is that of one's own jobs.
	j, err := b.clients[alice.ID].GetJob(t.Context(), fmt.Sprint(hers))
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= len(j.UID); n++ {
		if got, err := b.clients[bob.ID].GetJob(t.Context(), j.UID[:n]); err == nil && got.ID != his {
			t.Errorf("%s is %+v to bob", j.UID[:n], got)
		}
	}
	if got, err := b.clients[root.ID].CancelJob(t.Context(), fmt.Sprint(hers)); err != nil || got.State != core.Cancelled {
		t.Errorf("root cancels: %+v, %v", got, err)
	}
	// Waiting for a job of somebody else is waiting for none; root's jobs inherit nobody's files either.
	for _, u := range []broker.User{alice, root} {
		_, err := b.clients[u.ID].SubmitJob(t.Context(),
			&api.Submit{Job: jobfile.Job{Name: "x", Argv: []string{"x"}, Min: 1, Max: 1,
				After: []jobfile.Dependency{{Job: fmt.Sprint(his)}}}})
		if err == nil {
			t.Errorf("%s's job waits for bob's", u.Name)
		}
	}
}

func TestOnlyRootDrainsTheClustersOfAll(t *testing.T) {
	b := newBench(t)
	asked := &api.Drains{Names: []string{"a"}, Reason: "new disks"}
	for _, change := range []func(*api.Client) ([]api.Drained, error){
		func(c *api.Client) ([]api.Drained, error) { return c.DrainClusters(t.Context(), asked) },
		func(c *api.Client) ([]api.Drained, error) { return c.UndrainClusters(t.Context(), asked) }} {
		if list, err := change(b.clients[bob.ID]); err == nil || !strings.Contains(err.Error(), "only root may") {
			t.Errorf("bob may: %+v, %v", list, err)
		}
		if list, err := change(b.clients[root.ID]); err != nil || len(list) != 1 || !list[0].Changed {
			t.Errorf("root may not: %+v, %v", list, err)
		}
	}
	if _, err := b.clients[root.ID].DrainClusters(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	id := b.submit(alice, "x")
	j, err := b.clients[alice.ID].GetJob(t.Context(), fmt.Sprint(id))
	if err != nil || !strings.Contains(j.Why, "cluster a has been drained by root since") ||
		!strings.HasSuffix(j.Why, "UTC: new disks") {
		t.Errorf("alice's job waits because %q, %v", j.Why, err)
	}
	list, err := b.clients[bob.ID].ListClusters(t.Context())
	if err != nil || len(list) != 1 || list[0].State != "drained" || list[0].Drain == nil ||
		list[0].Drain.By != "root" || list[0].Drain.Reason != "new disks" || list[0].Drain.Since == nil {
		t.Errorf("bob sees %+v, %v", list, err)
	}
}

func TestADepotIsOfOneUserAlone(t *testing.T) {
	b := newBench(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), bytes.Repeat([]byte(secret), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	of := func(u broker.User) *depot.Client { return depot.NewClient(b.clients[u.ID].HTTP, api.Base+wire.Depot) }
	id, _, _, err := depot.PushFolder(t.Context(), dir, of(alice), depot.PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := depot.FetchTree(t.Context(), of(alice), id, t.TempDir()); err != nil {
		t.Errorf("alice does not get back what she sent: %v", err)
	}
	for _, u := range []broker.User{bob, root} {
		if _, err := depot.FetchTree(t.Context(), of(u), id, t.TempDir()); err == nil {
			t.Errorf("%s gets what alice sent", u.Name)
		}
		// Nor does one learn that it is there.
		if gone, err := of(u).MissingChunks(t.Context(), []depot.ID{id}); err != nil || len(gone) != 1 {
			t.Errorf("%s lacks %v, %v", u.Name, gone, err)
		}
		if _, err := b.clients[u.ID].SubmitJob(t.Context(),
			&api.Submit{Job: jobfile.Job{Name: "x", Argv: []string{"x"}, Min: 1, Max: 1, Workdir: dir},
				Work: string(id)}); err == nil {
			t.Errorf("%s runs in alice's work folder", u.Name)
		}
	}
}

// hello says who somebody wants to be taken for, and returns what is answered.
func (b *bench) hello(u broker.User, a *wire.Attempt) wire.Kind {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 3*time.Minute)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", b.at[u.ID])
	if err != nil {
		b.Fatal(err)
	}
	conn, err := wire.UpgradeConn(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := wire.WriteFrame(conn,
		&wire.Message{Kind: wire.Hello, Job: a.Job, Epoch: a.Epoch, Mark: a.Mark}); err != nil {
		b.Fatal(err)
	}
	var o wire.Order
	if err := wire.ReadFrame(conn.R, &o); err != nil {
		b.Fatal(err)
	}
	return o.Kind
}

// started waits for the attempt of a job.
func (b *bench) started(id core.JobID) (a wire.Attempt) {
	b.Helper()
	clocktest.WaitFor(b, fmt.Sprintf("the start of job %d", id), func() (ok bool) {
		a, ok = b.cluster.attempt(id)
		return ok
	})
	return a
}

func TestAnAgentSpeaksForJobsOfThoseWhoLetItIn(t *testing.T) {
	b := newBench(t)
	id := b.submit(alice, "prog")
	a := b.started(id)
	for _, c := range []struct {
		who  broker.User
		want wire.Kind
	}{{bob, wire.Kill}, {root, wire.Kill}, {alice, wire.Ack}} {
		if got := b.hello(c.who, &a); got != c.want {
			t.Errorf("an agent that %s let in, and that knows all of alice's attempt, is told %s, want %s", c.who.Name, got,
				c.want)
		}
	}
}

// connect connects to a socket as another user: the system notes the user of the
// thread that does.
func connect(t *testing.T, socket string, uid int) net.Conn {
	t.Helper()
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine if anything fails
	keep := ^uintptr(0)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep); e != 0 {
		t.Fatal(e)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: socket})
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, keep, 0, keep); e != 0 {
		t.Fatal(e)
	}
	runtime.UnlockOSThread()
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "socket")
	conn, err := net.FileConn(file)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestWhoAsksIsWhoTheSystemSays(t *testing.T) {
	b := newBench(t)
	dir, err := os.MkdirTemp("", "gw-who-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err = errors.Join(err, os.Chmod(dir, 0o755), os.Chmod(socket, 0o666)); err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: b.handler, ReadHeaderTimeout: time.Minute, ConnContext: IdentifyConn}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	id := b.submit(alice, secret)
	for uid, want := range map[int]bool{0: true, 20001: true, 20002: false, 20003: false} {
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				return connect(t, socket, uid), nil
			}}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://broker/v1/jobs/%d", id), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"X-User", "X-Remote-User", "Authorization", "From"} { // what is said counts for nothing
			req.Header.Set(name, "alice")
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var j api.Job
		err = json.NewDecoder(resp.Body).Decode(&j)
		_ = resp.Body.Close()
		if got := resp.StatusCode == http.StatusOK && j.Name == secret; got != want || err != nil {
			t.Errorf("user %d sees alice's job: %v (%s), want %v", uid, got, resp.Status, want)
		}
	}
}

// Decisions rest on the jobs of everybody: of these a user is told nothing.
func TestEverybodyExportsTheirOwnJobs(t *testing.T) {
	b := newBench(t)
	hers, his := b.submit(alice, secret, secret), b.submit(bob, "prog")
	export := func(u broker.User) string {
		t.Helper()
		var log strings.Builder
		if err := b.clients[u.ID].ExportLog(t.Context(), 0, &log); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	if log := export(bob); strings.Contains(log, secret) || strings.Contains(log, `{"step":`) ||
		!strings.Contains(log, `"user":"bob"`) || !strings.Contains(log, fmt.Sprintf(`{"job":{"id":%d,`, his)) ||
		!strings.HasSuffix(log, `{"end":{"jobs":1,"steps":0}}`+"\n") {
		t.Errorf("bob exports %s", log)
	}
	log := export(root)
	for _, want := range []string{fmt.Sprintf(`{"job":{"id":%d,`, his), fmt.Sprintf(`{"job":{"id":%d,`, hers), `{"start":`,
		`{"began":`, `{"step":{"at":`} {
		if !strings.Contains(log, want) {
			t.Errorf("root exports no %s: %s", want, log)
		}
	}
	if status, text := b.ask(bob, http.MethodGet, "/v1/log?since=yesterday", ""); status != http.StatusBadRequest {
		t.Errorf("a moment that is none: %d %s", status, text)
	}
}
