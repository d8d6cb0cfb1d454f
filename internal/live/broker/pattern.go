package broker

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/sched/core"
)

// recordRanks explains on which of its hosts each node of a job's pattern runs.
func (t *turn) recordRanks(j *job, ev *core.Event) {
	c := t.b.allClusters()[ev.Cluster]
	why, inputs := ev.Why.String(), map[string]any(nil)
	choice := "in the order of the cluster"
	switch ev.Why.Code {
	case core.RanksByBatchSystem:
		choice = "chosen by the batch system"
		why = c.Name + ": " + why + untriedReason(j.spec, c, t.now)
	case core.RanksAsTried, core.RanksAsTriedLess:
		inputs = map[string]any{"trials": currentTrials(j.spec.Trials, t.now)}
	case core.RanksSuit, core.RanksFound:
		why += untriedReason(j.spec, c, t.now)
		inputs = map[string]any{"mbps": ev.Why.A, "free": ev.Why.B}
	default:
		why = c.Name + ": " + why + untriedReason(j.spec, c, t.now)
	}
	if names := c.namesOf(ev.Ranks); len(names) > 0 {
		choice = strings.Join(names, " ")
	}
	t.explainJob(j, "hosts", choice, why, inputs)
}

// namesOf are the names of hosts; nil if not all are known by name.
func (c *cluster) namesOf(hosts []int) []string {
	var names []string
	for _, h := range hosts {
		if h < 0 || h >= len(c.HostNames) {
			return nil
		}
		names = append(names, c.HostNames[h])
	}
	return names
}

// untriedReason says why a job does not run where it was tried; "" if it was not.
func untriedReason(spec *jobfile.Job, c *cluster, now core.Time) string {
	if len(spec.Trials) == 0 {
		return ""
	}
	trials := currentTrials(spec.Trials, now)
	if len(trials) == 0 {
		return lapsedReason(spec.Trials, now)
	}
	for i := range trials {
		if c.numbersOf(&trials[i]) != nil {
			return "; where it was tried in " + c.Name + " there was no room"
		}
	}
	return "; it was tried on hosts that cannot be chosen in " + c.Name
}

// lapsedReason says why trial runs, none of which counts, do not.
func lapsedReason(trials []netgraph.Trial, now core.Time) string {
	newest := slices.MaxFunc(trials, func(a, b netgraph.Trial) int { return a.At.Compare(b.At) })
	if newest.At.IsZero() {
		return "; its trial runs do not say when they were made, so they do not count"
	}
	return fmt.Sprintf("; its trial runs were made %s ago and count for %s: since then the network may have changed",
		ageOf(&newest, now), core.FormatSeconds(netgraph.TrialsLast.Seconds()))
}

// trialExpiry is when a trial run tells nothing of the network any more. One that comes is
// of now: clocks differ.
func trialExpiry(t *netgraph.Trial, now core.Time) core.Time {
	if t.At.IsZero() {
		return now
	}
	return min(core.Time(t.At.UnixNano()), now).Add(netgraph.TrialsLast)
}

// ageOf is how long ago a trial run was made, for people.
func ageOf(t *netgraph.Trial, now core.Time) string {
	return core.FormatSeconds(max(0, now.Sub(core.Time(t.At.UnixNano()))).Seconds())
}

// currentTrials are the trial runs that tell how the network is now.
func currentTrials(trials []netgraph.Trial, now core.Time) []netgraph.Trial {
	var list []netgraph.Trial
	for _, t := range trials {
		if trialExpiry(&t, now) > now {
			list = append(list, t)
		}
	}
	return list
}

// clusterTrials are those of a job on hosts that we choose, the best first.
func (b *Broker) clusterTrials(spec *jobfile.Job, now core.Time) []core.Trial {
	var list []core.Trial
	for _, trial := range currentTrials(spec.Trials, now) {
		for _, c := range b.allClusters() {
			if numbers := c.numbersOf(&trial); len(numbers) == spec.Pattern.Nodes {
				list = append(list, core.Trial{Cluster: c.id, Hosts: numbers, Seconds: trial.Seconds,
					Until: trialExpiry(&trial, now)})
			}
		}
	}
	return list
}

// numbersOf are the hosts of a trial run as the cluster numbers them; nil if they
// are not its own, or not ours to choose.
func (c *cluster) numbersOf(trial *netgraph.Trial) []int {
	if c.Managed {
		return nil
	}
	var numbers []int
	for _, name := range trial.Hosts {
		i := slices.Index(c.HostNames, name)
		if i < 0 {
			return nil
		}
		numbers = append(numbers, i)
	}
	return numbers
}

// tellNetwork tells the engine how well the hosts of a cluster are connected, if
// that differs from what it was told. Also that nothing is known is told: it may
// have known something before.
func (b *Broker) tellNetwork(c *cluster) {
	net := b.networkOf(c)
	if net == nil {
		return
	}
	c.mu.Lock()
	tell := networksDiffer(net, c.net)
	if tell {
		c.net = net
	}
	c.mu.Unlock()
	if tell {
		b.postToLoop(func(t *turn) { t.stepEngine(&core.Input{Kind: core.Weather, Cluster: c.id, Net: net}) })
	}
}

// networkOf is the forecast for each pair of hosts of a cluster that we choose
// hosts of, and for their processors, the same that hosts are selected by elsewhere;
// nil of any other.
func (b *Broker) networkOf(c *cluster) *core.Network {
	if c.Managed || len(c.HostNames) < 2 || len(c.HostNames) != len(c.Hosts) || b.weather.book == nil {
		return nil
	}
	g, net := b.weather.book.NetworkGraph(b.sensorNames(c), b.brokerTime(), forecastSpan),
		core.NewNetwork(len(c.HostNames))
	for _, l := range g.Links {
		net.SetBandwidth(l.A, l.B, l.Mbps)
	}
	for _, share := range g.CPU { // to a tenth: idle hosts are to be equal, and finer nobody foretells it
		net.Free = append(net.Free, math.Max(0.1, math.Round(10*share)/10))
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

// networksDiffer reports whether a network is another one: by a tenth at any pair, or by more
// than that of a processor.
func networksDiffer(now, was *core.Network) bool {
	if was == nil || len(was.Mbps) != len(now.Mbps) {
		return true
	}
	for i, mbps := range now.Mbps {
		if math.Abs(mbps-was.Mbps[i]) > 0.1*math.Max(mbps, was.Mbps[i]) {
			return true
		}
	}
	for h := range max(len(now.Free), len(was.Free)) {
		if math.Abs(now.FreeOn(h)-was.FreeOn(h)) > 0.15 {
			return true
		}
	}
	return false
}
