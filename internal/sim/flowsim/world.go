package flowsim

import (
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/flow"
)

// A Grid is the hosts of a platform as planning sees them, and where they are.
type Grid struct {
	Platform *platform.Platform
	Hosts    []flow.Host // those of one cluster are one class
	Places   []platform.RouteEnd
	Sites    int
	Route    func(from, to int) flow.Route // between sites; of those that no way joins it is zero
	Cut      [2]string                     // two clusters that no way joins; "" if there are none
}

// NewGrid turns clusters into sites; whole says that a cluster is one. Where it is
// not, every host has ways of its own and is a site by itself.
func NewGrid(p *platform.Platform, whole bool) *Grid {
	g := &Grid{Platform: p}
	var ends [][2]platform.RouteEnd // of each site two hosts, the same if it has one
	for c := range p.Clusters {
		for h, host := range p.Clusters[c].Hosts {
			here := platform.RouteEnd{Cluster: c, Host: h}
			if h == 0 || !whole {
				ends = append(ends, [2]platform.RouteEnd{here, here})
			} else {
				ends[len(ends)-1][1] = here
			}
			g.Hosts = append(g.Hosts, flow.Host{Name: host.Name, Site: len(ends) - 1, Cores: host.Cores, Speed: host.Speed,
				Memory: host.Memory, Class: c})
			g.Places = append(g.Places, here)
		}
	}
	g.Sites = len(ends)
	g.Route = func(from, to int) flow.Route {
		r, ok := p.FindRoute(ends[from][0], ends[to][1])
		if !ok {
			if g.Cut[0] == "" {
				g.Cut = [2]string{p.Clusters[ends[from][0].Cluster].Name, p.Clusters[ends[to][0].Cluster].Name}
			}
			return flow.Route{}
		}
		return flow.Route{Latency: r.Ms / 1e3, PerByte: 8 / (r.Mbps * 1e6)}
	}
	return g
}

// Load is that a host gives another share of its processors to our tasks from a
// moment on.
type Load struct {
	At    float64
	Host  int
	Share float64
}

// Outage is a host that is gone for a while; what ran there is lost.
type Outage struct {
	Host     int
	From, To float64 // seconds; no To: for good
}
