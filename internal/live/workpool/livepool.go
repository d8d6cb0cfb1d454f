package workpool

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/joblog"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/itempool"
)

// livePool is a pool that is not over.
type livePool struct {
	spec    *api.PoolSubmit
	items   [][]byte
	ctx     context.Context // for what is done for it; set when it is started
	stop    chan struct{}   // closed when it is to be cancelled
	stopped sync.Once
	wake    chan struct{} // has something when its own loop is to look at it

	committing sync.Mutex // held while what changed is being stored; taken before mu
	log        *joblog.Log

	mu       sync.Mutex
	queue    *itempool.Queue
	rec      store.Pool // as it is
	stored   store.Pool // as it is in the store
	chunks   map[int]*store.PoolChunk
	dirty    map[int]bool // chunks that differ from the store
	pending  []byte       // outcomes that are still to be written down
	outputs  int64        // bytes of outcomes that may still be kept
	workers  map[core.JobID]*worker
	failures int    // workers that ended one after the other with no item counted in between
	why      string // the last of them did
	speed    speed
	changed  chan struct{} // closed at the next change
}

// worker is a job of the pool that has not ended.
type worker struct {
	epoch     core.Epoch // of its newest attempt that is known
	ran       core.Epoch // the newest that was seen to run
	isRunning bool
	isLeaving bool // it was told to leave
}

func (s *Service) newLivePool(ctx context.Context, rec *store.Pool, chunks []store.PoolChunk) (*livePool, error) {
	spec, err := decodeSpec(rec.Spec)
	if err != nil {
		return nil, err
	}
	l := &livePool{spec: spec, items: poolwork.SplitItems(spec.Items), stop: make(chan struct{}),
		wake: make(chan struct{}, 1), log: joblog.Open(s.poolDir(rec.ID), "outcomes", joblog.Limits{}), rec: *rec,
		chunks: map[int]*store.PoolChunk{}, dirty: map[int]bool{}, workers: map[core.JobID]*worker{},
		changed: make(chan struct{})}
	l.rec.Spec, l.spec.Items = nil, nil
	l.stored = l.rec
	counted := make([]uint64, (len(l.items)+63)/64)
	for i := range chunks {
		c := chunks[i]
		l.chunks[c.N] = &c
		if at := c.N * store.PoolChunkItems / 64; at < len(counted) {
			copy(counted[at:], c.Counted)
		}
	}
	l.queue = itempool.NewQueue(len(l.items), counted)
	for _, id := range rec.Workers {
		l.workers[id] = &worker{}
	}
	if l.outputs, err = s.outputsLeft(ctx, rec); err != nil {
		return nil, err
	}
	if rec.State == store.PoolCancelling {
		l.cancel()
	}
	return l, nil
}

func (l *livePool) owner() broker.User { return broker.User{ID: l.rec.Owner, Name: l.rec.User} }

func (l *livePool) cancel() { l.stopped.Do(func() { close(l.stop) }) }

func (l *livePool) isCancelled() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// wakeLoop has the pool's own loop look at it.
func (l *livePool) wakeLoop() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// countOutcome counts an item that the queue says counts.
func (l *livePool) countOutcome(r *poolwork.Record) {
	n := r.Item / store.PoolChunkItems
	c := l.chunks[n]
	if c == nil {
		c = &store.PoolChunk{Pool: l.rec.ID, N: n, Counted: make([]uint64, store.PoolChunkItems/64)}
		l.chunks[n] = c
	}
	bit := r.Item % store.PoolChunkItems
	c.Counted[bit/64] |= 1 << (bit % 64)
	l.dirty[n] = true
	if r.Code != 0 || r.Lost {
		c.Failed = append(c.Failed, store.PoolFailure{Item: r.Item, Code: r.Code, Lost: r.Lost})
		l.rec.Failed++
	} else {
		l.rec.Done++
	}
	if size := int64(len(r.Out) + len(r.Err)); size > 0 && l.outputs >= 0 {
		if l.outputs -= size; l.outputs < 0 {
			l.outputs = 0
			r.Out, r.Err, r.Dropped = nil, nil, true
		}
	}
	l.pending = poolwork.AppendRecord(l.pending, r)
}

// countLost counts items as failed whose workers were lost too often.
func (l *livePool) countLost(items []int) {
	for _, item := range items {
		l.countOutcome(&poolwork.Record{Outcome: poolwork.Outcome{Item: item}, Lost: true})
	}
}

// unsaved is what is to be stored, and what is to be written down before.
type unsaved struct {
	rec    store.Pool
	chunks []store.PoolChunk
	log    []byte
}

func (l *livePool) unsavedChanges() unsaved {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := unsaved{rec: l.rec, log: l.pending}
	u.rec.Workers = slices.Clone(l.rec.Workers)
	u.rec.Output = l.stored.Output + int64(len(u.log))
	for n := range l.dirty { // order-free: each is a row of its own
		c := *l.chunks[n]
		c.Counted, c.Failed = slices.Clone(c.Counted), slices.Clone(c.Failed)
		u.chunks = append(u.chunks, c)
	}
	l.dirty = map[int]bool{}
	return u
}

// saved notes what is durable, or that it is not.
func (l *livePool) saved(u *unsaved, err error, now core.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		for i := range u.chunks {
			l.dirty[u.chunks[i].N] = true
		}
		return
	}
	l.stored, l.rec.Output = u.rec, u.rec.Output
	l.pending = slices.Clone(l.pending[len(u.log):])
	l.speed.addSample(now, u.rec.Done+u.rec.Failed)
}

// commit makes durable what changed: first the outcomes as they are written down, then that they
// are counted. What a crash leaves written down and not counted is written over.
func (s *Service) commit(l *livePool) error {
	s.commits.RLock() // a broker that ends waits for it: the next one writes to the same files
	defer s.commits.RUnlock()
	if s.isClosed {
		return broker.ErrStopped
	}
	l.committing.Lock()
	defer l.committing.Unlock()
	u := l.unsavedChanges()
	if samePool(&u.rec, &l.stored) && len(u.chunks)+len(u.log) == 0 {
		return nil
	}
	var err error
	if len(u.log) > 0 {
		err = l.log.WriteAt(u.log, l.stored.Output)
	}
	if err == nil {
		// Who asked may leave: what is stored and not known to be would be written twice.
		err = s.Broker.CommitPools(context.WithoutCancel(l.ctx), []store.Pool{u.rec}, u.chunks)
	}
	l.saved(&u, err, s.Broker.CurrentTime())
	if err == nil {
		l.signalChange()
	}
	return err
}

// samePool compares two records of the same pool.
func samePool(a, b *store.Pool) bool {
	return a.State == b.State && a.Why == b.Why && a.Ended == b.Ended && a.Done == b.Done && a.Failed == b.Failed &&
		a.Started == b.Started && a.Output == b.Output && slices.Equal(a.Workers, b.Workers)
}

// commitSurely commits until it is done; false: the broker ends.
func (s *Service) commitSurely(l *livePool) bool {
	for {
		err := s.commit(l)
		if err == nil {
			return true
		}
		if isEnding(l.ctx, err) {
			return false
		}
		s.Log.Error("keeping a pool", "pool", l.rec.ID, "error", err)
		if !sleepContext(l.ctx, commitRetryPause) {
			return false
		}
	}
}

// commitRetryPause is how long a store that could not be written is left alone.
const commitRetryPause = 500 * time.Millisecond

func (l *livePool) signalChange() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *livePool) nextChange() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// load is how the pool stands; idle is how many processors are free for it.
func (l *livePool) load(idle int) itempool.Load {
	load := itempool.Load{Min: l.spec.Min, Max: l.spec.Max, Left: l.queue.Left(), Waiting: l.queue.Waiting(), Idle: idle}
	for _, w := range l.workers { // order-free: they are counted
		if w.isLeaving {
			continue
		}
		load.Workers++
		if !w.isRunning {
			load.Queued++
		}
	}
	if n := l.rec.Done + l.rec.Failed; n > 0 && l.rec.Seconds > 0 {
		load.Seconds = l.rec.Seconds / float64(n)
	}
	return load
}
