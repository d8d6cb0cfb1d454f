package nodesel

import (
	"math"
	"slices"
)

// routes knows which links the widest path of each pair of hosts takes. Of paths
// that are equally wide it takes the one with fewest links.
type routes struct {
	n     int
	links [][]int32 // by pair, u*n+v with v < u; nil: no connection
	mbps  []float64 // by link
}

// findRoutes finds the paths of all pairs: one search a host.
func (n *Network) findRoutes() *routes {
	hosts, all := len(n.Hosts), len(n.Hosts)+len(n.Routers)
	r := &routes{n: hosts, links: make([][]int32, hosts*hosts)}
	near := make([][]hop, all)
	for i, l := range n.Links {
		r.mbps = append(r.mbps, l.Mbps)
		near[l.A] = append(near[l.A], hop{int32(i), l.B, l.Mbps})
		near[l.B] = append(near[l.B], hop{int32(i), l.A, l.Mbps})
	}
	for h := range hosts {
		r.findFrom(h, near)
	}
	return r
}

// hop is a link seen from one of its ends.
type hop struct {
	link int32
	to   int
	mbps float64
}

// findFrom finds the paths of one host to those with smaller numbers: Dijkstra's
// search for the widest way, then the one with fewest links, over an array as the
// networks are small.
func (r *routes) findFrom(host int, near [][]hop) {
	width := make([]float64, len(near))
	length := make([]int, len(near))
	via := make([]hop, len(near)) // to: where from
	done := make([]bool, len(near))
	width[host] = math.Inf(1)
	for {
		at := -1
		for v, w := range width {
			if !done[v] && w > 0 && (at < 0 || w > width[at] || w == width[at] && length[v] < length[at]) {
				at = v
			}
		}
		if at < 0 {
			break
		}
		done[at] = true
		if at < r.n && at != host {
			continue // a path ends at a host
		}
		for _, e := range near[at] {
			w := math.Min(width[at], e.mbps)
			if !done[e.to] && (w > width[e.to] || w == width[e.to] && length[at]+1 < length[e.to]) {
				width[e.to], length[e.to], via[e.to] = w, length[at]+1, hop{e.link, at, e.mbps}
			}
		}
	}
	for v := range host {
		for at := v; done[v] && at != host; at = via[at].to {
			r.links[host*r.n+v] = append(r.links[host*r.n+v], via[at].link)
		}
	}
}

// linksBetween lists the links between two hosts.
func (r *routes) linksBetween(u, v int) []int32 { return r.links[max(u, v)*r.n+min(u, v)] }

// numberAlike gives hosts that can be exchanged for one another the same number: each
// hangs on one link of its own, at the same router and of the same bandwidth, and
// is capped alike.
func (n *Network) numberAlike(b *Bandwidths) []int {
	type place struct {
		router    int
		mbps, cap float64
	}
	at := make([][]place, len(n.Hosts))
	for _, l := range n.Links {
		for _, end := range [][2]int{{l.A, l.B}, {l.B, l.A}} {
			if end[0] < len(n.Hosts) {
				at[end[0]] = append(at[end[0]], place{end[1], l.Mbps, b.mostOf(end[0])})
			}
		}
	}
	numbers := make([]int, len(n.Hosts))
	var seen []place
	for h, list := range at {
		numbers[h] = len(n.Hosts) + h // like nobody else
		if len(list) != 1 || list[0].router < len(n.Hosts) {
			continue
		}
		i := slices.Index(seen, list[0])
		if i < 0 {
			i, seen = len(seen), append(seen, list[0])
		}
		numbers[h] = i
	}
	return numbers
}
