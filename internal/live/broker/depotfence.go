package broker

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/depot/httpdepot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/protocol/rendezvous"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
)

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
	return chunks, b.fences.FenceFor(caller, u.ID, chunks), nil
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
	b.fences.SetGrant(driver.AttemptID(a), b.grant(ctx, a.Cluster, trees...))
}
