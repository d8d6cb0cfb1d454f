package transfer

import (
	"context"
	"slices"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/route"
)

// source is from where an input can be had.
type source struct {
	from    *Cluster // nil: through the broker
	want    driver.FileRequest
	seconds float64     // that it is expected to take
	twice   bool        // it goes to the broker first
	why     core.Reason // it is tried when those before it did not work
}

// rankSources puts sources in the order in which they are tried.
func rankSources(list []source) []source {
	ways := make([]route.FileWay, len(list))
	for i, s := range list {
		ways[i] = route.FileWay{Seconds: s.seconds, Detour: s.twice}
		if s.from != nil {
			ways[i].From = core.AimAt(s.from.ID)
		}
	}
	order := route.RankWays(ways)
	ranked := make([]source, len(list))
	for place, i := range order {
		ranked[place] = list[i]
		ranked[place].why = route.ExplainWay(ways, order, place)
	}
	return ranked
}

// peerOf is what has the files of a cluster go to and come from others directly;
// nil if nothing does.
func (m *Mover) peerOf(ctx context.Context, c *Cluster) driver.Peer {
	if c.Site == "" || c.Indirect { // the broker is there, or has to be in between
		return nil
	}
	p, _ := m.stagerFor(ctx, c).(driver.Peer)
	return p
}

// inputSources are those of an input for a cluster that does not have it, the best first:
// the fastest, but for price.
func (m *Mover) inputSources(ctx context.Context, rows []history.Transfer, in *store.Input, to *Cluster) []source {
	size := float64(in.Size)
	if in.Size < 0 {
		size = guessedSize
	}
	home, known := m.grid.ClusterNamed(in.Site), m.replicasOf(ctx)
	through := source{seconds: size / m.transferRate(rows, "", to.Name, to.Site == "")}
	if home != nil && (in.Tree == "" || known.OnlyElsewhere(in.Tree)) {
		through.seconds += size / m.transferRate(rows, home.Name, "", home.Site == "")
		through.twice = true
	}
	list := []source{through}
	if m.peerOf(ctx, to) == nil {
		return rankSources(list)
	}
	direct := func(from *Cluster, w driver.FileRequest) {
		if from != nil && from.Site != to.Site && m.peerOf(ctx, from) != nil &&
			m.routes.IsOpen(from.Site, to.Site, m.grid.CurrentTime()) {
			list = append(list, source{from: from, want: w, seconds: size / m.directRate(rows, from.Name, to.Name)})
		}
	}
	direct(home, driver.FileRequest{Path: in.Path})
	for _, name := range known.ClustersWith(in.Tree) {
		direct(m.grid.ClusterNamed(name), driver.FileRequest{Tree: in.Tree})
	}
	return rankSources(list)
}

// transferRows are the last transfers of inputs.
func (m *Mover) transferRows(ctx context.Context) []history.Transfer {
	rows, err := m.past.ListTransfers(ctx, store.Past{Limit: history.EstimateRows})
	if err != nil {
		return nil // what is guessed has to do
	}
	return slices.DeleteFunc(rows, func(r history.Transfer) bool { return r.What != history.StageIn })
}
