package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/protocol/api"
)

// neededTrees are the trees that some job, or a later one, needs.
func (b *Broker) neededTrees(ctx context.Context) ([]depot.ID, error) {
	trees, err := b.opt.Store.ListRoots(ctx)
	if err != nil {
		return nil, err
	}
	staged, err := b.stagedRoots(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]depot.ID, 0, len(trees)+len(staged))
	for _, tree := range append(trees, staged...) {
		ids = append(ids, depot.ID(tree))
	}
	return ids, nil
}

// DepotUsage says what is in the depot of who asks, for which job, and how much of
// it nobody needs that was not used within olderThan.
func (b *Broker) DepotUsage(ctx context.Context, olderThan time.Duration) (api.DepotUsage, error) {
	u := api.DepotUsage{Held: []api.DepotHeld{}}
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return u, err
	}
	roots, err := b.neededTrees(ctx)
	if err != nil {
		return u, err
	}
	disk, err := chunks.DiskUsage(ctx, roots, olderThan)
	if err != nil {
		return u, err
	}
	u.Bytes, u.Unused = disk.Bytes, disk.Unused
	u.Held, err = b.heldInDepot(ctx, chunks)
	return u, err
}

// heldInDepot lists what open jobs of who asks need.
func (b *Broker) heldInDepot(ctx context.Context, chunks *depot.Store) ([]api.DepotHeld, error) {
	jobs, err := b.opt.Store.ListJobs(ctx, store.Filter{Open: true})
	if err != nil {
		return nil, err
	}
	held := []api.DepotHeld{}
	for i := range jobs {
		rec := &jobs[i]
		if !b.ownsJob(ctx, rec) {
			continue
		}
		name := ""
		if rec.Spec != nil {
			name = rec.Spec.Name
		}
		add := func(what, tree string) {
			if t, err := depot.LoadTree(ctx, chunks, depot.ID(tree)); tree != "" && err == nil {
				held = append(held, api.DepotHeld{Job: rec.ID, Name: name, User: rec.User, What: what, Bytes: treeBytes(t),
					AgeS: b.brokerTime().Sub(rec.Submitted).Seconds()})
			}
		}
		add("working directory", rec.Work)
		add("results", rec.Result)
		for _, in := range rec.Inputs {
			add("input "+in.From, in.Tree)
		}
		saved, err := b.opt.Store.ListCheckpoints(ctx, rec.ID)
		if err != nil {
			return nil, err
		}
		for _, s := range saved {
			add(fmt.Sprintf("checkpoint %d", s.N), s.Image)
			add(fmt.Sprintf("working directory at checkpoint %d", s.N), s.Work)
		}
	}
	slices.SortStableFunc(held, func(a, b api.DepotHeld) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return held, ctx.Err()
}

func treeBytes(t *depot.Tree) int64 {
	n := int64(0)
	for i := range t.Entries {
		n += t.Entries[i].Size
	}
	return n
}

// PruneDepot frees what no job of who asks needs and what was not used within
// olderThan.
func (b *Broker) PruneDepot(ctx context.Context, olderThan time.Duration) (api.DepotUsage, error) {
	chunks, err := b.depotFor(ctx)
	if err != nil {
		return api.DepotUsage{}, err
	}
	roots, err := b.neededTrees(ctx)
	if err != nil {
		return api.DepotUsage{}, err
	}
	c, err := chunks.CollectGarbage(ctx, roots, olderThan)
	if err != nil {
		return api.DepotUsage{}, err
	}
	u, err := b.DepotUsage(ctx, olderThan)
	u.Freed = c.Bytes
	return u, err
}
