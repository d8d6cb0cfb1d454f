package world

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ClusterSpec is what a cluster consists of.
type ClusterSpec = core.ClusterSpec

// HostSpec is one host of a cluster.
type HostSpec = core.HostSpec

// Cluster is the state of one cluster as the engine knows it. Policies read
// it; only ApplyEvent changes it.
type Cluster struct {
	id    core.ClusterID
	spec  ClusterSpec
	procs int
	speed float64 // of its slowest host: parallel programs run at that pace

	memory int64         // of the host with the least; 0 if unknown
	rating float64       // part of its jobs that it is expected to bring to their end; 0: it was not rated
	share  float64       // of a processor that a newcomer gets, as last felt; 0: it is out of reach
	wait   int           // seconds that a newcomer waits in its queue, as last felt
	turns  int           // how often it has gone out of reach or come back
	turned core.Time     // when it did last
	net    *core.Network // between its hosts, as last felt; nil: nothing is known

	free   bitset // usable and held by nobody
	held   bitset // by our jobs, offers included
	others bitset // by users who bypass us, as of the last poll
	down   bitset
	// of hosts that are drained; nil: of none
	drained bitset
	drains  []core.Drain // of all of it, and of hosts of it
	apart   []ApartCluster
	idle    int  // members of free
	blocked bool // others use some processors, or some are down or drained
	hint    int  // no word of free below this one has a member

	waiting int     // processors our jobs wait for in the cluster's own queue
	queued  []*Part // that wait there, or are on their way, the oldest job first
	running int     // processors our jobs run on in a managed cluster

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
	c.adoptSpec(spec)
	c.free, c.held = newBitset(c.procs), newBitset(c.procs)
	c.others, c.down = newBitset(c.procs), newBitset(c.procs)
	c.recountFree()
	return c
}

// adoptSpec takes over what the cluster consists of.
func (c *Cluster) adoptSpec(spec ClusterSpec) {
	c.spec, c.procs, c.speed, c.memory = spec, spec.TotalProcs(), 0, 0
	for i, h := range spec.Hosts {
		if i == 0 || h.Speed < c.speed {
			c.speed = h.Speed
		}
		if i == 0 || h.Memory < c.memory {
			c.memory = h.Memory
		}
	}
	c.findDrained()
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

// IsClosed reports whether the cluster is out of reach, removed or drained: who runs
// there runs on, nobody new is sent there.
func (c *Cluster) IsClosed() bool { return c.share == 0 || c.spec.Removed || c.IsDrained() }

// LastTurn is when the cluster last went out of reach or came back; 0 if it never did.
func (c *Cluster) LastTurn() core.Time { return c.turned }

// IsRemoved reports whether the settings do not name the cluster any more.
func (c *Cluster) IsRemoved() bool { return c.spec.Removed }

// IsUnknown reports whether nobody knows yet what the cluster consists of.
func (c *Cluster) IsUnknown() bool { return len(c.spec.Hosts) == 0 && !c.spec.Removed }

// Spec is what the cluster consists of. It must not be changed.
func (c *Cluster) Spec() ClusterSpec { return c.spec }

// QueueWait is how many seconds a newcomer would wait in the cluster's own queue
// because of others, as last felt.
func (c *Cluster) QueueWait() float64 { return float64(c.wait) }

// IsManaged reports whether the cluster has a queue of its own.
func (c *Cluster) IsManaged() bool { return c.spec.Managed }

// CanExtend reports whether the manager of the cluster can be asked for more processors for jobs that run.
func (c *Cluster) CanExtend() bool { return c.spec.Managed && c.spec.Resizes }

// offerAgain forgets what parts did not get of a manager that had no more: others use another number of processors now.
func (c *Cluster) offerAgain() {
	for _, p := range c.growable {
		if p.extensible {
			p.refused = 0
		}
	}
}

// QueueRoom is how many processors our jobs may still wait for in the cluster's
// own queue. A limit keeps jobs with us that may start sooner elsewhere.
func (c *Cluster) QueueRoom() int {
	switch {
	case !c.spec.Managed || c.IsClosed():
		return 0
	case c.spec.Depth == 0:
		return c.UsableProcs()
	}
	return min(c.UsableProcs(), max(0, c.spec.Depth-c.waiting))
}

// HasQueueLimit reports whether there is a limit to what may wait in its queue.
func (c *Cluster) HasQueueLimit() bool { return c.spec.Managed && c.spec.Depth > 0 }

// CanReserve reports whether processors can be held before the start.
func (c *Cluster) CanReserve() bool { return c.spec.Reserves }

// ForeignProcs is how many processors others use, as of the last poll, or cannot be had for another reason.
func (c *Cluster) ForeignProcs() int { return c.others.countMembers() }

// UsableProcs is the most a single job could ever hold here.
func (c *Cluster) UsableProcs() int { return c.procs - c.spec.KeepFree }

// IdleProcs is the number of processors that nobody uses, as far as we know. In a
// managed cluster what waits in its queue counts against it, so it may be
// negative.
func (c *Cluster) IdleProcs() int {
	if c.spec.Managed {
		return c.idle - c.running - c.waiting
	}
	return c.idle
}

// SurplusProcs is the idle processors less those kept for local users; negative if
// others have taken some of these too.
func (c *Cluster) SurplusProcs() int { return c.IdleProcs() - c.spec.KeepFree }

// AvailableProcs is what may be given out now.
func (c *Cluster) AvailableProcs() int { return max(0, c.SurplusProcs()) }

// GrowRoom is what may be given to running jobs now. Growing stops earlier than
// placing (papers/001, V-B: a threshold over which the jobs are not expanded).
func (c *Cluster) GrowRoom() int {
	if c.IsDrained() {
		return 0
	}
	return max(0, c.AvailableProcs()-c.spec.GrowFree)
}

// ReclaimableProcs is how many processors the malleable jobs hold above their
// minima.
func (c *Cluster) ReclaimableProcs() int { return c.reclaimable }

// QueuedParts lists the parts of our jobs that wait in the cluster's own queue, or whose files are on their way there,
// the oldest job first. The caller must not change the slice.
func (c *Cluster) QueuedParts() []*Part { return c.queued }

// UnusedProcs is how many processors of a managed cluster nobody computes on, whoever waits for them; negative if
// others have taken what we count as ours.
func (c *Cluster) UnusedProcs() int { return c.idle - c.running }

// setQueued enters a part into the cluster's own queue, or takes it out.
func (c *Cluster) setQueued(p *Part, queued bool) {
	at, there := slices.BinarySearchFunc(c.queued, p, func(a, b *Part) int {
		return cmp.Or(cmp.Compare(a.job.spec.ID, b.job.spec.ID), cmp.Compare(a.index, b.index))
	})
	switch {
	case queued && !there:
		c.waiting, c.queued = c.waiting+p.size, slices.Insert(c.queued, at, p)
	case !queued && there:
		c.waiting, c.queued = c.waiting-p.size, slices.Delete(c.queued, at, at+1)
	}
}

// ReclaimFor is the job for which processors are being reclaimed here, or 0.
func (c *Cluster) ReclaimFor() core.JobID { return c.reclaimFor }

// OpenOffers is the number of offers whose answers are waited for.
func (c *Cluster) OpenOffers() int { return c.offers }

// LeavingParts is the number of parts that were told to save themselves and leave.
func (c *Cluster) LeavingParts() int { return c.leaving }

// AskingParts lists the running parts that said they must have more processors,
// oldest start first.
func (c *Cluster) AskingParts() []*Part { return c.asking }

// CountFailed counts the processors of a set that are down.
func (c *Cluster) CountFailed(s core.ProcSet) int {
	n := 0
	if !c.blocked {
		return 0
	}
	c.down.eachWord(s, func(w *uint64, m uint64) { n += bits.OnesCount64(*w & m) })
	return n
}

// MeetsRequirements reports whether the cluster meets the component's requirements,
// whoever uses it now.
func (c *Cluster) MeetsRequirements(comp *core.Component) bool {
	if c.spec.Removed {
		return false
	}
	if len(comp.Clusters) > 0 && !slices.Contains(comp.Clusters, c.id) || c.rating < comp.Reliability {
		return false
	}
	return comp.Memory == 0 || c.memory == 0 || c.memory >= comp.Memory
}

// MalleableParts lists the running parts that may change their size, in the order
// in which they started. The caller must not change the slice.
func (c *Cluster) MalleableParts() []*Part { return c.malleable }

// GrowableParts lists those below their maximum, oldest start first.
func (c *Cluster) GrowableParts() []*Part { return c.growable }

// ShrinkableParts lists those above their minimum, oldest start first.
func (c *Cluster) ShrinkableParts() []*Part { return c.shrinkable }

// Reliability is the part of its jobs that the cluster is expected to bring to their end;
// 0 if nobody has said.
func (c *Cluster) Reliability() float64 { return c.rating }

// SmallestMemory is the memory of the host with the least; 0 if nobody knows.
func (c *Cluster) SmallestMemory() int64 { return c.memory }

// ChooseProcs appends the n free processors that would be given out next to dst.
func (c *Cluster) ChooseProcs(n int, dst core.ProcSet) core.ProcSet {
	return c.free.appendLowest(n, c.hint, dst)
}

// HostCount is how many hosts it has.
func (c *Cluster) HostCount() int { return len(c.spec.Hosts) }

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
		if all, _ := c.free.containsAny(one); all {
			dst, n = dst.Union(one), n-1
		}
	}
	return dst, n == 0
}

// FreeOn is how many processors of a host are free.
func (c *Cluster) FreeOn(host int) int {
	begin := 0
	for _, h := range c.spec.Hosts[:host] {
		begin += h.Procs
	}
	free := 0
	for p := begin; p < begin+c.spec.Hosts[host].Procs; p++ {
		if all, _ := c.free.containsAny(core.ProcSet{{Lo: int32(p), Hi: int32(p) + 1}}); all {
			free++
		}
	}
	return free
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

// takeProcs gives processors that are free to a job of ours.
func (c *Cluster) takeProcs(s core.ProcSet) bool {
	if !s.IsValid(c.procs) {
		return false
	}
	if all, _ := c.free.containsAny(s); !all {
		return false
	}
	c.idle -= c.free.moveAll(s, c.held)
	for c.hint < len(c.free) && c.free[c.hint] == 0 {
		c.hint++
	}
	return true
}

// returnProcs takes processors back from a job of ours. Those that failed or were drained
// meanwhile, or that others use, do not become free.
func (c *Cluster) returnProcs(s core.ProcSet) {
	if len(s) == 0 {
		return
	}
	if c.isBlocked(s) {
		c.held.removeAll(s)
		c.recountFree()
		return
	}
	c.idle += c.held.moveAll(s, c.free)
	c.hint = min(c.hint, int(s[0].Lo>>6))
}

// isBlocked reports whether some of the processors cannot be had by us, whoever of ours held them.
func (c *Cluster) isBlocked(s core.ProcSet) bool {
	if !c.blocked {
		return false
	}
	_, down := c.down.containsAny(s)
	_, others := c.others.containsAny(s)
	return down || others || c.drained != nil
}

// setForeignUse notes which processors others use. What we hold ourselves stays ours:
// a poll that says otherwise is older than the claim.
func (c *Cluster) setForeignUse(s core.ProcSet) {
	clear(c.others)
	c.others.addAll(s)
	c.recountFree()
}

func (c *Cluster) markDown(s core.ProcSet) { c.down.addAll(s); c.recountFree() }
func (c *Cluster) markUp(s core.ProcSet)   { c.down.removeAll(s); c.recountFree() }

func (c *Cluster) recountFree() {
	c.blocked = c.drained != nil
	for i := range c.free {
		c.free[i] = ^(c.held[i] | c.others[i] | c.down[i])
		c.blocked = c.blocked || c.others[i]|c.down[i] != 0
		if c.drained != nil {
			c.free[i] &^= c.drained[i]
		}
	}
	if tail := c.procs & 63; tail != 0 {
		c.free[len(c.free)-1] &= 1<<tail - 1
	}
	c.idle = c.free.countMembers()
	c.hint = 0
}

// AreFree reports whether nobody has any of the processors.
func (c *Cluster) AreFree(s core.ProcSet) bool {
	if !s.IsValid(c.procs) {
		return false
	}
	all, _ := c.free.containsAny(s)
	return all
}
