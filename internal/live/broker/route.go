package broker

import (
	"context"
	"slices"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/store"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/route"
)

// routesSetting is the name under which it is stored which routes are closed.
const routesSetting = "ways"

// source is from where an input can be had.
type source struct {
	from    *cluster // nil: through the broker
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
			ways[i].From = core.AimAt(s.from.id)
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

// tellRoute has the engine note on which way an input of a job comes to a cluster.
func (b *Broker) tellRoute(j *job, in *wantedInput, to *cluster, s *source) {
	tell := core.Input{Kind: core.Routed, Job: j.rec.ID, N: in.number, Cluster: to.id, Why: s.why}
	if s.from != nil {
		tell.Aim = core.AimAt(s.from.id)
	}
	b.postToLoop(func(t *turn) {
		tell.Epoch = j.rec.Epoch
		t.stepEngine(&tell)
	})
}

// recordRoute explains on which way an input comes.
func (t *turn) recordRoute(j *job, ev *core.Event) {
	if ev.N >= len(j.rec.Inputs) {
		return
	}
	in := &j.rec.Inputs[ev.N]
	how := in.From + " comes to " + t.b.clusterName(ev.Cluster)
	if from, direct := ev.Aim.Cluster(); direct {
		how += " from " + t.b.clusterName(from) + ", without the broker in between"
	} else {
		how += " through the broker"
	}
	t.explainJob(j, "route", how, ev.Why.String(), nil)
}

// peerOf is what has the files of a cluster go to and come from others directly;
// nil if nothing does.
func (b *Broker) peerOf(ctx context.Context, c *cluster) driver.Peer {
	if c.Site == "" || c.Indirect { // the broker is there, or has to be in between
		return nil
	}
	p, _ := b.stagerFor(ctx, c).(driver.Peer)
	return p
}

// inputSources are those of an input for a cluster that does not have it, the best first:
// the fastest, but for price.
func (b *Broker) inputSources(ctx context.Context, rows []history.Transfer, in *store.Input, to *cluster) []source {
	size := float64(in.Size)
	if in.Size < 0 {
		size = guessedSize
	}
	home, known := b.clusterNamed(in.Site), b.replicasOf(ctx)
	through := source{seconds: size / b.transferRate(rows, "", to.Name, to.Site == "")}
	if home != nil && (in.Tree == "" || known.OnlyElsewhere(in.Tree)) {
		through.seconds += size / b.transferRate(rows, home.Name, "", home.Site == "")
		through.twice = true
	}
	list := []source{through}
	if b.peerOf(ctx, to) == nil {
		return rankSources(list)
	}
	direct := func(from *cluster, w driver.FileRequest) {
		if from != nil && from.Site != to.Site && b.peerOf(ctx, from) != nil &&
			b.routes.IsOpen(from.Site, to.Site, b.brokerTime()) {
			list = append(list, source{from: from, want: w, seconds: size / b.directRate(rows, from.Name, to.Name)})
		}
	}
	direct(home, driver.FileRequest{Path: in.Path})
	for _, name := range known.ClustersWith(in.Tree) {
		direct(b.clusterNamed(name), driver.FileRequest{Tree: in.Tree})
	}
	return rankSources(list)
}

// transferRows are the last transfers of inputs.
func (b *Broker) transferRows(ctx context.Context) []history.Transfer {
	rows, err := b.opt.Store.ListTransfers(ctx, store.Past{Limit: maxHistoryRows})
	if err != nil {
		return nil // what is guessed has to do
	}
	return slices.DeleteFunc(rows, func(r history.Transfer) bool { return r.What != history.StageIn })
}
