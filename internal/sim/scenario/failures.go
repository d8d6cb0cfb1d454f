package scenario

import "github.com/godwit-hpc/godwit/internal/sched/core"

// HostChange says that a host fails, or is there again.
type HostChange struct {
	At      core.Time
	Cluster core.ClusterID
	Host    int // index within the cluster
	Up      bool
}

// HostChanges hands out changes of hosts in the order of time. A host that
// several failures hit at once is down until the last of them is over; every
// host is up at first, and its changes alternate.
type HostChanges struct {
	causes  []hostCause
	horizon core.Time
	seed    uint64
	down    map[hostKey]int // failures that hold a host down
	next    schedule
}

type hostKey struct {
	cluster core.ClusterID
	host    int32
}

// hostCause is one failure as far as one host is concerned.
type hostCause struct {
	*Failure
	host hostKey
	key  uint64 // for random numbers of its own
}

// HostChanges is the stream of all changes before the horizon (core.Never:
// without end). Each host draws from its own random numbers.
func (s *Scenario) HostChanges(seed uint64, horizon core.Time) *HostChanges {
	h := &HostChanges{horizon: horizon, seed: seed, down: map[hostKey]int{}}
	for i := range s.Failures {
		f := &s.Failures[i]
		for _, host := range f.Hosts {
			c := hostCause{f, hostKey{f.Cluster, int32(host)}, uint64(i)<<32 | uint64(host)}
			h.causes = append(h.causes, c)
			d := due{at: f.At, index: int32(len(h.causes) - 1)}
			if f.MTBF > 0 {
				d.at = d.at.Add(exponentialTime(h.drawNumber(d), f.MTBF))
			}
			h.scheduleChange(d)
		}
	}
	return h
}

// NextChange is the next change; false after the last.
func (h *HostChanges) NextChange() (HostChange, bool) {
	for len(h.next) > 0 {
		d := h.next.popDue()
		c := &h.causes[d.index]
		up := d.late
		before := h.down[c.host]
		if up {
			h.down[c.host]--
		} else {
			h.down[c.host]++
		}
		h.scheduleFollowing(d, c)
		if before == 0 || h.down[c.host] == 0 {
			return HostChange{d.at, c.host.cluster, int(c.host.host), up}, true
		}
	}
	return HostChange{}, false
}

// scheduleFollowing arranges what comes after d for the same cause: failures and repairs
// take turns.
func (h *HostChanges) scheduleFollowing(d due, c *hostCause) {
	up := d.late
	d.count++
	d.late = !up
	switch {
	case c.MTBF > 0 && up:
		d.at = d.at.Add(exponentialTime(h.drawNumber(d), c.MTBF))
	case c.MTBF > 0:
		d.at = d.at.Add(exponentialTime(h.drawNumber(d), c.Repair))
	case !up && c.For > 0:
		d.at = d.at.Add(c.For)
	default:
		return
	}
	h.scheduleChange(d)
}

func (h *HostChanges) scheduleChange(d due) {
	if d.at < h.horizon {
		h.next.pushDue(d)
	}
}

func (h *HostChanges) drawNumber(d due) float64 {
	return hashFraction(h.seed, failureDraws, h.causes[d.index].key, uint64(d.count), 0)
}
