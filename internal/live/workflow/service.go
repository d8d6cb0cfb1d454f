package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/flowrun"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// Broker is what the service asks of the broker.
type Broker interface {
	RequestUser(ctx context.Context) (broker.User, error)
	CheckNewFlow(ctx context.Context, work string) error
	CommitFlows(ctx context.Context, flows []store.Flow, tasks []store.FlowTask, entries []store.FlowEntry) error
	CurrentTime() core.Time
}

// Options is what a service is made of.
type Options struct {
	Store  store.Store // is read; records are written by the broker
	Broker Broker
	// Port is the broker as a run of a user's workflow asks it, whose files are a tree of
	// the depot.
	Port func(owner broker.User, work string) flowrun.Broker
	Log  *slog.Logger
	// Limits of one user's workflows that are not over; 0: the usual ones.
	MaxFlows, MaxTasks int
}

// Bounds of what one user may have going on.
const (
	defaultMaxFlows = 100
	defaultMaxTasks = 50_000 // of all of them together
	maxFlowTasks    = 20_000 // of one
	maxFlowNeeds    = 1_000_000
)

// maxPlanners is how many workflows may be planned at a time: planning uses a processor for
// as long as it takes, and jobs of this machine want them too.
const maxPlanners = 1

// Service keeps the workflows.
type Service struct {
	Options
	planning chan struct{}
	clusters clusterCache

	submitting sync.Mutex // one workflow is taken in at a time
	next       int64      // number of the next; valid while submitting is held

	begun    chan struct{} // closed once Run has gone on with what is stored
	beginErr error         // why it could not; valid once begun is closed

	mu      sync.Mutex
	ctx     context.Context // of Run; nil before
	live    map[int64]*liveFlow
	running sync.WaitGroup
}

// New makes a service. Nothing happens before Run.
func New(o Options) *Service {
	if o.MaxFlows == 0 {
		o.MaxFlows = defaultMaxFlows
	}
	if o.MaxTasks == 0 {
		o.MaxTasks = defaultMaxTasks
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{Options: o, planning: make(chan struct{}, maxPlanners), live: map[int64]*liveFlow{},
		begun: make(chan struct{})}
}

// Run goes on with the workflows that are not over, and carries out those that are submitted,
// until ctx ends. Their jobs run on.
func (s *Service) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	s.beginErr = s.goOnWithAll(ctx)
	close(s.begun)
	if s.beginErr != nil && ctx.Err() == nil {
		return s.beginErr
	}
	<-ctx.Done()
	s.mu.Lock()
	s.ctx = nil // nobody starts another
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// goOnWithAll carries on with the workflows that are not over.
func (s *Service) goOnWithAll(ctx context.Context) error {
	open, err := s.Store.ListFlows(ctx, store.FlowFilter{Open: true, AllOwners: true})
	if err != nil {
		return fmt.Errorf("the workflows that are not over: %w", err)
	}
	for i := len(open) - 1; i >= 0; i-- { // the oldest first
		if err := s.goOn(ctx, open[i].ID); err != nil && ctx.Err() == nil {
			s.Log.Error("a workflow cannot be gone on with", "workflow", open[i].ID, "error", err)
		}
	}
	return nil
}

// goOn carries on with a workflow as it is stored.
func (s *Service) goOn(ctx context.Context, id int64) error {
	rec, err := s.Store.FindFlow(ctx, id)
	if err != nil {
		return err
	}
	tasks, err := s.Store.ListFlowTasks(ctx, id)
	if err != nil {
		return err
	}
	l, err := newLiveFlow(rec, tasks)
	if err != nil {
		return err
	}
	l.forgive = rec.Resumed > 0 && len(tasks) == 0
	s.noteRestart(l, fmt.Sprintf("%d of %d tasks done", rec.Done, rec.Tasks),
		"the broker was started again and goes on with what is stored")
	s.start(l)
	return nil
}

// start carries out a workflow beside others.
func (s *Service) start(l *liveFlow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil || s.ctx.Err() != nil || s.live[l.rec.ID] != nil {
		return // the next broker finds it, or it is being carried out
	}
	s.live[l.rec.ID] = l
	ctx := s.ctx
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		s.carryOut(ctx, l)
	}()
}

// carryOut runs a workflow until it is over or the broker ends.
func (s *Service) carryOut(ctx context.Context, l *liveFlow) {
	owner := broker.User{ID: l.rec.Owner, Name: l.rec.User}
	ctx = broker.WithUser(ctx, owner)
	port := &cachedClusters{Broker: s.Port(owner, l.rec.Work), cache: &s.clusters, clock: s.clock()}
	for {
		_, err := flowrun.Run(ctx, flowrun.Options{
			Flow: &l.spec.Flow, ID: l.rec.Key, Broker: port, Tasks: l.runTasks(), Forgive: l.forgive, Clock: s.clock(),
			Began: momentOf(l.rec.Submitted), Route: routesOf(l.spec.Routes), StopAll: l.spec.StopAll, Env: l.spec.Env,
			Stop: l.stop, Planning: s.planning, See: func(st *flowrun.State) { s.keep(ctx, l, st) },
		})
		l.forgive = false
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, flowrun.ErrClustersChanged):
			s.noteRestart(l, "planned from new", "the broker has other clusters now")
			continue
		case err != nil:
			s.giveUp(ctx, l, err)
		}
		s.forget(l)
		return
	}
}

func (s *Service) noteRestart(l *liveFlow, choice, why string) {
	l.noteEvent(core.FlowEvent{Kind: core.FlowRestarted},
		wire.Entry{At: s.Broker.CurrentTime(), Kind: "restart", Choice: choice, Why: why})
}

// giveUp ends a workflow that cannot be carried out.
func (s *Service) giveUp(ctx context.Context, l *liveFlow, why error) {
	l.committing.Lock()
	defer l.committing.Unlock()
	now := s.Broker.CurrentTime()
	l.noteEvent(core.FlowEvent{Kind: core.FlowFailed, When: now, Why: why.Error()},
		wire.Entry{At: now, Kind: "end", Choice: string(store.FlowFailed), Why: why.Error()})
	s.logUnkept(ctx, l, s.commit(ctx, l))
}

// forget drops a workflow that is over: whoever asks for it finds it in the store.
func (s *Service) forget(l *liveFlow) {
	s.mu.Lock()
	delete(s.live, l.rec.ID)
	s.mu.Unlock()
	l.signalChange()
}

// keep makes durable what changed, and lets those know who watch.
func (s *Service) keep(ctx context.Context, l *liveFlow, st *flowrun.State) {
	l.committing.Lock()
	l.takeState(st, s.Broker.CurrentTime())
	err := s.commit(ctx, l)
	l.committing.Unlock()
	s.logUnkept(ctx, l, err)
	l.signalChange()
}

func (s *Service) logUnkept(ctx context.Context, l *liveFlow, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, broker.ErrStopped) {
		s.Log.Error("keeping a workflow", "workflow", l.rec.ID, "error", err)
	}
}

// commit stores what happened, the tasks that changed, and the workflow itself if it
// changed. What cannot be stored now is stored the next time. Who calls it holds committing.
func (s *Service) commit(ctx context.Context, l *liveFlow) error {
	flows, tasks, entries := l.unsavedChanges()
	if len(flows)+len(tasks)+len(entries) == 0 {
		return nil
	}
	if err := s.Broker.CommitFlows(ctx, flows, tasks, entries); err != nil {
		return err
	}
	l.saved(flows, tasks, entries)
	return nil
}

func (s *Service) clock() clock.Clock {
	return func() time.Time { return momentOf(s.Broker.CurrentTime()) }
}

func momentOf(t core.Time) time.Time { return time.Unix(0, int64(t)) }

// CountOpen is how many workflows are not over.
func (s *Service) CountOpen() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

func (s *Service) liveFlow(id int64) *liveFlow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id]
}

// routesOf is the routes between clusters that were submitted; nil if there are none. Of
// others nothing is known.
func routesOf(list []api.FlowRoute) func(from, to string) flow.Route {
	if len(list) == 0 {
		return nil
	}
	type pair struct{ from, to string }
	known := make(map[pair]flow.Route, len(list))
	for _, r := range list {
		known[pair{r.From, r.To}] = flow.Route{Latency: r.LatencyS, PerByte: r.PerByteS}
	}
	return func(from, to string) flow.Route {
		if r, ok := known[pair{from, to}]; ok {
			return r
		}
		return flowrun.Unknown
	}
}

// decodeSpec reads a workflow as it was submitted.
func decodeSpec(data []byte) (*api.FlowSubmit, error) {
	spec := &api.FlowSubmit{}
	if err := json.Unmarshal(data, spec); err != nil {
		return nil, fmt.Errorf("the workflow as it was submitted: %w", err)
	}
	spec.RestoreMoments()
	return spec, nil
}
