package broker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/agent/wire"
	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/jobfile"
	"github.com/godwit-hpc/godwit/internal/netgraph"
	"github.com/godwit-hpc/godwit/internal/policy/place"
)

// order says on which of its hosts each node of a job's pattern is to run. It is
// asked when an attempt is handed over; one that is handed over again keeps what it
// was told first, as its driver has it.
func (t *turn) order(j *job, c *cluster, a *wire.Attempt) {
	if j.spec.Pattern == nil || t.asTried(j, c, a) {
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

// asTried orders the hosts as in the trial run that was made on them, if one was.
func (t *turn) asTried(j *job, c *cluster, a *wire.Attempt) bool {
	var held []string
	for _, h := range t.b.eng.World().Cluster(c.id).HostsOf(a.Held) {
		if h < len(c.HostNames) {
			held = append(held, c.HostNames[h])
		}
	}
	slices.Sort(held)
	trials := byTime(j.spec.Trials)
	at := slices.IndexFunc(trials, func(t netgraph.Trial) bool { return slices.Equal(slices.Sorted(slices.Values(t.Hosts)), held) })
	if at < 0 {
		return false
	}
	a.Order = trials[at].Hosts
	why := fmt.Sprintf("its skeleton took %.3g s there, the shortest of %d trial runs", trials[at].Seconds, len(trials))
	if at > 0 {
		why = fmt.Sprintf("its skeleton took %.3g s there; where it was faster others run", trials[at].Seconds)
	}
	for i, other := range trials {
		if i != at {
			why += fmt.Sprintf("; %.3g s on %s", other.Seconds, strings.Join(other.Hosts, " "))
		}
	}
	t.explain(j, "hosts", strings.Join(a.Order, " "), why, map[string]any{"trials": trials})
	return true
}

func byTime(trials []netgraph.Trial) []netgraph.Trial {
	return slices.SortedStableFunc(slices.Values(trials), func(a, b netgraph.Trial) int { return cmp.Compare(a.Seconds, b.Seconds) })
}

// trials are those of a job on hosts that we choose, the fastest first.
func (b *Broker) trials(spec *jobfile.Job) []core.Trial {
	var list []core.Trial
	for _, trial := range byTime(spec.Trials) {
		for _, c := range b.clusters {
			numbers := make([]int, len(trial.Hosts))
			for i, name := range trial.Hosts {
				numbers[i] = slices.Index(c.HostNames, name)
			}
			if !c.Managed && len(numbers) == spec.Pattern.Nodes && !slices.Contains(numbers, -1) {
				list = append(list, core.Trial{Cluster: c.id, Hosts: numbers, Seconds: trial.Seconds})
			}
		}
	}
	return list
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
