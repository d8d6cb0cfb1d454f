package platform

import (
	"math"
	"time"
)

// FrontEnd, as the host of a Place, is the front end of its cluster: where
// files are staged to and from.
const FrontEnd = -1

// A RouteEnd is one end of a route: a host, or the front end of a cluster.
type RouteEnd struct {
	Cluster int
	Host    int // index within the cluster, or FrontEnd
}

// FrontEndOf is the front end of cluster c.
func FrontEndOf(c int) RouteEnd { return RouteEnd{Cluster: c, Host: FrontEnd} }

// A Route is what data crosses between two places.
type Route struct {
	Links []int   // indices into Platform.Links, in the order crossed
	Ms    float64 // latency of the whole way
	Mbps  float64 // of the narrowest link; +Inf when no link is crossed
}

// TransferSeconds is how long a file takes over the route when nobody else uses it:
// the latencies, and the bytes at the rate of the narrowest link.
func (r Route) TransferSeconds(bytes int64) float64 {
	return r.Ms/1e3 + 8*float64(bytes)/(r.Mbps*1e6)
}

// Latency is Ms as a duration, rounded to a nanosecond.
func (r Route) Latency() time.Duration {
	return time.Duration(math.Round(r.Ms * 1e6))
}

// A router knows the ways through one kind of platform.
type router interface {
	// walkRoute appends the links from one place to another to links. extraMs is
	// latency that no link accounts for; ok is false when there is no way.
	walkRoute(from, to RouteEnd, links []int) (_ []int, extraMs float64, ok bool)
	// loopbackRoute appends the links by which a host reaches itself.
	loopbackRoute(at RouteEnd, links []int) []int
}

// FindRoute finds the way from one place to another; false means that they cannot
// reach each other. The way from a place to itself is empty and takes no time.
// Nothing is stored per pair of hosts: a caller that asks for the same pair
// often keeps the answer.
func (p *Platform) FindRoute(from, to RouteEnd) (Route, bool) {
	if from == to {
		return Route{Mbps: math.Inf(1)}, true
	}
	links, extraMs, ok := p.router.walkRoute(from, to, nil)
	if !ok {
		return Route{}, false
	}
	return p.measureRoute(links, extraMs), true
}

// LoopbackRoute is what a host's messages to itself cross where the platform says
// so (SimGrid's loopback links); elsewhere it is the empty route.
func (p *Platform) LoopbackRoute(host RouteEnd) Route {
	return p.measureRoute(p.router.loopbackRoute(host, nil), 0)
}

func (p *Platform) measureRoute(links []int, extraMs float64) Route {
	r := Route{Links: links, Ms: extraMs, Mbps: math.Inf(1)}
	for _, l := range links {
		r.Ms += p.Links[l].Ms
		r.Mbps = min(r.Mbps, p.Links[l].Mbps)
	}
	return r
}
