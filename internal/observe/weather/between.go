package weather

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/observe/weather/measured"
	"github.com/godwit-hpc/godwit/internal/sched/core"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
	"github.com/godwit-hpc/godwit/internal/sched/predict"
)

// PathForecast is what lies between two hosts.
type PathForecast struct {
	Mbps predict.Dist // from one to the other
	Ms   float64      // 0: not known
	At   core.Time    // when it was measured; 0: it was not, a file says so
	Of   [2]string    // between whom: these two, or who stands for them
}

// ForecastBetween is what lies between two hosts, from the first to the second, in the
// mean over some time: as measured between them of late; else between others of
// their sites; else as the description of the network has it; else as it was when it
// was last measured.
func (b *Book) ForecastBetween(from, to string, now core.Time, over time.Duration) (PathForecast, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.forecastBetween(from, to, now, over, b.standIns())
}

func (b *Book) forecastBetween(from, to string, now core.Time, over time.Duration,
	others map[[2]string][2]string) (PathForecast, bool) {
	way, ok, late := b.directForecast(from, to, now, over)
	if ok && !late {
		return way, true
	}
	if a, z, two := b.sitesApart(from, to); two {
		if pair, there := others[[2]string{a, z}]; there {
			theirs, _, alsoLate := b.directForecast(pair[0], pair[1], now, over)
			if !alsoLate {
				return theirs, true
			}
			if !ok {
				way, ok = theirs, true
			}
		}
	}
	if w, there := b.static.describedBetween(from, to); there {
		return w, true
	}
	return way, ok
}

// sitesApart are the sites of two hosts, and whether they are known and differ.
func (b *Book) sitesApart(from, to string) (a, z string, two bool) {
	a, known := b.sites[from]
	z, alsoKnown := b.sites[to]
	return a, z, known && alsoKnown && a != z
}

// areTogether reports whether two hosts are known to be of one site.
func (b *Book) areTogether(one, other string) bool {
	a, known := b.sites[one]
	z, alsoKnown := b.sites[other]
	return known && alsoKnown && a == z
}

// directForecast is what was measured between two hosts; if it was not in this
// direction, what was in the other; and whether that is too long ago to count where
// there is something else.
func (b *Book) directForecast(from, to string, now core.Time, over time.Duration) (w PathForecast, ok, late bool) {
	s, ok := b.findSeries(Key{measured.Mbps, from, to}, now, over)
	if !ok || s.isLate(now) {
		if back, alsoOK := b.findSeries(Key{measured.Mbps, to, from}, now, over); alsoOK && (!ok || !back.isLate(now)) {
			s, ok = back, true
		}
	}
	if !ok {
		return PathForecast{}, false, false
	}
	spread := s.spreadOf()
	if late = s.isLate(now); late {
		spread = max(spread, described)
	}
	w = PathForecast{Mbps: predict.LogNormal(max(s.Next.Value, leastMbps), spread), At: s.At, Of: [2]string{from, to}}
	if l, ok := b.findSeries(Key{measured.Ms, from, to}, now, over); ok {
		w.Ms = l.Next.Value
	}
	return w, true, late
}

// isLate reports whether a bandwidth was measured so long ago that a description says
// more: longer than usual for a way that is measured rarely.
func (s *Series) isLate(now core.Time) bool {
	const missed = 4 // values that should have come
	return now.Sub(s.At) > max(tooOld, missed*s.Step)
}

// leastMbps is what a way carries on which nothing gets through.
const leastMbps = 0.001

// standIns are, for every two sites, the hosts between which was measured last.
func (b *Book) standIns() map[[2]string][2]string {
	list, when := map[[2]string][2]string{}, map[[2]string]core.Time{}
	for k, f := range b.series { // order-free: the last, and of several the first by name
		a, known := b.sites[k.From]
		z, alsoKnown := b.sites[k.To]
		if k.What != measured.Mbps || !known || !alsoKnown || a == z {
			continue
		}
		at, _, _ := f.LastValue()
		for _, x := range []struct {
			sites, hosts [2]string
			worse        core.Time // the other direction has to do
		}{{[2]string{a, z}, [2]string{k.From, k.To}, 0}, {[2]string{z, a}, [2]string{k.To, k.From}, 1}} {
			was, there := list[x.sites]
			if t := at - x.worse; !there || t > when[x.sites] || t == when[x.sites] && x.hosts[0]+" "+x.hosts[1] < was[0]+" "+
				was[1] {
				list[x.sites], when[x.sites] = x.hosts, t
			}
		}
	}
	return list
}

// NetworkGraph is the network as it will be over some time, between these hosts: what
// both directions of a pair have at least. Pairs of one site of which nothing is
// known are taken to have what both have to a third.
func (b *Book) NetworkGraph(hosts []string, now core.Time, over time.Duration) *nodesel.Network {
	b.mu.Lock()
	defer b.mu.Unlock()
	others := b.standIns()
	g := &nodesel.Network{Hosts: hosts}
	n := len(hosts)
	k := pairBandwidths{n: n, mbps: make([]float64, n*n), near: make([][]int, n)}
	ms := make([]float64, n*n)
	for i := range n {
		for j := range i {
			there, ok := b.forecastBetween(hosts[i], hosts[j], now, over, others)
			back, alsoOK := b.forecastBetween(hosts[j], hosts[i], now, over, others)
			if ok && alsoOK {
				k.setBandwidth(i, j, min(there.Mbps.Median(), back.Mbps.Median()))
				ms[i*n+j] = there.Ms
			}
		}
	}
	for i := range n {
		for j := range i {
			x := k.mbps[i*n+j]
			if x == 0 && b.areTogether(hosts[i], hosts[j]) {
				x = k.widestVia(i, j)
			}
			if x > 0 {
				g.Links = append(g.Links, nodesel.Link{A: j, B: i, Mbps: x, Ms: ms[i*n+j]})
			}
		}
	}
	g.CPU = b.cpuShares(hosts, now, over)
	return g
}

// pairBandwidths is what pairs of n hosts have; 0: nothing is known of them.
type pairBandwidths struct {
	n    int
	mbps []float64
	near [][]int // for each host those to which the way is known
}

func (k *pairBandwidths) setBandwidth(i, j int, mbps float64) {
	k.mbps[i*k.n+j], k.mbps[j*k.n+i] = mbps, mbps
	k.near[i], k.near[j] = append(k.near[i], j), append(k.near[j], i)
}

// widestVia is what two hosts have by way of a third, at best.
func (k *pairBandwidths) widestVia(i, j int) float64 {
	best := 0.0
	for _, third := range k.near[i] {
		best = max(best, min(k.mbps[i*k.n+third], k.mbps[third*k.n+j]))
	}
	return best
}

// cpuShares are the shares of processors that the hosts have free; nil if nothing is
// known of any. What is not known is taken to be all of it.
func (b *Book) cpuShares(hosts []string, now core.Time, over time.Duration) []float64 {
	var list []float64
	for i, h := range hosts {
		s, ok := b.findSeries(Key{What: measured.CPU, From: h}, now, over)
		if !ok || now.Sub(s.At) > tooOld {
			continue
		}
		if list == nil {
			list = make([]float64, len(hosts))
			for k := range list {
				list[k] = 1
			}
		}
		list[i] = math.Max(0.01, math.Min(1, s.Next.Value))
	}
	return list
}
