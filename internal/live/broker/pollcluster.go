package broker

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// felt is what a newcomer would meet in a cluster.
type felt struct {
	share float64 // of a processor; 0: the cluster is out of reach
	wait  float64 // seconds in its queue
}

// worthTelling reports whether the change may change a decision.
func (f felt) worthTelling(was felt) bool {
	const share, wait, part = 0.1, 5, 0.2
	return (f.share == 0) != (was.share == 0) || math.Abs(f.share-was.share) >= share ||
		math.Abs(f.wait-was.wait) >= max(wait, part*max(f.wait, was.wait))
}

// feel keeps the engine told of what a newcomer would meet in a cluster, while
// there is anybody to be placed or moved.
func (b *Broker) feel(ctx context.Context, id core.ClusterID) {
	for pause(ctx, b.opt.Sample) {
		b.tidyCluster(ctx, id)
		c := b.clusters()[id]
		if c.Removed {
			continue
		}
		if n, err := b.Live(ctx); err == nil && n > 0 {
			b.feelOnce(ctx, c)
			if b.patterns.Load() {
				b.tellNetwork(c)
			}
		}
	}
}

// atSubmission is how long a submission waits for clusters to say how they are.
const atSubmission = 2 * time.Second

// feelAll asks all clusters at once.
func (b *Broker) feelAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, atSubmission)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range b.offered() {
		all.Go(func() { b.feelOnce(ctx, c) })
	}
	all.Wait()
}

// toAnswer is how long a cluster may take to say how it is.
const toAnswer = 30 * time.Second

func (b *Broker) feelOnce(ctx context.Context, c *cluster) {
	ctx, cancel := context.WithTimeout(ctx, toAnswer)
	defer cancel()
	load, err := c.Driver.Load(ctx)
	if err != nil && !errors.Is(err, driver.ErrAway) {
		return
	}
	now := felt{}
	if err == nil {
		load.Share = min(1, max(0.01, load.Share))
		now.share = load.Share
		if e, ok := c.Driver.(driver.Estimator); ok && c.Managed {
			if w, err := e.Wait(ctx, driver.Need{Procs: 1}); err == nil && w.Known {
				now.wait = max(0, w.Seconds)
			}
		}
	}
	c.mu.Lock()
	back := c.away != nil && err == nil
	gone := c.away == nil && err != nil
	c.away, c.wait = err, now.wait
	if err == nil {
		c.load = load
	}
	tell := now.worthTelling(c.told)
	if tell {
		c.told = now
	}
	c.mu.Unlock()
	switch {
	case gone:
		b.opt.Log.Warn("out of reach", "cluster", c.Name, "error", err)
	case back:
		b.opt.Log.Info("within reach again", "cluster", c.Name)
		c.askAgain() // it may be another than it was
	}
	if tell {
		b.tell(func(t *turn) {
			t.step(&core.Input{Kind: core.Felt, Cluster: c.id, Reachable: now.share > 0, Share: now.share,
				QueueWait: int(min(now.wait, math.MaxInt32))})
		})
	}
}

// outOfReach is why a cluster cannot be asked; nil if it can.
func (c *cluster) outOfReach() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}
