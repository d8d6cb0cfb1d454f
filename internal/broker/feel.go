package broker

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/core"
)

// feel keeps the engine told of what a newcomer would get in each cluster, while
// there is anybody to be placed or moved.
func (b *Broker) feel(ctx context.Context) {
	for pause(ctx, b.opt.Sample) {
		if n, err := b.Live(ctx); err == nil && n > 0 {
			b.feelOnce(ctx)
		}
	}
}

// worthTelling is a change of the share that may change a decision.
const worthTelling = 0.1

func (b *Broker) feelOnce(ctx context.Context) {
	for _, c := range b.clusters {
		load, err := c.Driver.Load(ctx)
		if err != nil {
			continue
		}
		load.Share = min(1, max(0.01, load.Share))
		c.mu.Lock()
		c.load = load
		tell := load.Share-c.told >= worthTelling || c.told-load.Share >= worthTelling
		if tell {
			c.told = load.Share
		}
		c.mu.Unlock()
		if tell {
			b.tell(func(t *turn) { t.step(&core.Input{Kind: core.Felt, Cluster: c.id, Done: load.Share}) })
		}
	}
}
