package engine

import (
	"fmt"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// Unsettled is what an engine has still to look at between two steps: with the world and
// the settings it is all that the next decision rests on besides the input. An engine that
// is made anew looks at everything; one that is to decide exactly as another did goes on
// from what that one had left.
type Unsettled struct {
	Clusters []UnsettledCluster `json:"clusters,omitempty"`
	Any      bool               `json:"any,omitempty"` // some cluster, or the head of the queue, is to be looked at
	Scan     bool               `json:"scan,omitempty"`
	Again    []core.JobID       `json:"again,omitempty"`   // to be placed again
	Targets  [][3]core.JobID    `json:"targets,omitempty"` // job, array, the last of its waiters that was looked at
	Slots    []core.JobID       `json:"slots,omitempty"`
	Nowhere  bool               `json:"nowhere,omitempty"`
	Asked    core.JobID         `json:"asked,omitempty"`
}

// UnsettledCluster is a cluster in which something changed since it was last looked at.
type UnsettledCluster struct {
	ID      core.ClusterID `json:"id"`
	Changed bool           `json:"changed,omitempty"`
	Fresh   bool           `json:"fresh,omitempty"`
	Waits   bool           `json:"waits,omitempty"`
	Waves   int            `json:"waves,omitempty"`
}

// Unsettled is what the engine has still to look at.
func (e *Engine) Unsettled() Unsettled {
	u := Unsettled{Any: e.anyDirt, Scan: e.scan, Again: append([]core.JobID(nil), e.again...),
		Slots: append([]core.JobID(nil), e.holds.slots...), Nowhere: e.holds.nowhere, Asked: e.holds.asked}
	for id, d := range e.dirty {
		if d != (dirt{}) {
			u.Clusters = append(u.Clusters, UnsettledCluster{core.ClusterID(id), d.changed, d.fresh, d.waits, d.waves})
		}
	}
	for _, t := range e.holds.targets {
		u.Targets = append(u.Targets, [3]core.JobID{t.job, t.array, t.after})
	}
	return u
}

// resumeFrom goes on from what another engine on the same world had left.
func (e *Engine) resumeFrom(u *Unsettled) error {
	clear(e.dirty)
	for _, c := range u.Clusters {
		if c.ID < 0 || int(c.ID) >= len(e.dirty) || c.Waves < 0 {
			return fmt.Errorf("cluster %d of %d cannot be looked at", c.ID, len(e.dirty))
		}
		e.dirty[c.ID] = dirt{changed: c.Changed, fresh: c.Fresh, waits: c.Waits, waves: c.Waves}
	}
	e.anyDirt, e.scan = u.Any, u.Scan
	e.again = append(e.again[:0], u.Again...)
	e.holds = unsettledHolds{slots: u.Slots, nowhere: u.Nowhere, asked: u.Asked}
	for _, t := range u.Targets {
		e.holds.targets = append(e.holds.targets, reachedTarget{t[0], t[1], t[2]})
	}
	return nil
}

// isSettled reports whether nothing was left to be looked at.
func (e *Engine) isSettled() bool {
	return !e.anyDirt && !e.scan && len(e.again) == 0 && e.holds.isEmpty()
}
