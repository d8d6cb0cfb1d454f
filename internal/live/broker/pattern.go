package broker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/godwit-hpc/godwit/internal/format/jobfile"
	"github.com/godwit-hpc/godwit/internal/format/netgraph"
	"github.com/godwit-hpc/godwit/internal/protocol/wire"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/place"
)

// orderHosts says on which of its hosts each node of a job's pattern is to run. It is
// asked when an attempt is handed over; one that is handed over again keeps what it
// was told first, as its driver has it.
func (t *turn) orderHosts(j *job, c *cluster, a *wire.Attempt) {
	if j.spec.Pattern == nil || t.orderAsTried(j, c, a) {
		return
	}
	besides := untriedReason(j.spec, c, t.now)
	if c.Managed {
		t.explainJob(j, "hosts", "chosen by the batch system", c.Name+" has a batch system, which chooses the hosts whatever the pattern"+besides, nil)
		return
	}
	w := t.b.eng.World().Cluster(c.id)
	o, err := place.OrderHosts(w, j.spec.Pattern, a.Held)
	if len(c.HostNames) != w.HostCount() {
		err = errors.New("they are not known by their names")
	}
	if err != nil {
		t.explainJob(j, "hosts", "in the order of the cluster", c.Name+": "+err.Error()+besides, nil)
		return
	}
	for _, h := range o.Hosts {
		a.Order = append(a.Order, c.HostNames[h])
	}
	t.explainJob(j, "hosts", strings.Join(a.Order, " "), suitText(j.spec.Pattern, &o)+besides, map[string]any{"mbps": o.Mbps, "free": o.Free})
}

// suitText says how well hosts suit a pattern.
func suitText(p *core.Pattern, o *place.Order) string {
	why := "they suit the pattern " + p.Name + " best"
	if !o.Best {
		why = "better ones for the pattern " + p.Name + " were not found in the time that there is for it"
	}
	why += fmt.Sprintf(": its slowest pair has %.3g Mbit/s", o.Mbps)
	if o.Free < 1 {
		why += fmt.Sprintf("; the busiest has %.0f %% of a core free, which counts as much", 100*o.Free)
	}
	return why
}

// orderAsTried orders the hosts as in the trial run that was made on them, if one was not
// too long ago.
func (t *turn) orderAsTried(j *job, c *cluster, a *wire.Attempt) bool {
	var held []string
	for _, h := range t.b.eng.World().Cluster(c.id).HostsOf(a.Held) {
		if h < len(c.HostNames) {
			held = append(held, c.HostNames[h])
		}
	}
	slices.Sort(held)
	trials := currentTrials(j.spec.Trials, t.now)
	at := slices.IndexFunc(trials, func(t netgraph.Trial) bool { return slices.Equal(slices.Sorted(slices.Values(t.Hosts)), held) })
	if at < 0 {
		return false
	}
	a.Order = trials[at].Hosts
	why := fmt.Sprintf("its skeleton took %.3g s there %s ago", trials[at].Seconds, ageOf(&trials[at], t.now))
	switch better := trials[:at]; {
	case at == 0:
		why += fmt.Sprintf(", the best of %d trial runs", len(trials))
	case slices.ContainsFunc(better, func(t netgraph.Trial) bool { return c.numbersOf(&t) != nil }):
		why += "; where it was better there was no room"
	default:
		why += "; where it was better cannot be chosen in " + c.Name
	}
	for i, other := range trials {
		if i != at {
			why += fmt.Sprintf("; %.3g s on %s", other.Seconds, strings.Join(other.Hosts, " "))
		}
	}
	t.explainJob(j, "hosts", strings.Join(a.Order, " "), why, map[string]any{"trials": trials})
	return true
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
	return fmt.Sprintf("; its trial runs were made %s ago and count for %s: since then the network may have changed", ageOf(&newest, now), formatDuration(netgraph.TrialsLast))
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
	return formatDuration(max(0, now.Sub(core.Time(t.At.UnixNano()))))
}

// formatDuration says a time to the minute, and below ten to the second.
func formatDuration(d time.Duration) string {
	if d < 10*time.Minute {
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
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
				list = append(list, core.Trial{Cluster: c.id, Hosts: numbers, Seconds: trial.Seconds, Until: trialExpiry(&trial, now)})
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
	g, net := b.weather.book.NetworkGraph(b.sensorNames(c), b.brokerTime(), forecastSpan), core.NewNetwork(len(c.HostNames))
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
