package world

import (
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// ApartCluster is another cluster whose hosts do not reach those of this one, nor these them. That was found out by
// trying, so it holds until a moment: networks change.
type ApartCluster struct {
	With  core.ClusterID
	Until core.Time
}

// IsApart reports whether hosts of two clusters are known not to reach each other.
func (c *Cluster) IsApart(other *Cluster, now core.Time) bool {
	if c == other {
		return false
	}
	if c.spec.Isolated || other.spec.Isolated {
		return true
	}
	return slices.ContainsFunc(c.apart, func(a ApartCluster) bool { return a.With == other.id && a.Until > now })
}

// AreApart reports whether hosts of two clusters are known not to reach each other.
func (v View) AreApart(a, b core.ClusterID) bool {
	return v.world.clusters[a].IsApart(v.world.clusters[b], v.Now)
}

// applyApart notes until when two clusters count as apart.
func (w *World) applyApart(c *Cluster, ev *core.Event) error {
	other, named := ev.Aim.Cluster()
	if !named || int(other) >= len(w.clusters) || other == c.id {
		return w.impossibleEvent(ev, "names no other cluster")
	}
	c.setApart(other, ev.When)
	w.clusters[other].setApart(c.id, ev.When)
	return nil
}

// setApart replaces what is known of another cluster; 0: nothing stands between the two.
func (c *Cluster) setApart(other core.ClusterID, until core.Time) {
	list := slices.DeleteFunc(slices.Clone(c.apart), func(a ApartCluster) bool { return a.With == other })
	if until > 0 {
		list = append(list, ApartCluster{other, until})
	}
	c.apart = list
}
