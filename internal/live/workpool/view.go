package workpool

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/live/broker"
	"github.com/godwit-hpc/godwit/internal/live/joblog"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
	"github.com/godwit-hpc/godwit/internal/protocol/poolwork"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

func noSuchPool(ref string) error {
	return &badinput.Error{Problem: "no such pool: " + ref + " (godwit pool ps --all lists all pools)"}
}

// find is the number of a pool that who asks may see: by its number, or last.
func (s *Service) find(ctx context.Context, ref string) (int64, error) {
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return 0, err
	}
	if id, err := strconv.ParseInt(ref, 10, 64); err == nil {
		rec, err := s.Store.FindPool(ctx, id)
		if errors.Is(err, store.ErrNoPool) || err == nil && owner.ID != 0 && rec.Owner != owner.ID {
			return 0, noSuchPool(ref)
		}
		return id, err
	}
	own, err := s.Store.ListPools(ctx, store.FlowFilter{Owner: owner.ID, Limit: 1})
	if err != nil {
		return 0, err
	}
	if ref != "last" || len(own) == 0 {
		return 0, noSuchPool(ref)
	}
	return own[0].ID, nil
}

// ListPools lists the pools of who asks, newest first: those that are not over and the last few,
// or all.
func (s *Service) ListPools(ctx context.Context, all bool) ([]api.Pool, error) {
	const few = 20
	owner, err := s.Broker.RequestUser(ctx)
	if err != nil {
		return nil, err
	}
	filter := store.FlowFilter{Owner: owner.ID, AllOwners: owner.ID == 0}
	if !all {
		filter.Limit = few
	}
	recs, err := s.Store.ListPools(ctx, filter)
	if err == nil && !all {
		filter.Limit, filter.Open = 0, true
		var open []store.Pool
		open, err = s.Store.ListPools(ctx, filter)
		recs = append(recs, open...)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(recs, func(a, b store.Pool) int { return cmp.Compare(b.ID, a.ID) })
	recs = slices.CompactFunc(recs, func(a, b store.Pool) bool { return a.ID == b.ID })
	list := make([]api.Pool, 0, len(recs))
	for i := range recs {
		if l := s.livePool(recs[i].ID); l != nil {
			list = append(list, s.liveView(l))
		} else {
			list = append(list, viewOf(&recs[i]))
		}
	}
	return list, nil
}

// GetPool is one pool.
func (s *Service) GetPool(ctx context.Context, ref string) (api.Pool, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return api.Pool{}, err
	}
	return s.getPool(ctx, id)
}

func (s *Service) getPool(ctx context.Context, id int64) (api.Pool, error) {
	if l := s.livePool(id); l != nil {
		return s.liveView(l), nil
	}
	rec, err := s.Store.FindPool(ctx, id)
	if err != nil {
		return api.Pool{}, err
	}
	return viewOf(rec), nil
}

// liveView is a pool as it is in the store: nobody is told what a crash could undo.
func (s *Service) liveView(l *livePool) api.Pool {
	now := s.Broker.CurrentTime()
	l.mu.Lock()
	defer l.mu.Unlock()
	p := viewOf(&l.stored)
	for _, w := range l.workers { // order-free: they are counted
		p.Workers++
		if !w.isRunning {
			p.Queued++
		}
	}
	p.ItemsPerS = l.speed.itemsPerSecond()
	if left := p.Items - p.Done - p.Failed; p.ItemsPerS > 0 && left > 0 {
		p.PredictedEnd = api.TimeAt(now.Add(core.DurationFromSeconds(float64(left) / p.ItemsPerS)))
	}
	return p
}

// viewOf is a pool as the surface has it.
func viewOf(rec *store.Pool) api.Pool {
	p := api.Pool{ID: rec.ID, User: rec.User, Name: rec.Name, State: string(rec.State), Why: rec.Why,
		Submitted: api.TimeAt(rec.Submitted), Ended: api.TimeAt(rec.Ended), Items: rec.Items, Done: rec.Done,
		Failed: rec.Failed, Started: rec.Started}
	n := float64(rec.Done + rec.Failed)
	if n > 0 {
		p.ItemS = rec.Seconds / n
	}
	if rec.Ended > rec.Submitted {
		p.ItemsPerS = n / rec.Ended.Sub(rec.Submitted).Seconds()
	}
	return p
}

// maxFailuresListed is how many items that failed are listed.
const maxFailuresListed = 1000

// ListFailures lists the first of the items that failed.
func (s *Service) ListFailures(ctx context.Context, ref string) ([]api.PoolFailure, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	rec, err := s.Store.FindPool(ctx, id)
	if err != nil {
		return nil, err
	}
	spec, err := decodeSpec(rec.Spec)
	if err != nil {
		return nil, err
	}
	chunks, err := s.Store.ListPoolChunks(ctx, id)
	if err != nil {
		return nil, err
	}
	items := poolwork.SplitItems(spec.Items)
	list := []api.PoolFailure{}
	for i := range chunks {
		slices.SortFunc(chunks[i].Failed, func(a, b store.PoolFailure) int { return cmp.Compare(a.Item, b.Item) })
		for _, f := range chunks[i].Failed {
			if f.Item < len(items) && len(list) < maxFailuresListed {
				list = append(list, api.PoolFailure{Item: f.Item + 1, Text: string(items[f.Item]), Code: f.Code, Lost: f.Lost})
			}
		}
	}
	return list, nil
}

// CancelPool ends a pool: its workers are cancelled. It returns when none of them is left.
func (s *Service) CancelPool(ctx context.Context, ref string) (api.Pool, error) {
	id, err := s.find(ctx, ref)
	if err != nil {
		return api.Pool{}, err
	}
	l := s.livePool(id)
	if l == nil {
		return s.getPool(ctx, id)
	}
	l.mu.Lock()
	if l.rec.State == store.PoolRunning {
		l.rec.State, l.rec.Why = store.PoolCancelling, "cancelled by its user"
	}
	l.mu.Unlock()
	if err := s.commit(l); err != nil {
		return api.Pool{}, err
	}
	l.cancel()
	for {
		next := l.nextChange()
		if s.livePool(id) != l {
			return s.getPool(ctx, id)
		}
		if err := s.waitChange(ctx, next); err != nil {
			return api.Pool{}, err
		}
	}
}

// waitChange waits for a change, for a second at most; an error says that the asker or the
// broker is leaving.
func (s *Service) waitChange(ctx context.Context, next <-chan struct{}) error {
	s.mu.Lock()
	own := s.ctx
	s.mu.Unlock()
	if own == nil {
		return broker.ErrStopped
	}
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-next:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-own.Done():
		return broker.ErrStopped
	}
	return nil
}

// watchPause is the least time between two states that are told.
const watchPause = 100 * time.Millisecond

// WatchPool calls see with the state of a pool whenever it changed, and at least every second,
// until it is over.
func (s *Service) WatchPool(ctx context.Context, ref string, see func(p *api.Pool) error) error {
	id, err := s.find(ctx, ref)
	if err != nil {
		return err
	}
	for l := s.livePool(id); l != nil; {
		next := l.nextChange()
		if s.livePool(id) != l {
			break
		}
		if p := s.liveView(l); !p.IsOver() { // else it is forgotten in a moment
			if err := see(&p); err != nil {
				return err
			}
		}
		if err := s.waitChange(ctx, next); err != nil {
			return err
		}
		sleepContext(ctx, watchPause)
	}
	p, err := s.getPool(ctx, id)
	if err != nil {
		return err
	}
	return see(&p)
}

// CopyOutcomes copies what became of the items of a pool, as it is written down, from an offset
// on, until the pool is over.
func (s *Service) CopyOutcomes(ctx context.Context, ref string, offset int64, write func([]byte) error) error {
	id, err := s.find(ctx, ref)
	if err != nil {
		return err
	}
	log := joblog.Open(s.poolDir(id), "outcomes", joblog.Limits{})
	if err := write(nil); err != nil { // who asks is to know that there is somebody
		return err
	}
	buf := make([]byte, 256<<10)
	for {
		l := s.livePool(id)
		var end int64
		var next <-chan struct{}
		if l != nil {
			next = l.nextChange()
			l.mu.Lock()
			end = l.stored.Output
			l.mu.Unlock()
		} else {
			rec, err := s.Store.FindPool(ctx, id)
			if err != nil {
				return err
			}
			end = rec.Output
		}
		for offset < end {
			n, from, err := log.ReadAt(buf[:min(int64(len(buf)), end-offset)], offset)
			if err != nil || from != offset {
				if errors.Is(err, io.EOF) { // it was dropped long after its end
					return nil
				}
				return cmp.Or(err, errOutcomes)
			}
			if err := write(buf[:n]); err != nil {
				return err
			}
			offset += int64(n)
		}
		if l == nil {
			return nil
		}
		if err := s.waitChange(ctx, next); err != nil {
			return err
		}
	}
}

var errOutcomes = errors.New("the outcomes of this pool are not whole")

// outputsLeft is how many bytes of outcomes may still be kept of the pools of a user; less than
// 0: any number.
func (s *Service) outputsLeft(ctx context.Context, of *store.Pool) (int64, error) {
	if s.MaxOutput <= 0 {
		return -1, nil
	}
	left := s.MaxOutput
	recs, err := s.Store.ListPools(ctx, store.FlowFilter{Owner: of.Owner})
	for i := range recs {
		if _, err := os.Stat(s.poolDir(recs[i].ID)); err == nil {
			left -= recs[i].Output
		}
	}
	return max(0, left), err
}

// clearInterval is how often it is looked what of pools can be dropped.
const clearInterval = 10 * time.Minute

// clearOutcomes drops what is kept of pools that ended long ago, until ctx ends.
func (s *Service) clearOutcomes(ctx context.Context) {
	for {
		if err := s.dropOutcomes(ctx); err != nil && ctx.Err() == nil {
			s.Log.Error("clearing up outcomes of pools", "error", err)
		}
		if !sleepContext(ctx, clearInterval) {
			return
		}
	}
}

func (s *Service) dropOutcomes(ctx context.Context) error {
	if s.Keep <= 0 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Dir(s.poolDir(0)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		id, err := strconv.ParseInt(e.Name(), 10, 64)
		if err != nil {
			continue
		}
		rec, err := s.Store.FindPool(ctx, id)
		switch {
		case errors.Is(err, store.ErrNoPool):
		case err != nil:
			return err
		case !rec.State.IsOver() || s.Broker.CurrentTime().Sub(rec.Ended) < s.Keep:
			continue
		}
		if err := os.RemoveAll(s.poolDir(id)); err != nil {
			return err
		}
	}
	return nil
}
