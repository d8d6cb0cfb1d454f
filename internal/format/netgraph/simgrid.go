package netgraph

import (
	"math"
	"strconv"

	"github.com/godwit-hpc/godwit/internal/format/badinput"
	"github.com/godwit-hpc/godwit/internal/format/platform"
	"github.com/godwit-hpc/godwit/internal/sched/nodesel"
)

const (
	// maxSimGridHosts bounds the routes of a platform, one a pair of hosts.
	maxSimGridHosts = 2000
	// withoutLinks is the Mbit/s of two hosts that reach each other over no link at all.
	withoutLinks = 1e9
)

// parseSimGrid reads the hosts of a platform. A platform says by which route two
// hosts reach each other, so that each pair has the bandwidth of its route, the worse
// direction of the two.
func parseSimGrid(name string, data []byte) (*nodesel.Network, error) {
	p, err := platform.Parse(name, data)
	if err != nil {
		return nil, err
	}
	n := &nodesel.Network{}
	var places []platform.RouteEnd
	for c := range p.Clusters {
		for h, host := range p.Clusters[c].Hosts {
			n.Hosts = append(n.Hosts, host.Name)
			places = append(places, platform.RouteEnd{Cluster: c, Host: h})
		}
	}
	if len(places) < 2 || len(places) > maxSimGridHosts {
		return nil, &badinput.Error{File: name, Field: "hosts", Value: strconv.Itoa(len(places)),
			Want: "from 2 to " + strconv.Itoa(maxSimGridHosts) + " hosts of a SimGrid platform"}
	}
	for i, a := range places {
		for j, b := range places[:i] {
			there, ok := p.FindRoute(a, b)
			back, okBack := p.FindRoute(b, a)
			if mbps := math.Min(there.Mbps, back.Mbps); ok && okBack && mbps > 0 {
				n.Links = append(n.Links, nodesel.Link{A: j, B: i, Mbps: math.Min(mbps, withoutLinks),
					Ms: math.Max(there.Ms, back.Ms)})
			}
		}
	}
	return n, nil
}
