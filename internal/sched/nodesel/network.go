package nodesel

import (
	"fmt"
	"math"
	"slices"

	"github.com/godwit-hpc/godwit/internal/sched/heap"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel/match"
)

// Network is the network status graph: hosts are numbered from 0, routers
// follow them.
type Network struct {
	Hosts   []string
	Routers []string
	Links   []Link
	CPU     []float64 // share of a processor that each host has free; nil: all of it
}

// Link is a connection of two hosts or routers, by number.
type Link struct {
	A, B int
	Mbps float64
	Ms   float64 // latency, of which the choice of hosts takes no account
}

// Bandwidths holds what every pair of hosts can have, in Mbit/s; 0 is no
// connection. It is symmetric.
type Bandwidths struct {
	n    int
	mbps []float64
	most []float64 // the value that a choice with this host can have at most; nil: any
}

// NewBandwidths is a table for n hosts without any connection.
func NewBandwidths(n int) *Bandwidths { return &Bandwidths{n: n, mbps: make([]float64, n*n)} }

// HostCount is the number of hosts.
func (b *Bandwidths) HostCount() int { return b.n }

// PairBandwidth is the bandwidth between two hosts.
func (b *Bandwidths) PairBandwidth(u, v int) float64 { return b.mbps[u*b.n+v] }

// RaisePair sets the bandwidth of a pair, unless it has more already.
func (b *Bandwidths) RaisePair(u, v int, mbps float64) {
	if u != v && mbps > b.mbps[u*b.n+v] {
		b.mbps[u*b.n+v], b.mbps[v*b.n+u] = mbps, mbps
	}
}

// CapHost says that no choice with this host is worth more: its processor, say, is
// too busy to keep pace with a faster network.
func (b *Bandwidths) CapHost(host int, value float64) {
	if b.most == nil {
		b.most = slices.Repeat([]float64{math.Inf(1)}, b.n)
	}
	b.most[host] = math.Min(b.most[host], value)
}

// mostOf is what a choice with this host can be worth.
func (b *Bandwidths) mostOf(host int) float64 {
	if b.most == nil {
		return math.Inf(1)
	}
	return b.most[host]
}

// allHosts lists them.
func (b *Bandwidths) allHosts() []int {
	hosts := make([]int, b.n)
	for h := range hosts {
		hosts[h] = h
	}
	return hosts
}

// thresholdTarget is the graph of what reaches a value among the allowed hosts.
func (b *Bandwidths) thresholdTarget(s *match.Shape, allowed []int, value float64) *match.Target {
	if b.most != nil {
		allowed = slices.Clone(allowed)
		allowed = slices.DeleteFunc(allowed, func(h int) bool { return b.most[h] < value })
	}
	return match.ThresholdTarget(s, allowed, b.mbps, b.n, value)
}

// WidestBandwidths gives each pair of hosts its widest path: the one whose narrowest
// link is widest. A path passes routers but no other host.
func (n *Network) WidestBandwidths() (*Bandwidths, error) {
	p := &paths{b: NewBandwidths(len(n.Hosts))}
	return p.b, p.findAll(n)
}

// WidestLatencies gives each pair of hosts the latency of its widest path, in ms, beside
// the bandwidth. Of paths that are met as equally wide the shorter one counts.
func (n *Network) WidestLatencies() (b *Bandwidths, ms func(u, v int) float64, err error) {
	p := &paths{b: NewBandwidths(len(n.Hosts))}
	if !slices.ContainsFunc(n.Links, func(l Link) bool { return l.Ms > 0 }) {
		return p.b, func(int, int) float64 { return 0 }, p.findAll(n)
	}
	p.ms = make([]float64, len(n.Hosts)*len(n.Hosts))
	return p.b, func(u, v int) float64 { return p.ms[u*p.b.n+v] }, p.findAll(n)
}

// paths is what is known of the paths between hosts.
type paths struct {
	b  *Bandwidths
	ms []float64 // by pair, u*n+v; nil: nobody asks
}

// offerPath takes a path if it is better than the one known.
func (p *paths) offerPath(u, v int, l Link) {
	switch old := p.b.PairBandwidth(u, v); {
	case p.ms == nil:
	case l.Mbps > old, l.Mbps == old && l.Ms < p.ms[u*p.b.n+v]:
		p.ms[u*p.b.n+v], p.ms[v*p.b.n+u] = l.Ms, l.Ms
	}
	p.b.RaisePair(u, v, l.Mbps)
}

// findAll looks at the paths between all hosts.
func (p *paths) findAll(n *Network) error {
	hosts, all := len(n.Hosts), len(n.Hosts)+len(n.Routers)
	near := make([][]Link, all) // the links at each end, A being that end
	for i, l := range n.Links {
		if l.A < 0 || l.B < 0 || l.A >= all || l.B >= all || l.A == l.B || !(l.Mbps > 0) || math.IsInf(l.Mbps, 1) {
			return fmt.Errorf("link %d between %d and %d with %g Mbit/s cannot be", i, l.A, l.B, l.Mbps)
		}
		if l.A < hosts && l.B < hosts {
			p.offerPath(l.A, l.B, l)
			continue
		}
		near[l.A] = append(near[l.A], l)
		near[l.B] = append(near[l.B], Link{A: l.B, B: l.A, Mbps: l.Mbps, Ms: l.Ms})
	}
	if len(n.Routers) == 0 {
		return nil
	}
	for h := range hosts {
		p.widestFrom(h, near)
	}
	return nil
}

// LargestPart is how many hosts are connected at most, over pairs that have any
// bandwidth, whatever the processors.
func (b *Bandwidths) LargestPart() int {
	return match.LargestPart(b.n, func(yield func(u, v int) bool) {
		for u := range b.n {
			for v := range u {
				if b.PairBandwidth(u, v) > 0 && !yield(u, v) {
					return
				}
			}
		}
	})
}

// widestFrom finds the widest paths that leave one host, in the manner of Dijkstra.
func (p *paths) widestFrom(from int, near [][]Link) {
	done := make([]bool, len(near))
	done[from] = true
	var q heap.Heap[pathEnd]
	for _, l := range near[from] {
		q.Push(pathEnd(l))
	}
	for len(q) > 0 {
		l := Link(q.Pop())
		if done[l.B] {
			continue
		}
		done[l.B] = true
		if l.B < p.b.n {
			p.offerPath(from, l.B, l)
			continue
		}
		for _, on := range near[l.B] {
			if !done[on.B] {
				q.Push(pathEnd{A: from, B: on.B, Mbps: math.Min(l.Mbps, on.Mbps), Ms: l.Ms + on.Ms})
			}
		}
	}
}

// pathEnd is where a path has come to: the widest first, of equal ones the fastest.
type pathEnd Link

func (p pathEnd) IsBefore(q pathEnd) bool { return p.Mbps > q.Mbps || p.Mbps == q.Mbps && p.Ms < q.Ms }

func (pathEnd) SetPosition(int) {}
