package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/godwit-hpc/godwit/internal/live/store"
)

// poolChunkID names a chunk of a pool.
type poolChunkID struct {
	pool int64
	n    int
}

// mergedPools is the pools of a batch as they will be kept.
func (d *Disk) mergedPools(pools []store.Pool) ([]store.Pool, error) {
	type name struct {
		owner uint32
		key   string
	}
	taken, kept := map[name]int64{}, map[int64]store.Pool{}
	for id, p := range d.pools {
		taken[name{p.Owner, p.Key}], kept[id] = id, p
	}
	var list []store.Pool
	for i := range pools {
		in := &pools[i]
		p, err := roundTrip(*in)
		if err != nil {
			return nil, err
		}
		p.ID, p.Owner, p.Key, p.User, p.Submitted, p.Spec = in.ID, in.Owner, in.Key, in.User, in.Submitted,
			bytes.Clone(in.Spec)
		if is, there := taken[name{p.Owner, p.Key}]; there && is != p.ID {
			return nil, fmt.Errorf("key %q is that of pool %d", p.Key, is)
		}
		before, there := kept[p.ID]
		switch {
		case there && in.Spec == nil:
			p.Spec = before.Spec
		case in.Spec == nil:
			return nil, fmt.Errorf("pool %d is new and has no description", p.ID)
		}
		if there {
			delete(taken, name{before.Owner, before.Key})
		}
		taken[name{p.Owner, p.Key}], kept[p.ID] = p.ID, p
		list = append(list, p)
	}
	return list, nil
}

func (d *Disk) putPools(b *store.Batch, pools []store.Pool) {
	for _, p := range pools {
		d.pools[p.ID] = p
	}
	for _, c := range b.PoolChunks {
		d.poolChunks[poolChunkID{c.Pool, c.N}] = c
	}
}

// FindPool implements store.Store.
func (s *Store) FindPool(ctx context.Context, id int64) (*store.Pool, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, there := s.d.pools[id]
	if !there {
		return nil, fmt.Errorf("%w: %d", store.ErrNoPool, id)
	}
	p.Spec, p.Workers = bytes.Clone(p.Spec), slices.Clone(p.Workers)
	return &p, nil
}

// ListPools implements store.Store.
func (s *Store) ListPools(ctx context.Context, f store.FlowFilter) ([]store.Pool, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.Pool
	for _, p := range s.d.pools {
		if (!f.Open || !p.State.IsOver()) && (f.AllOwners || p.Owner == f.Owner) && (f.Key == "" || p.Key == f.Key) {
			p.Spec, p.Workers = nil, slices.Clone(p.Workers)
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b store.Pool) int { return cmp.Compare(b.ID, a.ID) })
	return firstN(list, f.Limit), nil
}

// ListPoolChunks implements store.Store.
func (s *Store) ListPoolChunks(ctx context.Context, id int64) ([]store.PoolChunk, error) {
	leave, err := s.lockDisk(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	var list []store.PoolChunk
	for key, c := range s.d.poolChunks {
		if key.pool == id {
			c.Counted, c.Failed = slices.Clone(c.Counted), slices.Clone(c.Failed)
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b store.PoolChunk) int { return cmp.Compare(a.N, b.N) })
	return list, nil
}
