package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/jobarray"
)

// maxRowsPerTurn is how many records of jobs one turn of the loop may write here: those of
// a few refills that come together, however large the arrays are.
const maxRowsPerTurn = 5 * jobarray.RefillSize

// correspondingTo makes each element of an array wait for the one of another with its index.
func correspondingTo(spec *jobfile.Job, array core.JobID, when jobfile.When) *jobfile.Job {
	spec.After = []jobfile.Dependency{{Job: fmt.Sprint(array), When: when, Each: true}}
	return spec
}

// settled waits until no array has an element without a record.
func (g *grid) settled(rows *countingStore) {
	g.t.Helper()
	var arrays []store.Array
	waitUntil(g.t, func() bool {
		l, err := rows.LoadState(g.t.Context())
		if err != nil {
			g.t.Fatal(err)
		}
		arrays = l.Arrays
		return len(arrays) == 0
	}, func() string {
		return fmt.Sprintf("%d arrays are not complete; of the first %d of %d elements have their record", len(arrays),
			arrays[0].Next, arrays[0].Count)
	})
}

// untilNobodyLives waits until all jobs are over, and their last attempts released.
func (g *grid) untilNobodyLives() {
	g.t.Helper()
	var live int
	waitUntil(g.t, func() bool {
		var err error
		if live, err = g.broker().CountLive(g.t.Context()); err != nil {
			g.t.Fatal(err)
		}
		return live == 0
	}, func() string { return fmt.Sprintf("%d jobs live", live) })
}

func TestAnArrayWhoseElementsEachWaitForAnotherIsTakenInAFewAtATime(t *testing.T) {
	g := newGrid(t)
	rows := g.countRows()
	const n = 1200
	first := g.submitArray(arrayOf(n))
	part := arrayOf(n - 50)
	part.Array = jobfile.ArrayRange{First: 10 + 2*20, Last: 10 + 2*(n-31), Step: 2}
	second := g.submitArray(correspondingTo(part, first[0], jobfile.Over))
	third := g.submitArray(correspondingTo(arrayOf(n/2), first[0], jobfile.Over))
	begun := map[core.JobID]*attempt{}
	for begun[first[0]] == nil || begun[first[1]] == nil {
		a := g.next()
		begun[a.Job] = a
	}
	for _, id := range first[:2] {
		begun[id].run()
		begun[id].untilAcknowledged(t)
	}
	g.kill()
	g.up()
	for k := 0; k < len(second); k += 97 {
		if v := g.view(second[k]); len(v.After) != 1 || v.After[0].Job != first[k+20] || v.Index != 10+2*(k+20) {
			t.Fatalf("element %d waits for %+v; want job %d", k, v.After, first[k+20])
		}
	}
	if v := g.view(third[3]); len(v.After) != 1 || v.After[0].Job != first[3] {
		t.Errorf("it waits for %+v", v.After)
	}
	for _, id := range first[:2] {
		x := begun[id]
		x.cut() // its broker was killed
		x.connect()
		x.end(0)
	}
	for _, id := range []core.JobID{third[0], third[1]} {
		g.waitsNoMore(id)
	}
	if rows.largest.Load() > maxRowsPerTurn {
		t.Errorf("%d records were written at once", rows.largest.Load())
	}
	_, err := g.broker().SubmitJob(t.Context(), correspondingTo(arrayOf(n+1), first[0], jobfile.Over), "")
	if !badinput.Is(err) || !strings.Contains(err.Error(), fmt.Sprint("an index ", 10+2*n, " too")) {
		t.Errorf("one element more: %v", err)
	}
}

// waitsNoMore waits until nothing that a job depends on holds it.
func (g *grid) waitsNoMore(id core.JobID) {
	g.t.Helper()
	waitUntil(g.t, func() bool { return !strings.Contains(g.view(id).Reason, "waiting for job") }, func() string {
		v := g.view(id)
		other := g.view(v.After[0].Job)
		return fmt.Sprintf("job %d: %q; job %d is %s (%s), over: %v", id, v.Reason, other.ID, other.State, other.Reason,
			other.Over)
	})
}

// gatedStore keeps readers waiting while its gate is closed.
type gatedStore struct {
	store.Store
	closesAt func(*store.Batch) bool // the gate closes when this batch has been written; nil: never
	ofRuns   bool                    // who reads history waits; else who reads elements of an array

	mu      sync.Mutex
	gate    chan struct{} // nil: open
	reached chan struct{} // somebody has come to the gate while it was closed
}

func newGatedStore(s store.Store) *gatedStore {
	return &gatedStore{Store: s, reached: make(chan struct{}, 1)}
}

func (s *gatedStore) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate == nil {
		s.gate = make(chan struct{})
	}
}

func (s *gatedStore) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate != nil {
		close(s.gate)
	}
	s.gate, s.closesAt = nil, nil
}

func (s *gatedStore) pass(ctx context.Context) {
	s.mu.Lock()
	gate := s.gate
	s.mu.Unlock()
	if gate == nil {
		return
	}
	select {
	case s.reached <- struct{}{}:
	default: // that is known
	}
	select {
	case <-gate:
	case <-ctx.Done():
	}
}

func (s *gatedStore) CommitBatch(ctx context.Context, b *store.Batch) error {
	err := s.Store.CommitBatch(ctx, b)
	s.mu.Lock()
	closes := s.closesAt != nil && s.closesAt(b)
	s.mu.Unlock()
	if closes {
		s.close()
	}
	return err
}

func (s *gatedStore) ListRuns(ctx context.Context, f store.Past) ([]history.Run, error) {
	if s.ofRuns && f.Cluster != "" {
		s.pass(ctx)
	}
	return s.Store.ListRuns(ctx, f)
}

func (s *gatedStore) ListJobs(ctx context.Context, f store.Filter) ([]store.Job, error) {
	if !s.ofRuns && f.Parent != 0 {
		s.pass(ctx)
	}
	return s.Store.ListJobs(ctx, f)
}

// An element that has no record yet when the one that it waits for comes home gets
// what that one wrote, as all others do.
func TestAnElementWithoutARecordGetsTheResultsThatItWaitsFor(t *testing.T) {
	g := newDepotGrid(t)
	g.kill()
	const n = jobarray.RefillSize + 2
	var batches atomic.Int64
	gated := newGatedStore(g.store)
	gated.ofRuns = true
	gated.closesAt = func(b *store.Batch) bool { // the second array has been taken in
		return slices.ContainsFunc(b.Arrays, func(a store.Array) bool { return len(a.Each) > 0 }) && batches.Add(1) == 1
	}
	g.store, g.procs = gated, n
	g.up()
	home, work := t.TempDir(), pushed(t, g.depot, "in")
	submit := func(spec *jobfile.Job) []core.JobID {
		t.Helper()
		return g.submitIn(home, work, spec)
	}
	on := func(spec *jobfile.Job) *jobfile.Job { spec.On = []string{"a"}; return spec }
	first := submit(on(arrayOf(n)))
	var last *attempt
	for range n {
		if a := g.next(); a.Job == first[n-1] {
			last = a
		}
	}
	then := on(correspondingTo(arrayOf(n), first[0], jobfile.WentWell))
	then.Reliability = 1e-6 // so that history is read for each few elements
	second := submit(then)
	last.run()
	last.say(wire.Message{Kind: wire.Ended, Result: pushed(t, g.depot, "in", "made")})
	g.untilOver(first[n-1])
	if listed := g.elements(second); len(listed[second[n-2]].After) != 1 {
		t.Errorf("job %d waits for %+v", second[n-2], listed[second[n-2]].After)
	}
	if v := g.view(second[n-1]); !g.filesOf(v.Work)["made"] {
		t.Errorf("it begins with %v, without what was made", g.filesOf(v.Work))
	}
	gated.open()
	if next := g.next(); next.Job != second[n-1] || !g.filesOf(next.Work)["made"] {
		t.Errorf("job %d is started with %v; want job %d with what was made", next.Job, g.filesOf(next.Work), second[n-1])
	}
	if v := g.view(second[n-2]); g.filesOf(v.Work)["made"] {
		t.Error("what one element made is handed to those who wait for another")
	}
}

// Elements without a record get what a job wrote for which their array waits, although all
// that the engine knows of it were cancelled before, and the next ones have not come.
func TestElementsWithoutARecordGetWhatTheirArrayWaitsFor(t *testing.T) {
	g := newDepotGrid(t)
	g.kill()
	gated := newGatedStore(g.store)
	gated.ofRuns = true
	gated.closesAt = func(b *store.Batch) bool { return len(b.Arrays) > 0 } // it has been taken in
	g.store = gated
	g.up()
	home, work := t.TempDir(), pushed(t, g.depot, "in")
	submit := func(spec *jobfile.Job) []core.JobID {
		t.Helper()
		spec.On = []string{"a"}
		return g.submitIn(home, work, spec)
	}
	first := submit(complete(jobfile.Job{}))[0]
	then := arrayOf(jobarray.RefillSize + 2)
	then.After, then.Reliability = after(jobfile.WentWell, first), 1e-6 // history is read for each few elements
	ids := submit(then)
	<-gated.reached
	for _, id := range ids[:jobarray.RefillSize] {
		if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
			t.Fatal(err)
		}
	}
	a := g.next()
	a.run()
	a.say(wire.Message{Kind: wire.Ended, Result: pushed(t, g.depot, "in", "made")})
	g.untilOver(first)
	gated.open()
	for range 2 {
		if next := g.next(); next.Parent != ids[0] || !g.filesOf(next.Work)["made"] {
			t.Errorf("job %d is started with %v", next.Job, g.filesOf(next.Work))
		}
	}
}

// What became of the elements of an array is read beside the loop.
func TestTheBrokerAnswersWhileElementsOfAnArrayAreRead(t *testing.T) {
	g := newGrid(t)
	ids := g.submitArray(arrayOf(5))
	for _, id := range ids {
		if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
			t.Fatal(err)
		}
	}
	g.kill()
	gated := newGatedStore(g.store)
	g.store = gated
	g.up()
	g.untilNobodyLives() // elements that were begun may be released again
	gated.close()
	submitted := make(chan error, 1)
	go func() {
		spec := complete(jobfile.Job{After: []jobfile.Dependency{{Job: fmt.Sprint(ids[0]), When: jobfile.WentWell}}})
		_, err := g.broker().SubmitJob(t.Context(), spec, "")
		submitted <- err
	}()
	<-gated.reached
	if n, err := g.broker().CountLive(t.Context()); err != nil || n != 0 {
		t.Errorf("%d jobs live, %v", n, err)
	}
	gated.open()
	if err := <-submitted; err != nil {
		t.Fatal(err)
	}
	v := g.until(ids[4]+1, core.Cancelled)
	if !strings.Contains(v.Reason, "never satisfied") {
		t.Errorf("it ended: %q", v.Reason)
	}
}

// How an array is doing is counted as its elements start and end, and after a restart
// what ended before counts too.
func TestWhoDependsOnAnArrayIsToldOfAllItsElements(t *testing.T) {
	const n = jobarray.RefillSize + 20
	g := newGrid(t)
	g.procs = 5
	g.kill()
	g.up()
	spec := arrayOf(n)
	spec.On = []string{"a"}
	ids := g.submitArray(spec)
	begun := map[core.JobID]*attempt{}
	for range g.procs {
		a := g.next()
		a.run()
		begun[a.Job] = a
	}
	depend := func(when jobfile.When) core.JobID {
		return g.submit(jobfile.Job{On: []string{"b"}, After: []jobfile.Dependency{{Job: fmt.Sprint(ids[0]), When: when}}})
	}
	begun[ids[1]].end(1) // it fails
	g.until(ids[1], core.Failed)
	g.kill()
	g.up() // nobody has asked for the array so far
	if v := g.until(depend(jobfile.WentWell), core.Cancelled); !strings.Contains(v.Reason, fmt.Sprint("job ", ids[1])) {
		t.Errorf("it ended: %q", v.Reason)
	}
	failed, over := depend(jobfile.Failed), depend(jobfile.Over)
	var cancelling sync.WaitGroup
	for i, id := range ids {
		if i == n-1 {
			cancelling.Wait()
			for _, id := range []core.JobID{failed, over} {
				if v := g.view(id); !strings.Contains(v.Reason, "waiting for array") {
					t.Errorf("it waits: %q", v.Reason)
				}
			}
		}
		cancelling.Go(func() {
			if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
				t.Error(err)
			}
		})
	}
	cancelling.Wait()
	for range 2 {
		if a := g.nextAfter(); a.Job != failed && a.Job != over {
			t.Errorf("job %d is started; want %d and %d", a.Job, failed, over)
		}
	}
}

// nextAfter is the next attempt of a job that is no element of an array.
func (g *grid) nextAfter() *attempt {
	g.t.Helper()
	for {
		if a := g.next(); a.Parent == 0 {
			return a
		}
	}
}

// Elements that ended before their turn are passed over a few at a time, and in the end
// nothing of the array is left.
func TestAnArrayThatIsCancelledFromItsEndOnIsForgotten(t *testing.T) {
	g := newGrid(t)
	rows := g.countRows()
	ids := g.submitArray(arrayOf(jobarray.QueueDepth + 2*jobarray.RefillSize))
	for some := range slices.Chunk(reversed(ids), jobarray.RefillSize) {
		var all sync.WaitGroup
		for _, id := range some {
			all.Go(func() {
				if _, err := g.broker().CancelNow(t.Context(), fmt.Sprint(id)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	g.settled(rows)
	if rows.largest.Load() > maxRowsPerTurn {
		t.Errorf("%d records were written at once", rows.largest.Load())
	}
	for _, v := range g.elements(ids) {
		if v.State != core.Cancelled {
			t.Fatalf("job %d is %s", v.ID, v.State)
		}
	}
	g.untilNobodyLives()
}

func reversed(ids []core.JobID) []core.JobID {
	ids = slices.Clone(ids)
	slices.Reverse(ids)
	return ids
}

// However much has come, a turn ends when it has lasted long enough.
func TestATurnThatHasLastedLongTakesInNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGrid(t)
		g.kill()
		entered, leave := make(chan struct{}), make(chan struct{})
		var isWaiting atomic.Bool
		rows := &countingStore{Store: g.store, fail: func(*store.Batch) error {
			if isWaiting.CompareAndSwap(true, false) {
				close(entered)
				<-leave
			}
			return nil
		}}
		o := g.options()
		o.Store = rows
		var calls atomic.Int64
		start := time.Now()
		// every turn has lasted long
		o.Clock = func() time.Time { return start.Add(time.Duration(calls.Add(1)) * 25 * time.Millisecond) }
		b, err := broker.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		submit := func() {
			if _, err := b.SubmitJob(ctx, complete(jobfile.Job{}), ""); err != nil {
				t.Error(err)
			}
		}
		submit() // what runs for the first time is over
		isWaiting.Store(true)
		const n = 40
		var all sync.WaitGroup
		for range n {
			all.Go(submit)
		}
		<-entered
		synctest.Wait() // the others have come, as far as they will
		rows.largest.Store(0)
		close(leave)
		all.Wait()
		if largest := rows.largest.Load(); largest > n/4 {
			t.Errorf("one turn wrote %d jobs", largest)
		}
	})
}
