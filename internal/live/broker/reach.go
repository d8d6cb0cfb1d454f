package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Whether the hosts of two clusters reach each other matters to jobs that are one MPI program. When one is submitted
// the sensors of the clusters where its parts may run try it, so that it is refused before anything is claimed. Where
// there is none, or it is on a login node, which may reach more than the hosts behind it, the agents of the parts find
// out before they begin.

const (
	// reachMaxAge is how long what was tried counts.
	reachMaxAge = 10 * time.Second
	// maxReachClusters is how many clusters at most try each other for one job; of more its agents find out.
	maxReachClusters = 8
	reachTries       = 2 // a host may be out of reach for a moment
)

// reachTimes is when clusters last tried to reach each other.
type reachTimes struct {
	mu    sync.Mutex
	tried map[[2]core.ClusterID]core.Time
}

// isDue reports whether two clusters are to try again, and takes it that they do.
func (r *reachTimes) isDue(pair [2]core.ClusterID, now core.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, known := r.tried[pair]; known && now.Sub(at) < reachMaxAge {
		return false
	}
	if r.tried == nil {
		r.tried = map[[2]core.ClusterID]core.Time{}
	}
	r.tried[pair] = now
	return true
}

// forget has two clusters try again at once: it could not be tried.
func (r *reachTimes) forget(pair [2]core.ClusterID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tried, pair)
}

// tryReaching tells the engine which of the clusters where the parts of a job may run reach each other, as far as
// their sensors can tell.
func (b *Broker) tryReaching(ctx context.Context, places []componentPlace) {
	list := b.reachingClusters(places)
	if len(list) > maxReachClusters {
		return
	}
	var tries sync.WaitGroup
	for i, one := range list {
		for _, other := range list[:i] {
			pair := [2]core.ClusterID{other.id, one.id}
			if one.Site == other.Site || one.isIsolated() || other.isIsolated() || !b.reach.isDue(pair, b.brokerTime()) {
				continue
			}
			tries.Go(func() { b.tryPair(ctx, pair) })
		}
	}
	tries.Wait()
}

// reachingClusters are the clusters where some part may run and whose hosts have sensors.
func (b *Broker) reachingClusters(places []componentPlace) []*cluster {
	var list []*cluster
	for _, c := range b.offeredClusters() {
		if !c.Managed && b.sensorOf(c) >= 0 && slices.ContainsFunc(places, func(p componentPlace) bool {
			return len(p.allowed) == 0 || slices.Contains(p.allowed, c.id)
		}) {
			list = append(list, c)
		}
	}
	return list
}

// sensorOf is the number of a sensor on a host of a cluster; -1: there is none, or it is not to probe.
func (b *Broker) sensorOf(c *cluster) int {
	if b.weather.watch == nil || b.opt.Weather.Off {
		return -1
	}
	if c.Site == "" {
		return 0 // that of the broker's own machine
	}
	return slices.Index(b.weather.whose, c.Name)
}

// tryPair has hosts of two clusters try to reach each other, and tells the engine.
func (b *Broker) tryPair(ctx context.Context, pair [2]core.ClusterID) {
	one, other := b.sensorOf(b.allClusters()[pair[0]]), b.sensorOf(b.allClusters()[pair[1]])
	reached := true
	for _, way := range [][2]int{{one, other}, {other, one}} {
		there, err := b.tryWay(ctx, way)
		if err != nil {
			b.reach.forget(pair)
			return // its agents find out
		}
		reached = reached && there
	}
	b.postToLoop(func(t *turn) {
		t.stepEngine(&core.Input{Kind: core.FoundApart, Cluster: pair[0], Aim: core.AimAt(pair[1]), Reachable: reached})
	})
}

func (b *Broker) tryWay(ctx context.Context, way [2]int) (reached bool, err error) {
	for range reachTries {
		if reached, err = b.weather.watch.TryReach(ctx, way[0], way[1]); reached || err != nil {
			break
		}
	}
	return reached, err
}
