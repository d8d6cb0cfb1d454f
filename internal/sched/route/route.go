// Package route decides on which way a file comes to a cluster that does not have it:
// from a site that does, directly, or through the broker. It is a function of what each
// way is expected to take, and must not know how files are moved or where the
// expectations come from.
package route

import (
	"cmp"
	"slices"
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// FileWay is one way on which a file can come to a cluster.
type FileWay struct {
	From    core.Aim // the cluster that has it; 0: through the broker
	Seconds float64  // that it is expected to take
	Detour  bool     // it goes to the broker first, and over the broker's link twice
}

// detourCost is what a second over the broker's link counts that need not go over it: the
// link is everybody's, so that a detour has to be clearly faster, and not only because one
// transfer or probe of the other way was slow.
const detourCost = 1.5

func (w *FileWay) cost() float64 {
	if w.Detour {
		return detourCost * w.Seconds
	}
	return w.Seconds
}

// RankWays lists the ways by their numbers, the best first; of equal ones the first.
func RankWays(ways []FileWay) []int {
	order := make([]int, len(ways))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ways[a].cost(), ways[b].cost()) })
	return order
}

// ExplainWay is why the ways are tried in their order, for the one at place i of it.
func ExplainWay(ways []FileWay, order []int, i int) core.Reason {
	chosen := &ways[order[i]]
	switch {
	case i > 0:
		return core.Reason{Code: core.WayAfterFailure, A: chosen.Seconds}
	case len(order) == 1:
		return core.Reason{Code: core.WayOnly, A: chosen.Seconds}
	}
	next := &ways[order[1]]
	if next.Seconds < chosen.Seconds {
		return core.Reason{Code: core.WaySparesBroker, A: chosen.Seconds, B: next.Seconds}
	}
	return core.Reason{Code: core.WayFastest, A: chosen.Seconds, B: next.Seconds}
}

// closedFor is how long a way that did not work is not tried again.
const closedFor = 30 * time.Minute

// IsOpen reports whether a way is tried (again) that failed at a moment.
func IsOpen(failed, now core.Time) bool { return now.Sub(failed) > closedFor }
