package broker

import (
	"context"
	"maps"
	"time"

	"github.com/godwit-hpc/godwit/internal/depot"
	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/broker/transfer"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// transferGrid is the broker as transfers see it. None of it needs a turn of the loop.
type transferGrid struct{ b *Broker }

func (g transferGrid) ClusterNamed(name string) *transfer.Cluster {
	if c := g.b.clusterNamed(name); c != nil {
		return g.b.transferCluster(c)
	}
	return nil
}

func (g transferGrid) EveryCluster() []*transfer.Cluster {
	all := g.b.allClusters()
	list := make([]*transfer.Cluster, len(all))
	for i, c := range all {
		list[i] = g.b.transferCluster(c)
	}
	return list
}

func (g transferGrid) OfferedNames() []string { return g.b.clusterNames() }

func (g transferGrid) UserID(ctx context.Context) (uint32, error) {
	u, err := g.b.requestUser(ctx)
	return u.ID, err
}

func (g transferGrid) DepotFor(ctx context.Context) (*depot.Store, error) { return g.b.depotFor(ctx) }

func (g transferGrid) GrantTrees(ctx context.Context, cluster string, trees ...string) (revoke func()) {
	return g.b.grant(ctx, cluster, trees...)
}

func (g transferGrid) ForecastWay(from, to string) (weather.PathForecast, bool) {
	return g.b.wayBetween(from, to)
}

func (g transferGrid) NoteRate(from, to string, bytes int64, took time.Duration) {
	if g.b.opt.Moved != nil {
		g.b.opt.Moved(from, to, bytes, took)
	}
}

func (g transferGrid) CurrentTime() core.Time { return g.b.brokerTime() }

// transferCluster is a cluster as transfers see it.
func (b *Broker) transferCluster(c *cluster) *transfer.Cluster {
	return &transfer.Cluster{ID: c.id, Name: c.Name, Site: c.Site, Indirect: c.Indirect,
		Files: func(ctx context.Context) driver.Stager { return b.filesOf(ctx, c) }}
}

// movedJob is a job as transfers see it: what becomes of its files is told to the loop.
type movedJob struct {
	b *Broker
	j *job
}

func (m movedJob) OwnerID() uint32 { return m.j.rec.Owner }

func (m movedJob) ExplainMove(subject, choice, why string) {
	m.b.postToLoop(func(t *turn) { t.explainJob(m.j, subject, choice, why, nil) })
}

// TellRoute has the engine note on which way an input of a job comes to a cluster.
func (m movedJob) TellRoute(input int, from, to *transfer.Cluster, why core.Reason) {
	tell := core.Input{Kind: core.Routed, Job: m.j.rec.ID, N: input, Cluster: to.ID, Why: why}
	if from != nil {
		tell.Aim = core.AimAt(from.ID)
	}
	m.b.postToLoop(func(t *turn) {
		tell.Epoch = m.j.rec.Epoch
		t.stepEngine(&tell)
	})
}

func (m movedJob) NoteMove(r transfer.Report) {
	m.b.postToLoop(func(t *turn) {
		t.explainJob(m.j, r.Subject, r.Choice, r.Why, map[string]any{"bytes": r.Bytes, "sent": r.Sent, "seconds": r.Seconds})
		if r.Recorded {
			t.recordTransfer(m.j, r.Transfer)
		}
		if r.What == history.StageOut {
			t.keepReplicas()
		}
	})
}

// keepReplicas makes what is known of transfers durable together with the turn.
func (t *turn) keepReplicas() {
	if t.batch.Settings == nil {
		t.batch.Settings = map[string]string{}
	}
	maps.Copy(t.batch.Settings, t.b.mover.EncodeTables(t.b.opt.Users != nil))
}

// stagedRoots are the trees that jobs were, or are to be, given besides their
// work folders.
func (b *Broker) stagedRoots(ctx context.Context) ([]string, error) {
	roots := b.mover.KeepRecent(b.brokerTime())
	err := b.askLoop(ctx, func(t *turn) {
		t.keepReplicas()
		for _, a := range b.partial { // order-free: a set
			for _, in := range a.Template.Inputs {
				if in.Tree != "" {
					roots = append(roots, in.Tree)
				}
			}
		}
		for _, j := range b.jobs { // order-free: a set
			for _, in := range j.rec.Inputs {
				if in.Tree != "" {
					roots = append(roots, in.Tree)
				}
			}
			for i := range j.rec.Parts { // of those that have ended while others run
				if tree := j.rec.Parts[i].Result; tree != "" {
					roots = append(roots, tree)
				}
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return roots, nil
}
