package world

import (
	"math/bits"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ClusterSpec is what a cluster consists of.
type ClusterSpec = core.ClusterSpec

// HostSpec is one host of a cluster.
type HostSpec = core.HostSpec

// Cluster is the state of one cluster as the engine knows it. Policies read
// it; only Apply changes it.
type Cluster struct {
	id    core.ClusterID
	spec  ClusterSpec
	procs int
	speed float64 // of its slowest host: parallel programs run at that pace

	memory int64         // of the host with the least; 0 if unknown
	share  float64       // of a processor that a newcomer gets, as last felt; 0: it is out of reach
	wait   int           // seconds that a newcomer waits in its queue, as last felt
	net    *core.Network // between its hosts, as last felt; nil: nothing is known

	free   bitset // usable and held by nobody
	held   bitset // by our jobs, offers included
	others bitset // by users who bypass us, as of the last poll
	down   bitset
	idle   int // members of free
	hint   int // no word of free below this one has a member

	waiting int // processors our jobs wait for in the cluster's own queue
	running int // processors our jobs run on in a managed cluster

	malleable   byStart // running parts that may change their size
	growable    byStart // those below their maximum
	shrinkable  byStart // those above their minimum
	asking      byStart // those that said they must have more
	reclaimable int     // processors above the minima
	offers      int     // offers whose answers are waited for
	leaving     int     // parts told to save themselves and leave
	reclaimFor  core.JobID
}

func newCluster(id core.ClusterID, spec ClusterSpec) *Cluster {
	c := &Cluster{id: id, share: 1}
	c.describe(spec)
	c.free, c.held = newBitset(c.procs), newBitset(c.procs)
	c.others, c.down = newBitset(c.procs), newBitset(c.procs)
	c.recount()
	return c
}

// describe takes over what the cluster consists of.
func (c *Cluster) describe(spec ClusterSpec) {
	c.spec, c.procs, c.speed, c.memory = spec, spec.Procs(), 0, 0
	for i, h := range spec.Hosts {
		if i == 0 || h.Speed < c.speed {
			c.speed = h.Speed
		}
		if i == 0 || h.Memory < c.memory {
			c.memory = h.Memory
		}
	}
	if c.speed <= 0 {
		c.speed = 1 // nothing is known: like the reference host
	}
}

// ID is the cluster's number.
func (c *Cluster) ID() core.ClusterID { return c.id }

// Name is the cluster's name.
func (c *Cluster) Name() string { return c.spec.Name }

// Procs is how many processors it has, whoever uses them.
func (c *Cluster) Procs() int { return c.procs }

// Speed is the speed of its slowest host.
func (c *Cluster) Speed() float64 { return c.speed }

// Share is the part of a processor that a newcomer would get, as last felt: less
// than 1 where others compute without asking us.
func (c *Cluster) Share() float64 { return c.share }

// Closed reports whether the cluster is out of reach: who runs there runs on,
// nobody new is sent there.
func (c *Cluster) Closed() bool { return c.share == 0 || c.spec.Removed }

// Removed reports whether the settings do not name the cluster any more.
func (c *Cluster) Removed() bool { return c.spec.Removed }

// Unknown reports whether nobody knows yet what the cluster consists of.
func (c *Cluster) Unknown() bool { return len(c.spec.Hosts) == 0 && !c.spec.Removed }

// Spec is what the cluster consists of. It must not be changed.
func (c *Cluster) Spec() ClusterSpec { return c.spec }

// Wait is how many seconds a newcomer would wait in the cluster's own queue
// because of others, as last felt.
func (c *Cluster) Wait() float64 { return float64(c.wait) }

// Managed reports whether the cluster has a queue of its own.
func (c *Cluster) Managed() bool { return c.spec.Managed }

// QueueRoom is how many processors our jobs may still wait for in the cluster's
// own queue. A limit keeps jobs with us that may start sooner elsewhere.
func (c *Cluster) QueueRoom() int {
	switch {
	case !c.spec.Managed || c.Closed():
		return 0
	case c.spec.Depth == 0:
		return c.Usable()
	}
	return min(c.Usable(), max(0, c.spec.Depth-c.waiting))
}

// Limited reports whether there is a limit to what may wait in its queue.
func (c *Cluster) Limited() bool { return c.spec.Managed && c.spec.Depth > 0 }

// Reserves reports whether processors can be held before the start.
func (c *Cluster) Reserves() bool { return c.spec.Reserves }

// Usable is the most a single job could ever hold here.
func (c *Cluster) Usable() int { return c.procs - c.spec.KeepFree }

// Idle is the number of processors that nobody uses, as far as we know. In a
// managed cluster what waits in its queue counts against it, so it may be
// negative.
func (c *Cluster) Idle() int {
	if c.spec.Managed {
		return c.idle - c.running - c.waiting
	}
	return c.idle
}

// Surplus is the idle processors less those kept for local users; negative if
// others have taken some of these too.
func (c *Cluster) Surplus() int { return c.Idle() - c.spec.KeepFree }

// Room is what may be given out now.
func (c *Cluster) Room() int { return max(0, c.Surplus()) }

// GrowRoom is what may be given to running jobs now. Growing stops earlier than
// placing (papers/001, V-B: a threshold over which the jobs are not expanded).
func (c *Cluster) GrowRoom() int { return max(0, c.Room()-c.spec.GrowFree) }

// Reclaimable is how many processors the malleable jobs hold above their
// minima.
func (c *Cluster) Reclaimable() int { return c.reclaimable }

// ReclaimFor is the job for which processors are being reclaimed here, or 0.
func (c *Cluster) ReclaimFor() core.JobID { return c.reclaimFor }

// Offers is the number of offers whose answers are waited for.
func (c *Cluster) Offers() int { return c.offers }

// Leaving is the number of parts that were told to save themselves and leave.
func (c *Cluster) Leaving() int { return c.leaving }

// Asking lists the running parts that said they must have more processors,
// oldest start first.
func (c *Cluster) Asking() []*Part { return c.asking }

// Failed counts the processors of a set that are down.
func (c *Cluster) Failed(s core.ProcSet) int {
	n := 0
	c.down.each(s, func(w *uint64, m uint64) { n += bits.OnesCount64(*w & m) })
	return n
}

// Meets reports whether the cluster meets the component's requirements,
// whoever uses it now.
func (c *Cluster) Meets(comp *core.Component) bool {
	if c.spec.Removed {
		return false
	}
	if len(comp.Clusters) > 0 && !slices.Contains(comp.Clusters, c.id) {
		return false
	}
	return comp.Memory == 0 || c.memory == 0 || c.memory >= comp.Memory
}

// Malleable lists the running parts that may change their size, in the order
// in which they started. The caller must not change the slice.
func (c *Cluster) Malleable() []*Part { return c.malleable }

// Growable lists those below their maximum, oldest start first.
func (c *Cluster) Growable() []*Part { return c.growable }

// Shrinkable lists those above their minimum, oldest start first.
func (c *Cluster) Shrinkable() []*Part { return c.shrinkable }

// Memory is the memory of the host with the least; 0 if nobody knows.
func (c *Cluster) Memory() int64 { return c.memory }

// Choose appends the n free processors that would be given out next to dst.
func (c *Cluster) Choose(n int, dst core.ProcSet) core.ProcSet {
	return c.free.lowest(n, c.hint, dst)
}

// Hosts is how many hosts it has.
func (c *Cluster) Hosts() int { return len(c.spec.Hosts) }

// HostProcs is how many processors a host has.
func (c *Cluster) HostProcs(host int) int { return c.spec.Hosts[host].Procs }

// Network is how well its hosts are connected, as last felt; nil: nobody knows.
// It must not be changed.
func (c *Cluster) Network() *core.Network { return c.net }

// ChooseOn appends the n free processors of one host that would be given out next
// to dst, and reports whether there are so many.
func (c *Cluster) ChooseOn(host, n int, dst core.ProcSet) (core.ProcSet, bool) {
	begin := 0
	for _, h := range c.spec.Hosts[:host] {
		begin += h.Procs
	}
	for p := begin; n > 0 && p < begin+c.spec.Hosts[host].Procs; p++ {
		one := core.ProcSet{{Lo: int32(p), Hi: int32(p) + 1}}
		if all, _ := c.free.has(one); all {
			dst, n = dst.Union(one), n-1
		}
	}
	return dst, n == 0
}

// HostsOf lists the hosts that processors belong to, ascending.
func (c *Cluster) HostsOf(s core.ProcSet) []int {
	var hosts []int
	begin := int32(0)
	for i, h := range c.spec.Hosts {
		end := begin + int32(h.Procs)
		if s.Intersects(core.ProcSet{{Lo: begin, Hi: end}}) {
			hosts = append(hosts, i)
		}
		begin = end
	}
	return hosts
}

// take gives processors that are free to a job of ours.
func (c *Cluster) take(s core.ProcSet) bool {
	if !s.Valid(c.procs) {
		return false
	}
	if all, _ := c.free.has(s); !all {
		return false
	}
	c.free.clear(s)
	c.held.set(s)
	c.idle -= s.Count()
	for c.hint < len(c.free) && c.free[c.hint] == 0 {
		c.hint++
	}
	return true
}

// give takes processors back from a job of ours. Those that failed meanwhile,
// or that others use, do not become free.
func (c *Cluster) give(s core.ProcSet) {
	if len(s) == 0 {
		return
	}
	c.held.clear(s)
	_, down := c.down.has(s)
	_, others := c.others.has(s)
	if down || others {
		c.recount()
		return
	}
	c.free.set(s)
	c.idle += s.Count()
	c.hint = min(c.hint, int(s[0].Lo>>6))
}

// poll notes which processors others use. What we hold ourselves stays ours:
// a poll that says otherwise is older than the claim.
func (c *Cluster) poll(s core.ProcSet) {
	clear(c.others)
	c.others.set(s)
	c.recount()
}

func (c *Cluster) fail(s core.ProcSet) { c.down.set(s); c.recount() }
func (c *Cluster) join(s core.ProcSet) { c.down.clear(s); c.recount() }

func (c *Cluster) recount() {
	for i := range c.free {
		c.free[i] = ^(c.held[i] | c.others[i] | c.down[i])
	}
	if tail := c.procs & 63; tail != 0 {
		c.free[len(c.free)-1] &= 1<<tail - 1
	}
	c.idle = c.free.count()
	c.hint = 0
}
