package broker

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/clock"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// reportedLoad is what a newcomer would meet in a cluster.
type reportedLoad struct {
	share float64 // of a processor; 0: the cluster is out of reach
	wait  float64 // seconds in its queue
}

// isWorthReporting reports whether the change may change a decision.
func (f reportedLoad) isWorthReporting(was reportedLoad) bool {
	const share, wait, part = 0.1, 5, 0.2
	return (f.share == 0) != (was.share == 0) || math.Abs(f.share-was.share) >= share ||
		math.Abs(f.wait-was.wait) >= max(wait, part*max(f.wait, was.wait))
}

// pollLoadLoop keeps the engine told of what a newcomer would meet in a cluster, while
// there is anybody to be placed or moved.
func (b *Broker) pollLoadLoop(ctx context.Context, id core.ClusterID) {
	for clock.SleepContext(ctx, b.opt.Sample) {
		b.tidyCluster(ctx, id)
		c := b.allClusters()[id]
		if c.Removed {
			continue
		}
		if n, err := b.CountLive(ctx); err == nil && n > 0 {
			b.pollLoad(ctx, c)
			if b.patterns.Load() {
				b.tellNetwork(c)
			}
		}
	}
}

// submissionTimeout is how long a submission waits for clusters to say how they are.
const submissionTimeout = 2 * time.Second

// pollAllLoads asks all clusters at once.
func (b *Broker) pollAllLoads(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, submissionTimeout)
	defer cancel()
	var all sync.WaitGroup
	for _, c := range b.offeredClusters() {
		all.Go(func() { b.pollLoad(ctx, c) })
	}
	all.Wait()
}

// clusterTimeout is how long a cluster may take to say how it is.
const clusterTimeout = 30 * time.Second

func (b *Broker) pollLoad(ctx context.Context, c *cluster) {
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	load, err := c.Driver.MeasureLoad(ctx)
	if err != nil && !errors.Is(err, driver.ErrAway) {
		return
	}
	now := reportedLoad{}
	if err == nil {
		load.Share = min(1, max(0.01, load.Share))
		now.share = load.Share
		if e, ok := c.Driver.(driver.Estimator); ok && c.Managed {
			if w, err := e.EstimateWait(ctx, driver.Need{Procs: 1}); err == nil && w.Known {
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
	tell := now.isWorthReporting(c.told)
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
		b.postToLoop(func(t *turn) {
			t.stepEngine(&core.Input{Kind: core.Felt, Cluster: c.id, Reachable: now.share > 0, Share: now.share,
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
