package workpool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/itempool"
)

const (
	// lookInterval is how often it is looked whether a pool needs more workers.
	lookInterval = 500 * time.Millisecond
	// leaveTimeout is how long workers may take to leave when there is nothing more to do.
	leaveTimeout = 3 * time.Second
	// clusterInterval is how old the list of clusters may be: making it asks each cluster.
	clusterInterval = time.Second
)

func sleepContext(ctx context.Context, d time.Duration) bool { return clock.SleepContext(ctx, d) }

// carryOut has a pool's items done until they are counted, it is cancelled, or the broker ends.
func (s *Service) carryOut(ctx context.Context, l *livePool) {
	l.mu.Lock()
	known := slices.Sorted(maps.Keys(l.workers))
	l.mu.Unlock()
	for _, id := range known {
		s.follow(l, func(ctx context.Context) { s.followWorker(ctx, l, id) })
	}
	for ctx.Err() == nil {
		l.mu.Lock()
		left, failures, why := l.queue.Left(), l.failures, l.why
		l.mu.Unlock()
		switch {
		case l.isCancelled():
			s.finish(ctx, l, store.PoolCancelled, "")
			return
		case left == 0:
			s.finish(ctx, l, "", "")
			return
		case failures >= itempool.MaxWorkerFailures:
			s.finish(ctx, l, store.PoolFailed, fmt.Sprintf(
				"%d workers ended one after the other and completed no item; the last: %s", failures, why))
			return
		}
		if err := s.startWorkers(ctx, l); err != nil && !isEnding(ctx, err) {
			if badinput.Is(err) {
				s.finish(ctx, l, store.PoolFailed, err.Error())
				return
			}
			s.Log.Warn("a worker could not be started; it is tried again", "pool", l.rec.ID, "error", err)
		}
		if !s.commitSurely(l) {
			return
		}
		l.untilWoken(ctx)
	}
}

// untilWoken waits until there is something to look at, or it is time to.
func (l *livePool) untilWoken(ctx context.Context) {
	timer := time.NewTimer(lookInterval)
	defer timer.Stop()
	select {
	case <-l.wake:
	case <-timer.C:
	case <-l.stop:
	case <-ctx.Done():
	}
}

// startWorkers starts as many workers as the pool lacks.
func (s *Service) startWorkers(ctx context.Context, l *livePool) error {
	l.mu.Lock()
	load := l.load(0)
	l.mu.Unlock()
	if load.Waiting == 0 || load.Workers >= load.Max {
		return nil
	}
	idle, err := s.idleProcs(ctx, l)
	if err != nil {
		return err
	}
	load.Idle = idle
	for range load.MissingWorkers() {
		s.clusters.forgetList() // they will not be idle any more
		if err := s.startWorker(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// startWorker submits one more worker. Its key has its number, so that a broker that goes on
// after one that was killed does not submit it a second time.
func (s *Service) startWorker(ctx context.Context, l *livePool) error {
	l.mu.Lock()
	n := l.rec.Started
	l.mu.Unlock()
	spec := l.spec.Job
	spec.Argv = append([]string{poolwork.Program}, l.spec.Job.Argv...)
	spec.Env = maps.Clone(spec.Env)
	if spec.Env == nil {
		spec.Env = map[string]string{}
	}
	spec.Env[poolwork.PoolVariable] = fmt.Sprint(l.rec.ID)
	spec.Key = fmt.Sprintf("%s/%d", l.rec.Key, n)
	ids, err := s.Broker.SubmitJob(ctx, &spec, l.rec.Work)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.rec.Started = n + 1
	isNew := l.workers[ids[0]] == nil // else it has reported already
	if isNew {
		l.addWorker(ids[0], &worker{})
	}
	l.mu.Unlock()
	if isNew {
		s.follow(l, func(ctx context.Context) { s.followWorker(ctx, l, ids[0]) })
	}
	return nil
}

// followWorker sees what becomes of the job of a worker until it has ended.
func (s *Service) followWorker(ctx context.Context, l *livePool, id core.JobID) {
	for ctx.Err() == nil {
		ended := false
		err := s.Broker.FollowJob(ctx, fmt.Sprint(id), func(v *broker.View, _ []wire.Entry) error {
			ended = l.seeWorker(id, v)
			if ended {
				return errWorkerEnded
			}
			return nil
		})
		switch {
		case ended:
			l.wakeLoop()
			return
		case badinput.Is(err), errors.Is(err, store.ErrNoJob):
			l.dropWorker(id, false, "its job is gone")
			l.wakeLoop()
			return
		case isEnding(ctx, err):
			return
		}
		sleepContext(ctx, lookInterval)
	}
}

var errWorkerEnded = errors.New("the worker has ended")

// seeWorker notes how the job of a worker is, and tells whether it has ended.
func (l *livePool) seeWorker(id core.JobID, v *broker.View) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.workers[id]
	if w == nil {
		return true
	}
	l.noteEpoch(id, w, v.Epoch)
	isRunning := v.State == core.Running || v.State == core.Stopping
	if isRunning && v.Epoch == w.epoch {
		w.ran = v.Epoch
	}
	if !isRunning && w.ran == v.Epoch && w.ran > 0 { // its attempt is over, and it waits for the next
		l.countLost(l.queue.ReleaseWorker(itempool.WorkerID{Job: id, Epoch: w.ran}, v.State != core.Done))
	}
	if w.isRunning != isRunning {
		w.isRunning = isRunning
		l.wakeLoop()
	}
	if !v.State.IsTerminal() {
		return false
	}
	l.endWorker(id, w, v.State == core.Done, cmp.Or(v.Reason, v.State.String()))
	return true
}

// dropWorker forgets a worker.
func (l *livePool) dropWorker(id core.JobID, wasFine bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.workers[id]; w != nil {
		l.endWorker(id, w, wasFine, why)
	}
}

// endWorker takes back what a worker holds whose job has ended.
func (l *livePool) endWorker(id core.JobID, w *worker, wasFine bool, why string) {
	l.countLost(l.queue.ReleaseWorker(itempool.WorkerID{Job: id, Epoch: w.epoch}, !wasFine))
	delete(l.workers, id)
	l.rec.Workers = slices.DeleteFunc(slices.Clone(l.rec.Workers), func(other core.JobID) bool { return other == id })
	if !wasFine {
		l.failures, l.why = l.failures+1, why
	}
}

// finish ends a pool: its workers leave, or are cancelled, and then it is over. "" is the state
// that its items give it.
func (s *Service) finish(ctx context.Context, l *livePool, state store.PoolState, why string) {
	asked := map[core.JobID]bool{}
	began := s.Broker.CurrentTime()
	for ctx.Err() == nil {
		l.mu.Lock()
		var cancel []core.JobID
		for id, w := range l.workers { // order-free: each is asked by itself
			isLate := s.Broker.CurrentTime().Sub(began) > leaveTimeout
			if !asked[id] && (state != "" || !w.isRunning || isLate) {
				asked[id] = true
				cancel = append(cancel, id)
			}
		}
		workers := len(l.workers)
		l.mu.Unlock()
		if workers == 0 {
			break
		}
		for _, id := range cancel {
			end := s.Broker.CancelNow
			if state == store.PoolCancelled { // its user's programs may have to clear up
				end = s.Broker.CancelJob
			}
			s.follow(l, func(ctx context.Context) { _, _ = end(ctx, fmt.Sprint(id)) }) // who follows it tells its end
		}
		if !s.commitSurely(l) {
			return
		}
		l.untilQuiet(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	l.rec.Ended = s.Broker.CurrentTime()
	l.rec.State, l.rec.Why = state, why
	switch {
	case state == store.PoolCancelled:
		l.rec.Why = fmt.Sprintf("cancelled with %d of %d items done", l.rec.Done, l.rec.Items)
	case state == "" && l.rec.Failed > 0:
		l.rec.State, l.rec.Why = store.PoolFailed, fmt.Sprintf("%d of %d items failed", l.rec.Failed, l.rec.Items)
	case state == "":
		l.rec.State = store.PoolCompleted
	}
	l.mu.Unlock()
	if s.commitSurely(l) {
		s.forget(l)
	}
}

// untilQuiet waits a moment for the workers of a pool that is over to leave.
func (l *livePool) untilQuiet(ctx context.Context) {
	timer := time.NewTimer(lookInterval / 5)
	defer timer.Stop()
	select {
	case <-l.wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// clusterCache is the clusters as they were a moment ago.
type clusterCache struct {
	mu   sync.Mutex
	at   core.Time
	list []broker.ClusterView
}

func (c *clusterCache) forgetList() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = nil
}

// idleProcs is how many processors are free where workers of a pool may run.
func (s *Service) idleProcs(ctx context.Context, l *livePool) (int, error) {
	c := &s.clusters
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := s.Broker.CurrentTime(); c.list == nil || now.Sub(c.at) >= clusterInterval {
		list, err := s.Broker.ListClusters(ctx)
		if err != nil {
			return 0, err
		}
		c.list, c.at = list, now
	}
	idle := 0
	for i := range c.list {
		v := &c.list[i]
		if (len(l.spec.Job.On) == 0 || slices.Contains(l.spec.Job.On, v.Name)) && !v.Away && !v.Removed {
			idle += max(0, v.Idle) / max(1, l.spec.Job.Min)
		}
	}
	return idle, nil
}
