package sim

import (
	"cmp"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/world"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
)

// site is a cluster as it really is, whatever the engine believes.
type site struct {
	procs    int
	uniform  float64 // speed of all hosts, 0 if they differ
	hosts    []siteHost
	rank     []int         // of the host that the platform lists i-th, in hosts
	queue    *localq.Queue // nil: no queue of its own
	isLoaded bool          // somebody computes on a host besides
	touched  bool          // something happened to the queue in this instant
	extends  bool          // it gives jobs that run more processors

	// What somebody but the engine does here. Which processors they use is known
	// only in a cluster without a queue of its own.
	owner   []owner // nil if there is no such somebody
	foreign int     // processors of background jobs in the queue, waiting or not
	polled  core.ProcSet
	news    bool // others came or went since
}

type siteHost struct {
	speed  float64
	memory int64
	procs  core.Range
	down   bool
	load   int // programs of others that compute on it
}

type owner uint8

const (
	ownJobs owner = 1 << iota
	foreignOwner
	down
)

// newSite takes a cluster of the platform. Hosts are sorted by speed so that
// the engine, which gives out low numbers first, uses the fastest first.
func newSite(c *platform.Cluster, opts localq.Options, disturbed bool) *site {
	s := &site{procs: c.Procs, rank: make([]int, len(c.Hosts))}
	order := make([]int, len(c.Hosts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Hosts[b].Speed, c.Hosts[a].Speed) })
	at := int32(0)
	for i, listed := range order {
		h := &c.Hosts[listed]
		s.rank[listed] = i
		s.hosts = append(s.hosts, siteHost{speed: h.Speed, memory: h.Memory,
			procs: core.Range{Lo: at, Hi: at + int32(h.Cores)}})
		at += int32(h.Cores)
	}
	if s.hosts[0].speed == s.slowestSpeed() {
		s.uniform = s.slowestSpeed()
	}
	switch c.Local {
	case platform.LocalFCFS:
		s.queue = localq.New(localq.FCFS, c.Procs, opts)
	case platform.LocalEASY:
		s.queue = localq.New(localq.EASY, c.Procs, opts)
	default:
		if disturbed {
			s.owner = make([]owner, c.Procs)
		}
	}
	return s
}

// clusterSpec is the cluster as the engine is told about it.
func (s *site) clusterSpec(c *platform.Cluster) world.ClusterSpec {
	spec := world.ClusterSpec{Name: c.Name, KeepFree: c.KeepFree, GrowFree: c.GrowFree, Managed: s.queue != nil,
		Reserves: c.Reserves, Resizes: s.extends}
	if s.queue != nil {
		spec.Depth = c.Queue
	}
	for _, h := range s.hosts {
		spec.Hosts = append(spec.Hosts, world.HostSpec{Procs: int(h.procs.Hi - h.procs.Lo), Speed: h.speed, Memory: h.memory})
	}
	return spec
}

func (s *site) slowestSpeed() float64 { return s.hosts[len(s.hosts)-1].speed }

// speedOf is that of the slowest host among the processors. In a cluster with a
// queue of its own we do not know which it will be.
func (s *site) speedOf(procs core.ProcSet) float64 {
	switch {
	case s.isLoaded:
		return s.loadedSpeedOf(procs)
	case s.uniform > 0:
		return s.uniform
	case len(procs) == 0:
		return s.slowestSpeed()
	}
	last := procs[len(procs)-1].Hi - 1 // hosts are sorted, the last is the slowest
	i, _ := slices.BinarySearchFunc(s.hosts, last, func(h siteHost, p int32) int {
		if h.procs.Hi <= p {
			return -1
		}
		return 1
	})
	return s.hosts[i].speed
}

// loadedSpeedOf is that of the slowest of the hosts, all of them where it is not known which, with what is left of them
// beside the programs of others.
func (s *site) loadedSpeedOf(procs core.ProcSet) float64 {
	slowest := math.Inf(1)
	for i := range s.hosts {
		h := &s.hosts[i]
		if len(procs) > 0 && !procs.Intersects(core.ProcSet{h.procs}) {
			continue
		}
		cores := float64(h.procs.Hi - h.procs.Lo)
		slowest = min(slowest, h.speed*cores/(cores+float64(h.load)))
	}
	return slowest
}

// countAvailable is how many of the processors, from the first on, neither others
// use nor have failed.
func (s *site) countAvailable(procs core.ProcSet) int {
	if s.owner == nil {
		return procs.CountProcs()
	}
	n := 0
	for _, r := range procs {
		for p := r.Lo; p < r.Hi; p++ {
			if s.owner[p]&^ownJobs != 0 {
				return n
			}
			n++
		}
	}
	return n
}

func (s *site) markOwner(procs core.ProcSet, o owner, set bool) {
	if s.owner == nil {
		return
	}
	s.news = s.news || o == foreignOwner
	for _, r := range procs {
		for p := r.Lo; p < r.Hi; p++ {
			if set {
				s.owner[p] |= o
			} else {
				s.owner[p] &^= o
			}
		}
	}
}

// idleFromTop collects up to n processors that nobody uses, highest numbers
// first: local users and the engine stay out of each other's way as long as
// there is room.
func (s *site) idleFromTop(n int) core.ProcSet {
	var set core.ProcSet
	for p := int32(len(s.owner)) - 1; p >= 0 && n > 0; p-- {
		if s.owner[p] != 0 {
			continue
		}
		n--
		if k := len(set); k > 0 && set[k-1].Lo == p+1 {
			set[k-1].Lo = p
		} else {
			set = append(set, core.Range{Lo: p, Hi: p + 1})
		}
	}
	slices.Reverse(set)
	return set
}

// pollForeign is the processors that others use at present. In a cluster with a queue
// of its own their number counts, and so do those that others wait for.
func (s *site) pollForeign() core.ProcSet {
	s.news = false
	s.polled = nil
	if n := min(s.foreign, s.procs); n > 0 {
		s.polled = core.ProcSet{{Lo: int32(s.procs - n), Hi: int32(s.procs)}}
	}
	for p, by := range s.owner {
		if by&foreignOwner == 0 {
			continue
		}
		if k := len(s.polled); k > 0 && s.polled[k-1].Hi == int32(p) {
			s.polled[k-1].Hi++
		} else {
			s.polled = append(s.polled, core.Range{Lo: int32(p), Hi: int32(p) + 1})
		}
	}
	return s.polled
}
