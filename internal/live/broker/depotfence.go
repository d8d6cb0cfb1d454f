package broker

import (
	"context"
	"sync"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

// depotFences say what the clusters may ask the depots of users about: the trees of the
// attempts that they run, and what they brought themselves.
type depotFences struct {
	mu       sync.Mutex
	of       map[fenceKey]*httpdepot.Fence
	attempts map[driver.ID]func() // revokes what was granted for an attempt
}

// fenceKey is whose depot is asked from where.
type fenceKey struct {
	caller string // word of the cluster, see rendezvous.CallerWord
	owner  uint32
}

// DepotFrom is the depot of who asks, and what may be asked about it from a cluster that
// rendezvous.CallerOf names.
func (b *Broker) DepotFrom(ctx context.Context, caller string) (*depot.Store, *httpdepot.Fence, error) {
	u, err := b.requestUser(ctx)
	if err != nil {
		return nil, nil, err
	}
	chunks, err := b.depotFor(ctx)
	if err != nil || chunks == nil {
		return chunks, nil, err
	}
	b.fences.mu.Lock()
	defer b.fences.mu.Unlock()
	key := fenceKey{caller, u.ID}
	if b.fences.of == nil {
		b.fences.of, b.fences.attempts = map[fenceKey]*httpdepot.Fence{}, map[driver.ID]func(){}
	}
	if b.fences.of[key] == nil {
		b.fences.of[key] = httpdepot.NewFence(chunks)
	}
	return chunks, b.fences.of[key], nil
}

// grant lets a cluster ask about trees of the depot of who asks until revoke is called.
func (b *Broker) grant(ctx context.Context, cluster string, trees ...string) (revoke func()) {
	_, fence, err := b.DepotFrom(ctx, rendezvous.CallerWord(cluster))
	if err != nil || fence == nil {
		return func() {}
	}
	var list []func()
	for _, tree := range trees {
		if tree != "" {
			list = append(list, fence.Grant(depot.ID(tree)))
		}
	}
	return func() {
		for _, f := range list {
			f()
		}
	}
}

// grantAttempt lets a cluster ask about what an attempt needs until it is released.
func (b *Broker) grantAttempt(ctx context.Context, a *wire.Attempt) {
	trees := []string{a.Work}
	for i := range a.Saved {
		trees = append(trees, a.Saved[i].Image, a.Saved[i].Work)
	}
	for i := range a.Inputs {
		trees = append(trees, a.Inputs[i].Tree)
	}
	b.setGrant(driver.ID{Job: a.Job, Epoch: a.Epoch}, b.grant(ctx, a.Cluster, trees...))
}

// setGrant remembers how to revoke what was granted for an attempt; nil revokes it.
func (b *Broker) setGrant(id driver.ID, revoke func()) {
	b.fences.mu.Lock()
	before := b.fences.attempts[id]
	switch {
	case revoke == nil:
		delete(b.fences.attempts, id)
	case b.fences.attempts == nil: // there is no depot
	default:
		b.fences.attempts[id] = revoke
	}
	b.fences.mu.Unlock()
	if before != nil {
		before()
	}
}
