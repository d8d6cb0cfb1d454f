package broker

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/godwit-hpc/godwit/internal/driver"
	"github.com/godwit-hpc/godwit/internal/observe/weather"
	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/observe/weather/watch"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

// HostView is a host as it is now. What is not known is negative.
type HostView struct {
	Name, Cluster string
	Up            bool
	Why           string // it is not; or its state, in the words of its manager
	Drain         *core.Drain
	Procs, Free   int
	Speed         float64
	Share         float64 // of a processor that a newcomer will have
	ShareError    float64
	Memory        int64 // free, in bytes
	At            core.Time
}

// ListHosts lists the hosts of all clusters, or of one.
func (b *Broker) ListHosts(ctx context.Context, on string) ([]HostView, error) {
	if err := b.isCluster(on); err != nil {
		return nil, err
	}
	clusters := b.offeredClusters()
	lists := make([][]HostView, len(clusters))
	err := b.askLoop(ctx, func(*turn) {
		for i, c := range clusters {
			lists[i] = b.hostsOf(c)
		}
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, loadQueryTimeout)
	defer cancel()
	var all sync.WaitGroup
	for i, c := range clusters {
		if s, ok := c.Driver.(driver.Surveyor); ok && c.Managed {
			all.Go(func() {
				survey, err := s.SurveyHosts(ctx)
				if err != nil {
					lists[i] = []HostView{{Name: c.Name, Cluster: c.Name, Why: err.Error(), Procs: -1, Free: -1, Share: -1,
						Memory: -1}}
					return
				}
				lists[i] = hostViews(c, survey)
			})
		}
	}
	b.lookAtSelf(ctx)
	all.Wait()
	list := slices.Concat(lists...)
	list = slices.DeleteFunc(list, func(h HostView) bool { return on != "" && h.Cluster != on })
	for i := range list {
		b.addWeather(&list[i])
	}
	return list, nil
}

// isCluster complains about the name of a cluster that there is not; "" is none.
func (b *Broker) isCluster(on string) error {
	if on == "" {
		return nil
	}
	_, err := b.targetCluster("--on", on)
	return err
}

// hostsOf is what the loop knows of the hosts of a cluster.
func (b *Broker) hostsOf(c *cluster) []HostView {
	free := b.eng.FreeByHost(c.id)
	c.mu.Lock()
	away, lost := c.away, c.lost
	c.mu.Unlock()
	drains := b.eng.Drains(c.id)
	var list []HostView
	for i := range c.Hosts {
		h := HostView{Name: c.Name, Cluster: c.Name, Up: away == nil, Procs: c.Hosts[i].Procs, Speed: c.Hosts[i].Speed,
			Share: -1, Memory: -1}
		if c.Unmeasured {
			h.Speed = 0
		}
		if i < len(c.HostNames) {
			h.Name = c.HostNames[i]
		}
		if slices.Contains(lost, i) {
			h.Up, h.Why = false, "out of reach"
		}
		if away != nil {
			h.Why = away.Error()
		}
		for k := range drains {
			if d := &drains[k]; h.Drain == nil && (d.Host == "" || d.Host == h.Name) {
				h.Drain = d
			}
		}
		if i < len(free) {
			h.Free = free[i]
		}
		list = append(list, h)
	}
	return list
}

// hostViews is what a manager says of its hosts.
func hostViews(c *cluster, s *driver.Survey) []HostView {
	var list []HostView
	for _, h := range s.Hosts {
		list = append(list, HostView{Name: h.Name, Cluster: c.Name, Up: !h.Down, Why: h.State, Procs: h.Procs, Free: h.Free,
			Speed: h.Speed, Share: -1, Memory: -1})
	}
	return list
}

// lookAtSelf measures this machine, which nobody else does where nothing else is
// measured.
func (b *Broker) lookAtSelf(ctx context.Context) {
	w := &b.weather
	host := w.proxy[""]
	k := weather.Key{What: measured.CPU, From: host}
	if s, ok := w.book.FindSeries(k, b.brokerTime(), 0); ok && b.brokerTime().Sub(s.At) < time.Minute {
		return
	}
	if a, err := w.sensor.MeasureHosts(ctx, driver.Sensing{}); err == nil {
		w.book.LoadEntries([]weather.Entry{{Key: k, At: b.brokerTime(), Value: min(1, max(0, a.Machine.Load.Share))},
			{Key: weather.Key{What: measured.MB, From: host}, At: b.brokerTime(), Value: float64(a.Machine.Memory) / 1e6}})
	}
}

// addWeather adds what was measured of a host.
func (b *Broker) addWeather(h *HostView) {
	w := &b.weather
	name := h.Name
	if i := slices.IndexFunc(w.hosts, func(o watch.Host) bool { return o.Name == h.Cluster+"/"+h.Name }); i >= 0 {
		name = h.Cluster + "/" + h.Name
	}
	if s, ok := w.book.FindSeries(weather.Key{What: measured.CPU, From: name}, b.brokerTime(), 0); ok {
		h.Share, h.ShareError, h.At = s.Next.Value, s.Next.Error, s.At
	}
	if s, ok := w.book.FindSeries(weather.Key{What: measured.MB, From: name}, b.brokerTime(), 0); ok {
		h.Memory = int64(s.Next.Value * 1e6)
	}
}

// NetworkGraph is the network between the hosts within reach that jobs can run on, of all
// clusters or of one, as it will be over some time.
func (b *Broker) NetworkGraph(on string, over time.Duration) (*nodesel.Network, error) {
	if err := b.isCluster(on); err != nil {
		return nil, err
	}
	w := &b.weather
	var names []string
	for i, h := range w.hosts {
		if b.offersSensor(i, on) {
			names = append(names, h.Name)
		}
	}
	for _, h := range w.book.DescribedHosts() {
		if !slices.Contains(names, h) && b.offersDescribed(h, on) {
			names = append(names, h)
		}
	}
	return connectedHosts(w.book.NetworkGraph(names, b.brokerTime(), over)), nil
}

// offersSensor reports whether jobs can run where a sensor is: not where they are
// only submitted from, and on this machine only if it is a cluster.
func (b *Broker) offersSensor(i int, on string) bool {
	whose := b.weather.whose[i]
	return slices.ContainsFunc(b.allClusters(), func(c *cluster) bool {
		return (c.Name == whose || whose == "" && c.Site == "") && !c.Managed && c.isAsked(on)
	})
}

// isAsked reports whether a cluster is the one that is asked for, or, if that is any,
// within reach.
func (c *cluster) isAsked(on string) bool { return on == c.Name || on == "" && c.outOfReach() == nil }

// offersDescribed reports whether jobs can run on what a file calls a host: one of
// ours, or else maybe one of a manager's, of which we do not know the names.
func (b *Broker) offersDescribed(name, on string) bool {
	managed := false
	for _, c := range b.allClusters() {
		if !c.Managed && slices.Contains(c.HostNames, name) {
			return c.isAsked(on)
		}
		managed = managed || c.Managed && c.outOfReach() == nil
	}
	isSensor := slices.ContainsFunc(b.weather.hosts, func(h watch.Host) bool { return h.Name == name })
	return managed && on == "" && !isSensor && b.clusterNamed(name) == nil
}

// connectedHosts leaves hosts out of which nothing is known: they would be taken to be
// alone.
func connectedHosts(g *nodesel.Network) *nodesel.Network {
	number := make([]int, len(g.Hosts))
	for i := range number {
		number[i] = -1
	}
	out := &nodesel.Network{}
	take := func(h int) int {
		if number[h] < 0 {
			number[h] = len(out.Hosts)
			out.Hosts = append(out.Hosts, g.Hosts[h])
			if g.CPU != nil {
				out.CPU = append(out.CPU, g.CPU[h])
			}
		}
		return number[h]
	}
	for h := range g.Hosts { // in their order
		if slices.ContainsFunc(g.Links, func(l nodesel.Link) bool { return l.A == h || l.B == h }) {
			take(h)
		}
	}
	for _, l := range g.Links {
		l.A, l.B = take(l.A), take(l.B)
		out.Links = append(out.Links, l)
	}
	return out
}
