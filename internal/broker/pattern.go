package broker

import (
	"fmt"
	"math"
	"strings"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/policy/place"
)

// order says on which of its hosts each node of a job's pattern is to run. It is
// asked when an attempt is handed over; one that is handed over again keeps what it
// was told first, as its driver has it.
func (t *turn) order(j *job, c *cluster, a *wire.Attempt) {
	if j.spec.Pattern == nil {
		return
	}
	hosts, mbps := place.Hosts(t.b.eng.World().Cluster(c.id), j.spec.Pattern, a.Held)
	if hosts == nil || len(c.HostNames) != t.b.eng.World().Cluster(c.id).Hosts() {
		t.explain(j, "hosts", "as they come", "nothing is known of the network between the hosts of "+c.Name, nil)
		return
	}
	for _, h := range hosts {
		a.Order = append(a.Order, c.HostNames[h])
	}
	t.explain(j, "hosts", strings.Join(a.Order, " "),
		fmt.Sprintf("they suit the pattern %s best: its slowest pair has %.3g Mbit/s", j.spec.Pattern.Name, mbps), map[string]any{"mbps": mbps})
}

// tellNetwork tells the engine how well the hosts of a cluster are connected, if
// that is known of any of them and differs from what it was told.
func (b *Broker) tellNetwork(c *cluster) {
	net := b.networkOf(c)
	if net == nil {
		return
	}
	c.mu.Lock()
	tell := differ(net, c.net)
	if tell {
		c.net = net
	}
	c.mu.Unlock()
	if tell {
		b.tell(func(t *turn) { t.step(&core.Input{Kind: core.Weather, Cluster: c.id, Net: net}) })
	}
}

// networkOf is the forecast for each pair of hosts of a cluster that we choose
// hosts of, the slower direction; nil if nothing is known.
func (b *Broker) networkOf(c *cluster) *core.Network {
	if c.Managed || len(c.HostNames) < 2 || len(c.HostNames) != len(c.Hosts) || b.weather.book == nil {
		return nil
	}
	names := b.sensorNames(c)
	net, known := &core.Network{}, false
	for u, from := range names {
		for _, to := range names[:u] {
			there, ok := b.weather.book.Between(from, to, b.now(), lookAhead)
			back, alsoOK := b.weather.book.Between(to, from, b.now(), lookAhead)
			mbps := 0.0
			if ok && alsoOK {
				mbps, known = math.Min(there.Mbps.Median(), back.Mbps.Median()), true
			}
			net.Mbps = append(net.Mbps, mbps)
		}
	}
	if !known {
		return nil
	}
	return net
}

// sensorNames are the names that a cluster's hosts have in the weather.
func (b *Broker) sensorNames(c *cluster) []string {
	var names []string
	for i, h := range b.weather.hosts {
		if b.weather.whose[i] == c.Name {
			names = append(names, h.Name)
		}
	}
	if len(names) != len(c.HostNames) { // a file may know them
		return c.HostNames
	}
	return names
}

// differ reports whether a network is another one: by a tenth at any pair.
func differ(now, was *core.Network) bool {
	if was == nil || len(was.Mbps) != len(now.Mbps) {
		return true
	}
	for i, mbps := range now.Mbps {
		if math.Abs(mbps-was.Mbps[i]) > 0.1*math.Max(mbps, was.Mbps[i]) {
			return true
		}
	}
	return false
}
