package redist

import (
	"time"

	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/netflow"
)

// Route is the way from a process of the old layout to one of the new: links by number, and
// their latency.
type Route func(from, to int) (links []int, latency time.Duration)

// PredictTime is how long it takes until the last byte of all transfers has arrived if all begin at
// once and share the links fairly (max-min). It is core.Never where a link that has to be crossed carries nothing.
func PredictTime(transfers []Transfer, links []netflow.Link, route Route) core.Time {
	net := netflow.New(links)
	for i, t := range transfers {
		way, latency := route(t.From, t.To)
		net.Start(0, netflow.ID(i), way, t.Bytes, latency)
	}
	var last core.Time
	for arrived := 0; arrived < len(transfers); {
		at := net.NextEvent()
		if at == core.Never {
			return core.Never
		}
		for _, f := range net.Advance(at) {
			arrived, last = arrived+1, f.At
		}
	}
	return last
}
