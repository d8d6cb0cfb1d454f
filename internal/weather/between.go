package weather

import (
	"math"
	"time"

	"github.com/godwit-hpc/godwit/internal/core"
	"github.com/godwit-hpc/godwit/internal/nodesel"
	"github.com/godwit-hpc/godwit/internal/predict"
	"github.com/godwit-hpc/godwit/internal/weather/measured"
)

// Way is what lies between two hosts.
type Way struct {
	Mbps predict.Dist // from one to the other
	Ms   float64      // 0: not known
	At   core.Time    // when it was measured; 0: it was not, a file says so
	Of   [2]string    // between whom: these two, or who stands for them
}

// Between is what lies between two hosts, from the first to the second, in the
// mean over some time: as measured between them; else between others of their
// sites; else as the description of the network has it.
func (b *Book) Between(from, to string, now core.Time, over time.Duration) (Way, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.between(from, to, now, over, b.standIns())
}

func (b *Book) between(from, to string, now core.Time, over time.Duration, others map[[2]string][2]string) (Way, bool) {
	if w, ok := b.direct(from, to, now, over); ok {
		return w, true
	}
	a, known := b.sites[from]
	z, alsoKnown := b.sites[to]
	if known && alsoKnown && a != z {
		if pair, ok := others[[2]string{a, z}]; ok {
			return b.direct(pair[0], pair[1], now, over)
		}
	}
	return b.static.between(from, to)
}

// direct is what was measured between two hosts; if it was not in this
// direction, what was in the other.
func (b *Book) direct(from, to string, now core.Time, over time.Duration) (Way, bool) {
	s, ok := b.one(Key{measured.Mbps, from, to}, now, over)
	if !ok {
		if s, ok = b.one(Key{measured.Mbps, to, from}, now, over); !ok {
			return Way{}, false
		}
	}
	w := Way{Mbps: predict.LogNormal(max(s.Next.Value, leastMbps), s.spreadOf()), At: s.At, Of: [2]string{from, to}}
	if l, ok := b.one(Key{measured.Ms, from, to}, now, over); ok {
		w.Ms = l.Next.Value
	}
	return w, true
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
		at, _, _ := f.Last()
		for _, x := range []struct {
			sites, hosts [2]string
			worse        core.Time // the other direction has to do
		}{{[2]string{a, z}, [2]string{k.From, k.To}, 0}, {[2]string{z, a}, [2]string{k.To, k.From}, 1}} {
			was, there := list[x.sites]
			if t := at - x.worse; !there || t > when[x.sites] || t == when[x.sites] && x.hosts[0]+" "+x.hosts[1] < was[0]+" "+was[1] {
				list[x.sites], when[x.sites] = x.hosts, t
			}
		}
	}
	return list
}

// Graph is the network as it will be over some time, between these hosts: what
// both directions of a pair have at least. Pairs of one site of which nothing was
// measured are taken to have what both have to a third.
func (b *Book) Graph(hosts []string, now core.Time, over time.Duration) *nodesel.Network {
	b.mu.Lock()
	defer b.mu.Unlock()
	others := b.standIns()
	g := &nodesel.Network{Hosts: hosts}
	n := len(hosts)
	mbps, ms := make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		for j := range i {
			there, ok := b.between(hosts[i], hosts[j], now, over, others)
			if !ok {
				continue
			}
			back, _ := b.between(hosts[j], hosts[i], now, over, others)
			mbps[i*n+j] = min(there.Mbps.Median(), back.Mbps.Median())
			mbps[j*n+i] = mbps[i*n+j]
			ms[i*n+j] = there.Ms
		}
	}
	for i := range n {
		for j := range i {
			x := mbps[i*n+j]
			if x == 0 && b.sites[hosts[i]] == b.sites[hosts[j]] {
				x = widest(mbps, n, i, j)
			}
			if x > 0 {
				g.Links = append(g.Links, nodesel.Link{A: j, B: i, Mbps: x, Ms: ms[i*n+j]})
			}
		}
	}
	g.CPU = b.shares(hosts, now, over)
	return g
}

// widest is what two hosts have by way of a third, at best.
func widest(mbps []float64, n, i, j int) float64 {
	best := 0.0
	for k := range n {
		best = max(best, min(mbps[i*n+k], mbps[k*n+j]))
	}
	return best
}

// shares are the shares of processors that the hosts have free; nil if nothing is
// known of any.
func (b *Book) shares(hosts []string, now core.Time, over time.Duration) []float64 {
	var list []float64
	for i, h := range hosts {
		s, ok := b.one(Key{What: measured.CPU, From: h}, now, over)
		if !ok {
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
