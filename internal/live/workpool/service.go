package workpool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Broker is what the service asks of the broker.
type Broker interface {
	RequestUser(ctx context.Context) (broker.User, error)
	CheckNewFlow(ctx context.Context, work string) error
	CheckAttempt(ctx context.Context, id core.JobID, mark string) (core.Epoch, error)
	CommitPools(ctx context.Context, pools []store.Pool, chunks []store.PoolChunk) error
	SubmitJob(ctx context.Context, spec *jobfile.Job, work string) ([]core.JobID, error)
	FollowJob(ctx context.Context, ref string, see func(v *broker.View, news []wire.Entry) error) error
	CancelJob(ctx context.Context, ref string) (*broker.View, error)
	CancelNow(ctx context.Context, ref string) (*broker.View, error)
	ListClusters(ctx context.Context) ([]broker.ClusterView, error)
	CurrentTime() core.Time
}

// Options is what a service is made of.
type Options struct {
	Store  store.Store // is read; records are written by the broker
	Broker Broker
	State  string // folder in which outcomes are kept
	Log    *slog.Logger
	// Limits of one user's pools that are not over, and of the items of all of them together; 0:
	// the usual ones.
	MaxPools, MaxItems int
	MaxOutput          int64         // bytes of outcomes that are kept of one user's pools; 0: all
	Keep               time.Duration // outcomes are dropped so long after the end of a pool; 0: never
}

// Bounds of what one user may have going on.
const (
	defaultMaxPools = 100
	defaultMaxItems = 1_000_000
	maxWorkers      = 1000 // of one pool
)

// Service keeps the pools.
type Service struct {
	Options
	clusters clusterCache

	submitting sync.Mutex // one pool is taken in at a time
	next       int64      // number of the next; valid while submitting is held

	begun    chan struct{} // closed once Run has gone on with what is stored
	beginErr error         // why it could not; valid once begun is closed

	commits  sync.RWMutex // held while something is stored
	isClosed bool         // nothing is stored any more

	mu      sync.Mutex
	ctx     context.Context // of Run; nil before
	live    map[int64]*livePool
	running sync.WaitGroup
}

// New makes a service. Nothing happens before Run.
func New(o Options) *Service {
	if o.MaxPools == 0 {
		o.MaxPools = defaultMaxPools
	}
	if o.MaxItems == 0 {
		o.MaxItems = defaultMaxItems
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Options: o, live: map[int64]*livePool{}, begun: make(chan struct{})}
}

// Run goes on with the pools that are not over, and carries out those that are submitted, until
// ctx ends. Their workers run on.
func (s *Service) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.beginErr = s.goOnWithAll(ctx)
	close(s.begun)
	if s.beginErr != nil && ctx.Err() == nil {
		return s.beginErr
	}
	s.clearOutcomes(ctx) // until ctx ends
	s.mu.Lock()
	s.ctx = nil // nobody starts another
	s.mu.Unlock()
	s.running.Wait()
	s.commits.Lock()
	s.isClosed = true
	s.commits.Unlock()
	return nil
}

// goOnWithAll carries on with the pools that are not over.
func (s *Service) goOnWithAll(ctx context.Context) error {
	open, err := s.Store.ListPools(ctx, store.FlowFilter{Open: true, AllOwners: true})
	if err != nil {
		return fmt.Errorf("the pools that are not over: %w", err)
	}
	for i := len(open) - 1; i >= 0; i-- { // the oldest first
		if err := s.goOn(ctx, open[i].ID); err != nil && ctx.Err() == nil {
			s.Log.Error("a pool cannot be gone on with", "pool", open[i].ID, "error", err)
		}
	}
	return nil
}

// goOn carries on with a pool as it is stored.
func (s *Service) goOn(ctx context.Context, id int64) error {
	rec, err := s.Store.FindPool(ctx, id)
	if err != nil {
		return err
	}
	chunks, err := s.Store.ListPoolChunks(ctx, id)
	if err != nil {
		return err
	}
	l, err := s.newLivePool(ctx, rec, chunks)
	if err != nil {
		return err
	}
	s.start(l)
	return nil
}

// start carries out a pool beside others.
func (s *Service) start(l *livePool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil || s.live[l.rec.ID] != nil {
		return // the next broker finds it, or it is being carried out
	}
	s.live[l.rec.ID] = l
	ctx := broker.WithUser(s.ctx, l.owner())
	l.ctx = ctx
	s.running.Go(func() { s.carryOut(ctx, l) })
}

// follow runs something for a pool beside its own loop, until it is over or the broker ends.
func (s *Service) follow(l *livePool, f func(ctx context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx != nil { // else the broker ends
		s.running.Go(func() { f(l.ctx) })
	}
}

// poolDir is where the outcomes of a pool are kept.
func (s *Service) poolDir(id int64) string { return filepath.Join(s.State, "pools", fmt.Sprint(id)) }

func (s *Service) livePool(id int64) *livePool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// forget drops a pool that is over: whoever asks for it finds it in the store.
func (s *Service) forget(l *livePool) {
	s.mu.Lock()
	delete(s.live, l.rec.ID)
	s.mu.Unlock()
	l.signalChange()
}

// CountOpen is how many pools are not over.
func (s *Service) CountOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// untilBegun waits until the stored pools are being gone on with.
func (s *Service) untilBegun(ctx context.Context) error {
	select {
	case <-s.begun:
		return s.beginErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// decodeSpec reads a pool as it was submitted.
func decodeSpec(data []byte) (*api.PoolSubmit, error) {
	spec := &api.PoolSubmit{}
	if err := json.Unmarshal(data, spec); err != nil {
		return nil, fmt.Errorf("the pool as it was submitted: %w", err)
	}
	return spec, nil
}

// isEnding tells whether something failed because the broker, or who asked, is leaving.
func isEnding(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, broker.ErrStopped)
}
