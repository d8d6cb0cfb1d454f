package workpool

import (
	"context"
	"errors"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/itempool"
)

// idleWait is how many milliseconds a worker waits that got nothing.
const idleWait = 100

// TakeReport takes in what a worker says, and answers once that is durable.
func (s *Service) TakeReport(ctx context.Context, r *poolwork.Report) (*poolwork.Answer, error) {
	if err := r.CheckFields(); err != nil {
		return nil, &badinput.Error{Field: "report", Problem: err.Error()}
	}
	holds, err := poolwork.DecodeRanges(r.Holds, poolwork.MaxHeld)
	if err != nil {
		return nil, &badinput.Error{Field: "holds", Problem: err.Error()}
	}
	if err := s.untilBegun(ctx); err != nil {
		return nil, err
	}
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return nil, err
	}
	epoch, err := s.Broker.CheckAttempt(ctx, r.Job, r.Mark)
	switch {
	case errors.Is(err, broker.ErrAttemptOver):
		return &poolwork.Answer{Leave: true}, nil
	case err != nil:
		return nil, err
	}
	l := s.livePool(r.Pool)
	if l == nil || l.rec.Owner != owner.ID {
		return &poolwork.Answer{Leave: true}, nil
	}
	w := itempool.WorkerID{Job: r.Job, Epoch: epoch}
	drop, err := s.countReport(l, w, r, holds)
	if err != nil {
		return &poolwork.Answer{Leave: true}, nil //nolint:nilerr // it is of an attempt that is over
	}
	if len(r.Outcomes) > 0 {
		if err := s.commit(l); err != nil {
			return nil, err
		}
	}
	answer := l.giveItems(w, r.Leaving)
	answer.Drop = poolwork.EncodeRanges(drop)
	if answer.Leave {
		l.wakeLoop()
	}
	return answer, nil
}

// countReport counts what a worker has done.
func (s *Service) countReport(l *livePool, w itempool.WorkerID, r *poolwork.Report,
	holds []int) (drop []int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !s.admitWorker(l, w) {
		return nil, broker.ErrAttemptOver
	}
	done, byItem := make([]int, len(r.Outcomes)), make(map[int]*poolwork.Outcome, len(r.Outcomes))
	for i := range r.Outcomes {
		done[i] = r.Outcomes[i].Item
		byItem[done[i]] = &r.Outcomes[i]
	}
	count, drop := l.queue.TakeReport(w, done, holds)
	for _, item := range count {
		l.countOutcome(&poolwork.Record{Outcome: *byItem[item]})
	}
	if len(count) > 0 {
		l.failures = 0
		// What was counted before, or belongs to others, took its part of the time.
		l.rec.Seconds += r.Seconds * float64(len(count)) / float64(len(done))
	}
	if l.queue.Left() == 0 {
		l.wakeLoop()
	}
	return drop, nil
}

// admitWorker tells whether a worker may report: that of an attempt that another has followed
// may not, whatever it still has to say. One that nobody knows was submitted by a broker that
// was killed before it could note that.
func (s *Service) admitWorker(l *livePool, w itempool.WorkerID) bool {
	known := l.workers[w.Job]
	if known == nil {
		if l.rec.State != store.PoolRunning {
			return false
		}
		known = &worker{}
		l.addWorker(w.Job, known)
		s.follow(l, func(ctx context.Context) { s.followWorker(ctx, l, w.Job) })
	}
	if w.Epoch < known.epoch {
		return false
	}
	l.noteEpoch(w.Job, known, w.Epoch)
	return true
}

// addWorker notes a job that is a worker of the pool.
func (l *livePool) addWorker(id core.JobID, w *worker) {
	l.workers[id] = w
	if !slices.Contains(l.rec.Workers, id) {
		l.rec.Workers = append(slices.Clone(l.rec.Workers), id)
	}
}

// noteEpoch takes back what an earlier attempt of a worker holds.
func (l *livePool) noteEpoch(id core.JobID, w *worker, epoch core.Epoch) {
	if epoch <= w.epoch {
		return
	}
	if w.epoch > 0 {
		l.countLost(l.queue.ReleaseWorker(itempool.WorkerID{Job: id, Epoch: w.epoch}, true))
	}
	w.epoch, w.isLeaving = epoch, false
}

// giveItems answers a worker.
func (l *livePool) giveItems(w itempool.WorkerID, isLeaving bool) *poolwork.Answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.workers[w.Job]
	if known == nil || known.epoch != w.Epoch || l.isCancelled() || l.rec.State != store.PoolRunning {
		return &poolwork.Answer{Leave: true}
	}
	if isLeaving {
		known.isLeaving = true
		return &poolwork.Answer{Leave: true}
	}
	load := l.load(0)
	holds := l.queue.HeldBy(w)
	items := l.queue.GiveItems(w, load.BatchSize(holds))
	answer := &poolwork.Answer{Items: poolwork.EncodeRanges(items)}
	slices.Sort(items) // as the ranges have them
	for _, item := range items {
		answer.Texts = append(append(answer.Texts, l.items[item]...), '\n')
	}
	if holds+len(items) == 0 {
		if answer.Leave = load.MayLeave(); answer.Leave {
			known.isLeaving = true
		}
		answer.Wait = idleWait
	}
	return answer
}
