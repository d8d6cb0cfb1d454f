package sim

import (
	"cmp"
	"slices"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/platform"
	"github.com/godwit-hpc/godwit/internal/sim/localq"
	"github.com/godwit-hpc/godwit/internal/world"
)

// site is a cluster as it really is, whatever the engine believes.
type site struct {
	name    string
	procs   int
	uniform float64 // speed of all hosts, 0 if they differ
	hosts   []siteHost
	rank    []int         // of the host that the platform lists i-th, in hosts
	queue   *localq.Queue // nil: no queue of its own
	touched bool          // something happened to the queue in this instant

	// owner is kept only where somebody but the engine uses the processors.
	owner  []owner
	others core.ProcSet // as last polled
}

type siteHost struct {
	speed  float64
	memory int64
	procs  core.Range
}

type owner uint8

const (
	ours owner = 1 << iota
	others
	down
)

// newSite takes a cluster of the platform. Hosts are sorted by speed so that
// the engine, which gives out low numbers first, uses the fastest first.
func newSite(c *platform.Cluster, local platform.Local, opts localq.Options, disturbed bool) *site {
	s := &site{name: c.Name, procs: c.Procs}
	order := make([]int, len(c.Hosts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.Hosts[b].Speed, c.Hosts[a].Speed) })
	s.rank = make([]int, len(order))
	at := int32(0)
	for i, listed := range order {
		h := &c.Hosts[listed]
		s.rank[listed] = i
		s.hosts = append(s.hosts, siteHost{h.Speed, h.Memory, core.Range{Lo: at, Hi: at + int32(h.Cores)}})
		at += int32(h.Cores)
		if i == 0 {
			s.uniform = h.Speed
		} else if h.Speed != s.uniform {
			s.uniform = 0
		}
	}
	switch local {
	case platform.LocalFCFS:
		s.queue = localq.New(localq.FCFS, c.Procs, opts)
	case platform.LocalEASY:
		s.queue = localq.New(localq.EASY, c.Procs, opts)
	}
	if disturbed && s.queue == nil {
		s.owner = make([]owner, c.Procs)
	}
	return s
}

// spec is the cluster as the engine is told about it.
func (s *site) spec(c *platform.Cluster) world.ClusterSpec {
	spec := world.ClusterSpec{Name: c.Name, KeepFree: c.KeepFree, GrowFree: c.GrowFree, Managed: s.queue != nil, Reserves: c.Reserves}
	for _, h := range s.hosts {
		spec.Hosts = append(spec.Hosts, world.HostSpec{Procs: int(h.procs.Hi - h.procs.Lo), Speed: h.speed, Memory: h.memory})
	}
	return spec
}

// speed is that of the slowest host among the processors.
func (s *site) speed(procs core.ProcSet) float64 {
	if s.uniform > 0 {
		return s.uniform
	}
	slowest := s.hosts[len(s.hosts)-1].speed
	if len(procs) == 0 {
		return slowest // of a managed cluster: we do not know which hosts
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

// take marks processors as ours; false if somebody else has one of them.
func (s *site) take(procs core.ProcSet) bool {
	if s.owner == nil {
		return true
	}
	for _, r := range procs {
		for p := r.Lo; p < r.Hi; p++ {
			if s.owner[p]&^ours != 0 {
				return false
			}
		}
	}
	s.mark(procs, ours, true)
	return true
}

func (s *site) mark(procs core.ProcSet, o owner, set bool) {
	if s.owner == nil {
		return
	}
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

// with collects the processors that o uses.
func (s *site) with(o owner) core.ProcSet {
	var set core.ProcSet
	for p, by := range s.owner {
		if by&o == 0 {
			continue
		}
		if k := len(set); k > 0 && set[k-1].Hi == int32(p) {
			set[k-1].Hi++
		} else {
			set = append(set, core.Range{Lo: int32(p), Hi: int32(p) + 1})
		}
	}
	return set
}
