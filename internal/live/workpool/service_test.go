package workpool

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godwit-hpc/godwit/internal/agent/poolworker"
	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/clock/clocktest"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/live/store/memory"
	"github.com/godwit-hpc/godwit/internal/live/store/sqlite"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/itempool"
)

// grid is a broker whose jobs do what a test says. It outlives services.
type grid struct {
	st store.Store

	mu      sync.Mutex
	procs   int
	jobs    []*gridJob
	byKey   map[string]int
	next    uint64
	changed chan struct{}
}

type gridJob struct {
	spec  jobfile.Job
	epoch core.Epoch
	state core.State
}

func newGrid(st store.Store) *grid {
	return &grid{st: st, procs: 100, byKey: map[string]int{}, next: 1, changed: make(chan struct{})}
}

// set changes a job, or starts its next attempt.
func (g *grid) set(id core.JobID, state core.State, epoch core.Epoch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.jobs[id-1].state, g.jobs[id-1].epoch = state, epoch
	close(g.changed)
	g.changed = make(chan struct{})
}

func markOf(id core.JobID, epoch core.Epoch) string { return fmt.Sprint(id, "/", epoch) }

func (g *grid) RequestUser(context.Context) (broker.User, error) {
	return broker.User{Name: "ada"}, nil
}
func (g *grid) CheckNewFlow(context.Context, string) error { return nil }
func (g *grid) CurrentTime() core.Time                     { return core.Time(time.Now().UnixNano()) }
func (g *grid) CancelNow(ctx context.Context, ref string) (*broker.View, error) {
	return g.CancelJob(ctx, ref)
}

func (g *grid) CheckAttempt(_ context.Context, id core.JobID, mark string) (core.Epoch, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if int(id) > len(g.jobs) || g.jobs[id-1].state != core.Running || markOf(id, g.jobs[id-1].epoch) != mark {
		return 0, broker.ErrAttemptOver
	}
	return g.jobs[id-1].epoch, nil
}

// handle is a grid as one broker sees it, until it is killed.
type handle struct {
	*grid
	isDead bool
}

func (h *handle) CommitPools(ctx context.Context, pools []store.Pool, chunks []store.PoolChunk) error {
	h.grid.mu.Lock()
	defer h.grid.mu.Unlock()
	if h.isDead {
		return broker.ErrStopped
	}
	return h.grid.commitPools(ctx, pools, chunks)
}

func (g *grid) commitPools(ctx context.Context, pools []store.Pool, chunks []store.PoolChunk) error {
	return g.st.CommitBatch(ctx, &store.Batch{First: g.next, Pools: pools, PoolChunks: chunks})
}

func (g *grid) SubmitJob(_ context.Context, spec *jobfile.Job, _ string) ([]core.JobID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, isKnown := g.byKey[spec.Key]
	if !isKnown {
		g.jobs = append(g.jobs, &gridJob{spec: *spec, epoch: 1, state: core.Running})
		n = len(g.jobs)
		g.byKey[spec.Key] = n
	}
	return []core.JobID{core.JobID(n)}, nil
}

func (g *grid) CancelJob(_ context.Context, ref string) (*broker.View, error) {
	var id core.JobID
	_, _ = fmt.Sscan(ref, &id)
	g.mu.Lock()
	epoch := g.jobs[id-1].epoch
	g.mu.Unlock()
	g.set(id, core.Cancelled, epoch)
	return &broker.View{}, nil
}

func (g *grid) FollowJob(ctx context.Context, ref string, see func(*broker.View, []wire.Entry) error) error {
	var id core.JobID
	_, _ = fmt.Sscan(ref, &id)
	for {
		g.mu.Lock()
		j, next := g.jobs[id-1], g.changed
		v := &broker.View{Job: store.Job{ID: id, State: j.state, Epoch: j.epoch}}
		g.mu.Unlock()
		v.Over = v.State.IsTerminal()
		if err := see(v, nil); err != nil || v.Over {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (g *grid) ListClusters(context.Context) ([]broker.ClusterView, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	idle := g.procs
	for _, j := range g.jobs {
		if j.state == core.Running {
			idle--
		}
	}
	return []broker.ClusterView{{Cluster: broker.Cluster{Name: "a"}, Idle: idle}}, nil
}

// running lists the jobs that run.
func (g *grid) running() (ids []core.JobID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, j := range g.jobs {
		if j.state == core.Running {
			ids = append(ids, core.JobID(i+1))
		}
	}
	return ids
}

// bed is a service on a grid, which can be killed.
type bed struct {
	testing.TB
	grid  *grid
	state string
	kill  func()

	mu sync.Mutex
	s  *Service
}

func newBed(t testing.TB, st store.Store) *bed {
	b := &bed{TB: t, grid: newGrid(st), state: t.TempDir()}
	b.start()
	t.Cleanup(func() { b.kill() })
	return b
}

// start starts a service, as another broker after one that was killed.
func (b *bed) start() {
	h := &handle{grid: b.grid}
	s := New(Options{Store: b.grid.st, Broker: h, State: b.state})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.mu.Lock()
	b.s = s
	b.mu.Unlock()
	b.kill = func() {
		b.grid.mu.Lock()
		h.isDead = true
		b.grid.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

func (b *bed) service() *Service {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.s
}

func (b *bed) submit(least, most int, items ...string) int64 {
	b.Helper()
	done, err := b.service().SubmitPool(b.Context(), &api.PoolSubmit{Key: "key", Min: least, Max: most,
		Items: []byte(strings.Join(items, "\n")), Job: jobfile.Job{Name: "each", Argv: []string{"true"}, Min: 1, Max: 1}})
	if err != nil || done.Items != len(items) {
		b.Fatal(done, err)
	}
	return done.ID
}

func (b *bed) report(r *poolwork.Report) *poolwork.Answer {
	b.Helper()
	a, err := b.service().TakeReport(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func (b *bed) get(id int64) api.Pool {
	b.Helper()
	p, err := b.service().GetPool(b.Context(), fmt.Sprint(id))
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func (b *bed) until(id int64, what string, ok func(p *api.Pool) bool) api.Pool {
	b.Helper()
	var p api.Pool
	clocktest.WaitFor(b, what, func() bool { p = b.get(id); return ok(&p) },
		func() string { return fmt.Sprintf("%+v", p) })
	return p
}

// records is what is written down of a pool that is over.
func (b *bed) records(id int64) map[int][]poolwork.Record {
	b.Helper()
	var out bytes.Buffer
	err := b.service().CopyOutcomes(b.Context(), fmt.Sprint(id), 0, func(p []byte) error {
		_, err := out.Write(p)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	all := map[int][]poolwork.Record{}
	for in := bufio.NewReader(&out); ; {
		r, _, err := poolwork.ReadRecord(in)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			b.Fatal(err)
		}
		all[r.Item] = append(all[r.Item], *r)
	}
}

func (b *bed) untilRunning(n int) []core.JobID {
	b.Helper()
	var ids []core.JobID
	clocktest.WaitFor(b, "the workers", func() bool { ids = b.grid.running(); return len(ids) == n },
		func() string { return fmt.Sprint(ids) })
	return ids
}

func TestWhatALostWorkerHeldIsGivenToOthersAndItsLateOutcomesAreRefused(t *testing.T) {
	b := newBed(t, memory.New())
	id := b.submit(2, 2, "a", "b")
	w := b.untilRunning(2)
	first := &poolwork.Report{Pool: id, Job: w[0], Mark: markOf(w[0], 1)}
	second := &poolwork.Report{Pool: id, Job: w[1], Mark: markOf(w[1], 1)}
	if a := b.report(first); string(a.Texts) != "a\n" {
		t.Fatalf("%+v", a)
	}
	if a := b.report(second); string(a.Texts) != "b\n" {
		t.Fatalf("%+v", a)
	}
	b.grid.set(w[0], core.Running, 2) // its attempt was lost, and another one runs
	second.Outcomes = []poolwork.Outcome{{Item: 1, Out: []byte("b")}}
	var a *poolwork.Answer
	clocktest.WaitFor(t, "the item to come back", func() bool { a = b.report(second); return len(a.Items) > 0 })
	if string(a.Texts) != "a\n" {
		t.Fatalf("%+v", a)
	}
	first.Outcomes = []poolwork.Outcome{{Item: 0, Out: []byte("late")}}
	if a := b.report(first); !a.Leave {
		t.Errorf("the attempt that is over is answered %+v", a)
	}
	second.Outcomes = []poolwork.Outcome{{Item: 0, Out: []byte("a")}}
	b.report(second)
	p := b.until(id, "its end", (*api.Pool).IsOver)
	if p.State != "completed" || p.Done != 2 {
		t.Errorf("%+v", p)
	}
	for item, want := range []string{"a", "b"} {
		if r := b.records(id)[item]; len(r) != 1 || string(r[0].Out) != want {
			t.Errorf("item %d: %+v", item, r)
		}
	}
}

func TestAPoolWhoseWorkersAllFailIsGivenUp(t *testing.T) {
	b := newBed(t, memory.New())
	id := b.submit(1, 1, "a")
	for range itempool.MaxWorkerFailures {
		w := b.untilRunning(1)
		b.grid.set(w[0], core.Failed, 1)
	}
	p := b.until(id, "its end", (*api.Pool).IsOver)
	if p.State != "failed" || !strings.Contains(p.Why, "10 workers ended") || p.Workers != 0 {
		t.Errorf("%+v", p)
	}
}

func TestACancelledPoolCancelsItsWorkers(t *testing.T) {
	b := newBed(t, memory.New())
	id := b.submit(3, 3, "a", "b", "c", "d")
	b.untilRunning(3)
	p, err := b.service().CancelPool(t.Context(), fmt.Sprint(id))
	if err != nil || p.State != "cancelled" || len(b.grid.running()) != 0 {
		t.Errorf("%+v, %v; %v run", p, err, b.grid.running())
	}
}

func TestMoreWorkersComeWhenProcessorsBecomeFree(t *testing.T) {
	b := newBed(t, memory.New())
	b.grid.mu.Lock()
	b.grid.procs = 1
	b.grid.mu.Unlock()
	b.submit(1, 4, strings.Fields(strings.Repeat("x ", 50))...)
	b.untilRunning(1)
	b.grid.mu.Lock()
	b.grid.procs = 3
	b.grid.mu.Unlock()
	b.untilRunning(3)
}

// Workers, their attempts and brokers end at random; each item is counted once.
func TestEveryItemIsCountedOnceWhoeverIsKilled(t *testing.T) {
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b := newBed(t, st)
	const items = 3000
	var texts []string
	for i := range items {
		texts = append(texts, fmt.Sprint("item-", i))
	}
	id := b.submit(1, 5, texts...)
	w := &workerPool{bed: b, pool: id, live: map[string]func(){}}
	stop := w.keepRunning()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	kills, p := map[string]int{}, b.get(id)
	for ; !p.IsOver(); p = b.get(id) {
		time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
		switch running := b.grid.running(); {
		case random.IntN(3) == 0:
			b.kill()
			b.start()
			kills["broker"]++
		case len(running) > 0:
			j := running[random.IntN(len(running))]
			if random.IntN(2) == 0 {
				b.grid.set(j, core.Failed, 9)
				kills["worker"]++
			} else {
				b.grid.set(j, core.Running, 1+core.Epoch(random.IntN(8)))
				kills["attempt"]++
			}
		}
	}
	stop()
	t.Logf("%d items, killed: %v; %d workers", items, kills, p.Started)
	if p.Done+p.Failed != items {
		t.Errorf("%+v", p)
	}
	records := b.records(id)
	for i := range items {
		if r := records[i]; len(r) != 1 || !r[0].Lost && string(r[0].Out) != texts[i] {
			t.Errorf("item %d: %+v", i, r)
		}
	}
}

// workerPool runs a worker for each attempt that the grid says runs.
type workerPool struct {
	*bed
	pool int64
	live map[string]func()
}

func (w *workerPool) keepRunning() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for clock.SleepContext(ctx, time.Millisecond) {
			now := map[string]bool{}
			w.grid.mu.Lock()
			for i, j := range w.grid.jobs {
				id, epoch := core.JobID(i+1), j.epoch
				mark := markOf(id, epoch)
				if j.state != core.Running {
					continue
				}
				now[mark] = true
				if w.live[mark] != nil {
					continue
				}
				own, end := context.WithCancel(ctx)
				w.live[mark] = end
				all.Go(func() {
					poolworker.WorkItems(own, poolworker.Options{Pool: w.pool, Job: id, Mark: mark, Clock: clock.RealClock(),
						Exchange: func(ctx context.Context, r *poolwork.Report) (*poolwork.Answer, error) {
							return w.service().TakeReport(ctx, r)
						},
						RunItem: func(ctx context.Context, item []byte) poolwork.Outcome {
							clock.SleepContext(ctx, 200*time.Microsecond)
							return poolwork.Outcome{Out: slices.Clone(item)}
						}})
					if own.Err() == nil {
						w.grid.mu.Lock()
						isSame := w.grid.jobs[id-1].epoch == epoch && w.grid.jobs[id-1].state == core.Running
						w.grid.mu.Unlock()
						if isSame {
							w.grid.set(id, core.Done, epoch)
						}
					}
				})
			}
			w.grid.mu.Unlock()
			for mark, end := range w.live {
				if !now[mark] {
					end()
				}
			}
		}
	})
	return func() { cancel(); all.Wait() }
}

// What a pool itself costs: items that take no time, through a service with a store on disk.
func BenchmarkPoolOverhead(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "db"))
			if err != nil {
				b.Fatal(err)
			}
			defer st.Close()
			const items = 100_000
			var text bytes.Buffer
			for i := range items {
				fmt.Fprintln(&text, i)
			}
			for n := 0; b.Loop(); n++ {
				bed := newBed(b, st)
				done, err := bed.service().SubmitPool(b.Context(), &api.PoolSubmit{Key: fmt.Sprint("k", n), Min: workers,
					Max: workers, Items: text.Bytes(), Job: jobfile.Job{Name: "each", Argv: []string{"true"}, Min: 1, Max: 1}})
				if err != nil {
					b.Fatal(err)
				}
				w := &workerPool{bed: bed, pool: done.ID, live: map[string]func(){}}
				stop := w.workAtOnce(workers)
				if p := bed.until(done.ID, "its end", (*api.Pool).IsOver); p.Done != items {
					b.Fatalf("%+v", p)
				}
				stop()
			}
			b.ReportMetric(float64(items)*float64(b.N)/b.Elapsed().Seconds(), "items/s")
		})
	}
}

// workAtOnce runs the first workers with items that take no time; reports pass as JSON, as they
// do between processes.
func (w *workerPool) workAtOnce(n int) (stop func()) {
	w.untilRunning(n)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		id := core.JobID(i + 1)
		all.Go(func() {
			poolworker.WorkItems(ctx, poolworker.Options{Pool: w.pool, Job: id, Mark: markOf(id, 1), Clock: clock.RealClock(),
				Exchange: func(ctx context.Context, r *poolwork.Report) (*poolwork.Answer, error) {
					body, err := json.Marshal(r)
					got := &poolwork.Report{}
					if err = errors.Join(err, json.Unmarshal(body, got)); err != nil {
						return nil, err
					}
					return w.service().TakeReport(ctx, got)
				},
				RunItem: func(context.Context, []byte) poolwork.Outcome { return poolwork.Outcome{} }})
			w.grid.set(id, core.Done, 1)
		})
	}
	return func() { cancel(); all.Wait() }
}
