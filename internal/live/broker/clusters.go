package broker

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/engine"
)

// cluster is a cluster as it was last described. It never changes: when there is
// something new to say of the cluster, another one takes its place in the list.
type cluster struct {
	Cluster
	id core.ClusterID
	*clusterState
}

// clusterState is what the broker noticed of a cluster.
type clusterState struct {
	mu     sync.Mutex
	load   driver.Load
	away   error         // why it is out of reach; nil: it is not
	wait   float64       // seconds that a newcomer of one processor waits in its queue
	rating float64       // how reliable it is, as the engine was told; 0: nothing
	told   reportedLoad  // what the engine was told
	lost   []int         // hosts that are out of reach, as the engine was told; nil: nothing yet
	used   heldByOthers  // what its manager said last, as the engine was told
	net    *core.Network // between its hosts, as the engine was told; nil: nothing

	ask    chan struct{}                // it is to be asked what it consists of
	idle   atomic.Int64                 // processors, as of the last turn
	drains atomic.Pointer[[]core.Drain] // what of it is drained, likewise
}

func newCluster(c Cluster, id core.ClusterID) *cluster {
	s := &clusterState{load: driver.Load{Share: 1}, told: reportedLoad{share: 1}, away: c.Away,
		ask: make(chan struct{}, 1)}
	return &cluster{Cluster: c, id: id, clusterState: s}
}

// allClusters lists all clusters by number, those that were removed too.
func (b *Broker) allClusters() []*cluster {
	if list := b.clusterList.Load(); list != nil {
		return *list
	}
	return nil
}

// offeredClusters lists the clusters where jobs may be sent.
func (b *Broker) offeredClusters() []*cluster {
	return slices.DeleteFunc(slices.Clone(b.allClusters()), func(c *cluster) bool { return c.Removed })
}

// putCluster adds a cluster to the list, or replaces the one with its number.
func (b *Broker) putCluster(c *cluster) {
	list := slices.Clone(b.allClusters())
	if int(c.id) < len(list) {
		list[c.id] = c
	} else {
		list = append(list, c)
	}
	b.clusterList.Store(&list)
}

// clusterName is the name of a cluster; "" if there is none of that number.
func (b *Broker) clusterName(id core.ClusterID) string {
	if list := b.allClusters(); id >= 0 && int(id) < len(list) {
		return list[id].Name
	}
	return ""
}

func (b *Broker) clusterNamed(name string) *cluster {
	for _, c := range b.allClusters() {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// targetCluster is a cluster that a user names; an error names those that there are.
func (b *Broker) targetCluster(field, name string) (*cluster, error) {
	if c := b.clusterNamed(name); c != nil && !c.Removed {
		return c, nil
	}
	want := badinput.UnknownName("cluster", name, b.clusterNames())
	if b.opt.Stale != nil && b.opt.Stale() {
		want += "; " + StaleSettings
	}
	return nil, &badinput.Error{Field: field, Value: name, Want: want}
}

// StaleSettings is what to tell who may miss what the settings say by now.
const StaleSettings = "the settings are newer than the running broker: godwit reload"

func (b *Broker) clusterNames() []string {
	var names []string
	for _, c := range b.offeredClusters() {
		names = append(names, c.Name)
	}
	return names
}

// setDefaultPlace sets the policy of jobs that name none.
func (b *Broker) setDefaultPlace(p core.PlacePolicy) {
	b.defaultPlace.Store(uint32(cmp.Or(p, core.DeadlineFirst)))
}

// engineSpec is the cluster as the engine is told of it.
func (c *cluster) engineSpec() *core.ClusterSpec {
	hosts := slices.Clone(c.Hosts)
	for i, name := range hostNames(c) {
		hosts[i].Name = name
	}
	return &core.ClusterSpec{Name: c.Name, Hosts: hosts, Managed: c.Managed, Depth: c.Queue,
		KeepFree: c.KeepFree, GrowFree: c.GrowFree, Resizes: c.Managed && extenderOf(c.Driver) != nil, Removed: c.Removed,
		Isolated: c.isIsolated()}
}

// isIsolated reports whether the cluster takes no part in a program that runs in others too: nothing is to go
// directly between them, or it is not trusted with what runs elsewhere, which the part where mpirun is decides.
func (c *cluster) isIsolated() bool { return c.Indirect || c.Untrusted }

// defineCluster tells the engine what a cluster consists of, if that is new. As long as
// jobs are there the engine may keep more processors than there are.
func (t *turn) defineCluster(c *cluster) {
	t.b.putCluster(c)
	if int(c.id) < t.b.eng.ClusterCount() {
		if was := t.b.eng.Cluster(c.id).Spec; was.Equal(c.engineSpec()) {
			return
		}
	}
	t.stepEngine(&core.Input{Kind: core.DefineCluster, Cluster: c.id, Grid: c.engineSpec()})
	c.mu.Lock()
	c.lost, c.used = nil, heldByOthers{} // they may have other numbers now, and be more or fewer
	c.mu.Unlock()
	if c.Away != nil && !c.Removed {
		c.mu.Lock()
		c.told = reportedLoad{}
		c.mu.Unlock()
		t.stepEngine(&core.Input{Kind: core.Felt, Cluster: c.id})
	}
}

// defineAll makes the clusters of the settings those of the stored world: new ones
// come last, and those that the settings do not name any more are removed.
func (t *turn) defineAll(settings []Cluster) {
	b := t.b
	named := map[string]bool{}
	for _, s := range settings {
		named[s.Name] = true
		switch was := b.clusterNamed(s.Name); {
		case was != nil:
			t.defineCluster(&cluster{Cluster: s, id: was.id, clusterState: was.clusterState})
		case !s.Removed:
			t.defineCluster(newCluster(s, core.ClusterID(len(b.allClusters()))))
		}
	}
	for _, c := range b.allClusters() {
		if !named[c.Name] && !c.Removed {
			gone := *c
			gone.Removed = true
			t.defineCluster(&gone)
		}
	}
}

// storedCluster is a cluster of which only the store knows.
func storedCluster(id core.ClusterID, v engine.ClusterView) *cluster {
	s := &v.Spec
	c := newCluster(Cluster{Name: s.Name, Kind: "unknown", Driver: driver.Unreachable{Why: errNotInSettings},
		Hosts: s.Hosts, Managed: s.Managed,
		Queue: s.Depth, KeepFree: s.KeepFree, GrowFree: s.GrowFree, Removed: s.Removed, Indirect: s.Isolated}, id)
	c.told = reportedLoad{share: v.Share, wait: v.Wait}
	return c
}

var errNotInSettings = errors.New("it is not in the settings")

// ReconfigureClusters takes over other clusters and another default placement. Jobs run
// on; those that wait in a cluster that is removed are placed again.
func (b *Broker) ReconfigureClusters(ctx context.Context, clusters []Cluster, place core.PlacePolicy) error {
	if len(clusters) == 0 {
		return errors.New("there is no cluster to run jobs on")
	}
	return b.askLoop(ctx, func(t *turn) {
		b.setDefaultPlace(place)
		before := len(b.allClusters())
		t.defineAll(clusters)
		for _, id := range slices.Sorted(maps.Keys(b.arrays)) {
			t.fillQueue(b.arrays[id]) // elements that could run nowhere perhaps can now
		}
		t.afterCommit(func() {
			for _, c := range b.allClusters() {
				if int(c.id) >= before {
					b.watchCluster(c.id)
				} else {
					c.askAgain()
				}
			}
		})
	})
}

// JobsAt counts the jobs that are placed in each cluster.
func (b *Broker) JobsAt(ctx context.Context) (map[string]int, error) {
	count := map[string]int{}
	err := b.askLoop(ctx, func(*turn) {
		for id, n := range b.eng.JobsIn() {
			if n > 0 {
				count[b.clusterName(core.ClusterID(id))] = n
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return count, nil
}

// tidyCluster closes a cluster that was removed once no job is left there, and
// tells the engine what it could not take over while jobs were there.
func (b *Broker) tidyCluster(ctx context.Context, id core.ClusterID) {
	var closing func()
	_ = b.askLoop(ctx, func(t *turn) {
		c, v := b.allClusters()[id], b.eng.Cluster(id)
		if !v.Spec.Equal(c.engineSpec()) && !b.eng.InUse(id) {
			t.defineCluster(c)
		}
		if c.Removed && c.Close != nil && !b.eng.InUse(id) {
			closed := *c
			closing, closed.Close, closed.Driver = c.Close, nil, driver.Unreachable{Why: errNotInSettings}
			b.putCluster(&closed)
		}
	})
	if closing != nil {
		closing()
	}
}

// watchCluster keeps the broker told of a cluster: how busy it is, what it
// consists of, what runs there that nobody knows.
func (b *Broker) watchCluster(id core.ClusterID) {
	b.runUntilStopped(func(ctx context.Context) { b.pollLoadLoop(ctx, id) })
	b.runUntilStopped(func(ctx context.Context) { b.learnCluster(ctx, id) })
	b.runUntilStopped(func(ctx context.Context) { b.sweepUnknown(ctx, id) })
}

// minDescribeInterval and maxDescribeInterval bound how long a cluster that does not say what it
// consists of is left alone.
const (
	minDescribeInterval = time.Second
	maxDescribeInterval = time.Minute
)

// learnCluster asks a cluster what it consists of until it says so, and again whenever
// that may have changed.
func (b *Broker) learnCluster(ctx context.Context, id core.ClusterID) {
	wait := minDescribeInterval
	for {
		c := b.allClusters()[id]
		if c.Describe != nil && !c.Removed && (c.Away != nil || len(c.Hosts) == 0) {
			if b.describeCluster(ctx, c) {
				wait = minDescribeInterval
				continue
			}
			pause := time.NewTimer(wait)
			wait = min(2*wait, maxDescribeInterval)
			select {
			case <-pause.C:
			case <-c.ask: // it answers somebody else
				pause.Stop()
			case <-ctx.Done():
				pause.Stop()
				return
			}
			continue
		}
		select {
		case <-c.ask:
			if c := b.allClusters()[id]; c.Describe != nil && !c.Removed {
				b.describeCluster(ctx, c)
			}
		case <-ctx.Done():
			return
		}
	}
}

// askAgain has a cluster asked what it consists of.
func (c *cluster) askAgain() {
	select {
	case c.ask <- struct{}{}:
	default: // it is about to be
	}
}

// describeCluster asks a cluster once.
func (b *Broker) describeCluster(ctx context.Context, c *cluster) bool {
	limited, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	now, err := c.Describe(limited)
	if err != nil {
		c.mu.Lock()
		first := c.away == nil || c.away.Error() != err.Error()
		c.away = err
		c.mu.Unlock()
		if first && ctx.Err() == nil {
			b.opt.Log.Warn("out of reach", "cluster", c.Name, "error", err)
		}
		return false
	}
	now.Away = nil
	err = b.askLoop(ctx, func(t *turn) {
		if b.allClusters()[c.id] == c { // else the settings are others by now
			t.defineCluster(&cluster{Cluster: now, id: c.id, clusterState: c.clusterState})
		}
	})
	if err == nil {
		b.opt.Log.Info("described itself", "cluster", c.Name, "cores", totalProcs(now.Hosts))
		b.pollLoad(ctx, b.allClusters()[c.id])
	}
	return err == nil
}

func totalProcs(hosts []core.HostSpec) int {
	n := 0
	for _, h := range hosts {
		n += h.Procs
	}
	return n
}

// commonFeatures is what the processors of all clusters can do; nil if that is not
// known of all, or if all can do the same: then there is nothing to hide.
func (b *Broker) commonFeatures() []string {
	clusters := b.offeredClusters()
	count := map[string]int{}
	for _, c := range clusters {
		if c.CPUFeatures == nil {
			return nil
		}
		for _, f := range c.CPUFeatures {
			count[f]++
		}
	}
	var shared []string
	if len(clusters) > 0 {
		for _, f := range clusters[0].CPUFeatures {
			if count[f] == len(clusters) {
				shared = append(shared, f)
			}
		}
	}
	for _, c := range clusters {
		if len(c.CPUFeatures) > len(shared) {
			return shared
		}
	}
	return nil
}
