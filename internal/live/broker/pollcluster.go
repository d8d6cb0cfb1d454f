package broker

import (
	"context"
	"errors"
	"math"
	"slices"
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

// pollAway asks a cluster that did not take an attempt whether it is out of reach, so that the engine knows before it
// is told of the attempt: it places the job elsewhere then, and not there again.
func (b *Broker) pollAway(c *cluster) {
	ctx, cancel := context.WithTimeout(b.ctx, submissionTimeout)
	defer cancel()
	b.pollLoad(ctx, c)
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
	lost, tellLost := c.lostHosts(&load, err)
	c.mu.Unlock()
	switch {
	case gone:
		b.opt.Log.Warn("out of reach", "cluster", c.Name, "error", err)
	case back:
		b.opt.Log.Info("within reach again", "cluster", c.Name)
		c.askAgain() // it may be another than it was
	}
	if tellLost {
		// Nothing new is placed there; what runs there may run on.
		b.postToLoop(func(t *turn) {
			t.stepEngine(&core.Input{Kind: core.Polled, Cluster: c.id, Procs: c.procsOnHosts(lost)})
		})
	}
	if err == nil {
		b.tellUsage(c, &load)
	}
	if tell {
		b.postToLoop(func(t *turn) {
			t.stepEngine(&core.Input{Kind: core.Felt, Cluster: c.id, Reachable: now.share > 0, Share: now.share,
				QueueWait: int(min(now.wait, math.MaxInt32))})
		})
	}
}

// lostHosts is the hosts of a cluster that are out of reach while others are not, if the engine is to be told. The
// engine of a broker that has just started may know of others. It is called with c.mu held.
func (c *cluster) lostHosts(load *driver.Load, err error) (hosts []int, tell bool) {
	if err != nil || c.Managed || len(c.Hosts) < 2 || c.lost != nil && slices.Equal(load.Away, c.lost) {
		return nil, false
	}
	c.lost = append([]int{}, load.Away...)
	return c.lost, true
}

// heldByOthers is what the manager of a cluster says of its processors, as far as the engine has to know it; the zero
// value: nothing yet.
type heldByOthers struct {
	known         bool
	procs, others int // of all hosts; of these, those that cannot be had
}

// tellUsage notes what the manager of a cluster says of its processors, and tells the engine if that is new.
func (b *Broker) tellUsage(c *cluster, load *driver.Load) {
	if !c.Managed || load.Usage == nil {
		return
	}
	c.mu.Lock()
	was := c.used
	c.used = usageFromLoad(load)
	isNew := c.used != was
	c.mu.Unlock()
	if isNew {
		b.postToLoop(func(t *turn) { t.tellOthers(c) })
	}
}

func usageFromLoad(load *driver.Load) heldByOthers {
	return heldByOthers{known: true, procs: load.Usage.Procs, others: load.Usage.Others}
}

// withinOffer counts how many of the processors that the settings offer others hold: where not all are offered, they
// hold the rest first.
func (u heldByOthers) withinOffer(offered int) int {
	return offered - min(offered, max(0, u.procs-u.others))
}

// tellOthers tells the engine how many processors of a cluster with a queue of its own others hold, as noted last.
// Which they are is the manager's business: those with the lowest numbers stand for them.
func (t *turn) tellOthers(c *cluster) {
	c.mu.Lock()
	used := c.used
	c.mu.Unlock()
	v := t.b.eng.Cluster(c.id)
	n := used.withinOffer(v.Procs)
	if !used.known || n == v.Others {
		return
	}
	var procs core.ProcSet
	if n > 0 {
		procs = core.ProcSet{{Lo: 0, Hi: int32(n)}}
	}
	t.stepEngine(&core.Input{Kind: core.Polled, Cluster: c.id, Procs: procs})
}

// procsOnHosts is the processors of some hosts.
func (c *cluster) procsOnHosts(hosts []int) core.ProcSet {
	var set core.ProcSet
	begin := int32(0)
	for i := range c.Hosts {
		end := begin + int32(c.Hosts[i].Procs)
		if slices.Contains(hosts, i) {
			set = set.Union(core.ProcSet{{Lo: begin, Hi: end}})
		}
		begin = end
	}
	return set
}

// outOfReach is why a cluster cannot be asked; nil if it can.
func (c *cluster) outOfReach() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.away
}
