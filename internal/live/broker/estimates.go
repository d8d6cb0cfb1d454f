package broker

import (
	"context"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/live/broker/estimate"
	"github.com/godwit-hpc/godwit/internal/observe/history"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// estimateGrid is the broker as estimates see it. None of it needs a turn of the loop.
type estimateGrid struct{ b *Broker }

func (g estimateGrid) OfferedClusters() []*estimate.Cluster {
	offered := g.b.offeredClusters()
	list := make([]*estimate.Cluster, len(offered))
	for i, c := range offered {
		list[i] = g.b.estimateCluster(c)
	}
	return list
}

func (g estimateGrid) IsHere(cluster string) bool {
	c := g.b.clusterNamed(cluster)
	return c != nil && c.Site == ""
}

func (g estimateGrid) RunsOf(ctx context.Context, program string) ([]history.Run, error) {
	return g.b.runsOf(ctx, program)
}

func (g estimateGrid) ForecastWay(from, to string) (weather.PathForecast, bool) {
	return g.b.wayBetween(from, to)
}

func (g estimateGrid) CurrentTime() core.Time { return g.b.brokerTime() }

// estimateCluster is a cluster as estimates see it.
func (b *Broker) estimateCluster(c *cluster) *estimate.Cluster {
	return &estimate.Cluster{ID: c.id, Name: c.Name, Procs: max(0, totalProcs(c.Hosts)-c.KeepFree), Speed: c.hostSpeed(),
		Managed: c.Managed, Unmeasured: c.Unmeasured, Driver: c.Driver, State: presentState{b, c}}
}

// hostSpeed is how fast its hosts are.
func (c *cluster) hostSpeed() float64 {
	if len(c.Hosts) == 0 || c.Hosts[0].Speed <= 0 {
		return 1
	}
	return c.Hosts[0].Speed
}

// presentState is what is known of a cluster at present.
type presentState struct {
	b *Broker
	c *cluster
}

func (s presentState) OutOfReach() error    { return s.c.outOfReach() }
func (s presentState) DrainText() string    { return s.c.drainSentence() }
func (s presentState) Reliability() float64 { return s.c.reliability() }

func (s presentState) LastLoad() driver.Load {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.c.load
}

func (s presentState) ShareAhead(now driver.Load) predict.Dist { return s.b.shareAhead(s.c, now) }

func (s presentState) IdleAndAhead() (idle int, first predict.Dist) {
	now := s.b.brokerTime()
	for _, j := range s.b.placed.jobsAt(s.c.Name) {
		v, at := j.lastVitals()
		if v == nil || j.state != core.Running {
			continue
		}
		d, ok := predict.FromQuantiles(v.Left)
		if !ok {
			continue
		}
		if d = d.Shift(-now.Sub(at).Seconds()); !first.IsKnown() || d.Median() < first.Median() {
			first = d
		}
	}
	return int(s.c.idle.Load()), first
}
