package platform

import (
	"strconv"
	"strings"
)

// clusterLinks are the links of a <cluster> beyond those of its topology.
type clusterLinks struct {
	loop    family // of each host to itself
	limiter family // of each host: bounds what it sends and receives together
}

func (c clusterLinks) loopbackLinks(id int) []int {
	if c.loop.width == 0 {
		return nil
	}
	return []int{c.loop.upLink(id)}
}

// appendLimiter appends the limiter of a host, if there are limiters.
func (c clusterLinks) appendLimiter(links []int, id int) []int {
	if c.limiter.width == 0 {
		return links
	}
	return append(links, c.limiter.upLink(id))
}

// declareCluster reads a <cluster>: equal hosts, numbered by their radical, and
// a router by which the rest of the platform reaches them.
func (g *simGrid) declareCluster(parent *zone, e *element) *zone {
	g.checkAttributes(e, "id!", "prefix!", "suffix!", "radical!", "speed!", "core", "bw!", "lat!", "sharing_policy",
		"topology", "topo_parameters", "bb_bw", "bb_lat", "bb_sharing_policy", "router_id",
		"limiter_link", "loopback_bw", "loopback_lat")
	for _, child := range e.children {
		if child.name != "prop" {
			g.reportMisplaced(child, "<cluster>", "prop")
		}
	}
	z := g.newZone(parent, e, "Cluster")
	h := Host{Cores: g.readCores(e), Speed: g.readSpeed(e)}
	numbers := g.readRadical(e)
	prefix, suffix := e.attrs["prefix"], e.attrs["suffix"]
	for _, n := range numbers {
		h.Name = prefix + strconv.Itoa(n) + suffix
		if g.addHost(z, e.line, "<cluster> radical", h); g.hasFailed() {
			return nil
		}
	}
	router := e.attrs["router_id"]
	if router == "" {
		router = prefix + z.name + "_router" + suffix
	}
	g.addRouter(z, e.line, "<cluster> router", router)
	if g.hasFailed() {
		return nil
	}
	g.connectCluster(z, e, numbers)
	return z
}

// connectCluster makes the links of a <cluster> and its table.
func (g *simGrid) connectCluster(z *zone, e *element, numbers []int) {
	cable := g.clusterLink(e, "bw", "lat")
	policy := g.readPolicy(e, "sharing_policy", "SPLITDUPLEX", "SHARED", "SPLITDUPLEX", "FATPIPE")
	cable.Shared = policy != "FATPIPE"
	split := policy == "SPLITDUPLEX"

	topology := g.readPolicy(e, "topology", "FLAT", "FLAT", "TORUS", "FAT_TREE", "DRAGONFLY")
	if topology != "FLAT" {
		g.ignoreAttr(e, "only flat clusters have a backbone", "bb_bw", "bb_lat", "bb_sharing_policy")
	}
	if g.hasFailed() {
		return
	}
	own := g.ownLinks(z, e, numbers)
	if g.hasFailed() {
		return
	}
	shape := clusterShape{z: z, e: e, hosts: len(numbers), cable: cable, split: split, own: own}
	switch topology {
	case "FLAT":
		z.table = g.newFlat(shape, numbers)
	case "TORUS":
		z.table = g.newTorus(shape)
	case "FAT_TREE":
		z.table = g.newFatTree(shape)
	case "DRAGONFLY":
		z.table = g.newDragonfly(shape)
	}
}

// A clusterShape is what the topologies are made from.
type clusterShape struct {
	z     *zone
	e     *element
	hosts int
	cable Link
	split bool
	own   clusterLinks
}

func (g *simGrid) clusterLink(e *element, bw, lat string) Link {
	l := Link{Mbps: g.readQuantity(e, bw, inMbps, false), Shared: true}
	if e.attrs[lat] != "" {
		l.Ms = g.readQuantity(e, lat, inMs, true)
	}
	return l
}

// isDescribed tells whether a link that a cluster need not have is described; a
// latency of 0 alone does not.
func (g *simGrid) isDescribed(e *element, bw, lat string) bool {
	return e.attrs[bw] != "" || e.attrs[lat] != "" && g.readQuantity(e, lat, inMs, true) > 0
}

func (g *simGrid) ownLinks(z *zone, e *element, numbers []int) clusterLinks {
	name := func(suffix string) func(int) string {
		return func(i int) string { return z.name + "_link_" + strconv.Itoa(numbers[i]) + suffix }
	}
	var own clusterLinks
	if g.isDescribed(e, "loopback_bw", "loopback_lat") {
		l := g.clusterLink(e, "loopback_bw", "loopback_lat")
		l.Shared = false
		own.loop = g.addLinks(e.line, len(numbers), l, false, name("_loopback"))
	}
	if e.attrs["limiter_link"] != "" {
		l := Link{Mbps: g.readQuantity(e, "limiter_link", inMbps, false), Shared: true}
		limiter := name("_limiter")
		if topology := e.attrs["topology"]; topology != "" && topology != "FLAT" {
			limiter = func(i int) string { return z.name + "_link_" + strconv.Itoa(i) + "_limiter" }
		}
		own.limiter = g.addLinks(e.line, len(numbers), l, false, limiter)
	}
	return own
}

// limitSwitches gives the switches of a topology the same limiters as the
// hosts. SimGrid numbers them down from twice the number of hosts.
func (g *simGrid) limitSwitches(s clusterShape, switches int) family {
	if s.own.limiter.width == 0 || g.hasFailed() {
		return family{}
	}
	return g.addLinks(s.e.line, switches, g.p.Links[s.own.limiter.first], false, func(i int) string {
		if id := 2*s.hosts - 1 - i; id >= s.hosts {
			return s.z.name + "_link_" + strconv.Itoa(id) + "_limiter"
		}
		return s.z.name + "_switch_" + strconv.Itoa(i) + "_limiter"
	})
}

// A flatTable is a cluster whose hosts hang on one router, over a backbone if
// there is one.
type flatTable struct {
	clusterLinks
	hosts    int
	cable    family
	backbone family
}

func (g *simGrid) newFlat(s clusterShape, numbers []int) *flatTable {
	t := &flatTable{clusterLinks: s.own, hosts: s.hosts}
	t.cable = g.addLinks(s.e.line, s.hosts, s.cable, s.split, func(i int) string {
		return s.z.name + "_link_" + strconv.Itoa(numbers[i])
	})
	if g.isDescribed(s.e, "bb_bw", "bb_lat") {
		l := g.clusterLink(s.e, "bb_bw", "bb_lat")
		l.Shared = g.readPolicy(s.e, "bb_sharing_policy", "SHARED", "SHARED", "FATPIPE") == "SHARED"
		t.backbone = g.addLinks(s.e.line, 1, l, false, func(int) string { return s.z.name + "_backbone" })
	}
	return t
}

func (t *flatTable) legsBetween(src, dst int) []leg {
	var links []int
	if src < t.hosts {
		links = append(t.appendLimiter(links, src), t.cable.upLink(src))
	}
	if t.backbone.width > 0 {
		links = append(links, t.backbone.upLink(0))
	}
	if dst < t.hosts {
		links = t.appendLimiter(append(links, t.cable.downLink(dst)), dst)
	}
	return []leg{{links: links}}
}

// numbersIn reads whole numbers above 0, separated by commas; nil if they are
// none, or so many that their product is above most.
func numbersIn(s string, most int) []int {
	var list []int
	product := 1
	for _, word := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > most/product {
			return nil
		}
		product *= n
		list = append(list, n)
	}
	return list
}

func productOf(list []int) int {
	p := 1
	for _, n := range list {
		p *= n
	}
	return p
}
