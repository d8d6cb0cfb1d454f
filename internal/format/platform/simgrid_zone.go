package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/godwit-hpc/godwit/internal/format/yamlfile"
)

// A zone is a part of a SimGrid platform with its own way of routing. Its
// members are hosts, routers and further zones, numbered as they are declared.
type zone struct {
	name    string
	routing string
	line    int
	parent  *zone
	id      int // among the members of its parent
	depth   int
	members int
	inner   map[int]*zone // the members that are zones
	hosts   []int         // of each of our hosts its number
	router  int           // the first router, or -1
	gateway int           // the first member that other zones' routes lead to, or -1
	front   int           // its front end
	cluster int           // ours, or -1 when no host is a member
	table   table
}

// A table knows the ways between the members of one zone.
type table interface {
	// legsBetween is the legs from one member to another, or nil if there is no
	// way. It has at least one leg otherwise, which may cross no link.
	legsBetween(src, dst int) []leg
	loopbackLinks(id int) []int
}

// A leg is a way between two members. Where they are zones, it begins and ends
// at gateways within them.
type leg struct {
	links    []int
	extraMs  float64
	from, to point
}

// A point is a member of a zone.
type point struct {
	zone *zone
	id   int
}

func (z *zone) addMember() int {
	z.members++
	return z.members - 1
}

// chooseFrontEnd takes the gateway to other zones, else the first router, else
// the first host.
func (z *zone) chooseFrontEnd() {
	switch {
	case z.gateway >= 0:
		z.front = z.gateway
	case z.router >= 0:
		z.front = z.router
	default:
		z.front = z.hosts[0]
	}
}

var routings = []string{"Full", "Floyd", "Dijkstra", "DijkstraCache", "Cluster", "Vivaldi", "None"}

// newZone enters a zone into its parent.
func (g *simGrid) newZone(parent *zone, e *element, routing string) *zone {
	name := e.attrs["id"]
	g.claimName(e.line, attributeName(e.name, "id"), name)
	z := &zone{name: name, routing: routing, line: e.line, parent: parent, router: -1, gateway: -1, cluster: -1}
	if parent != nil {
		z.depth = parent.depth + 1
		z.id = parent.addMember()
		if parent.inner == nil {
			parent.inner = map[int]*zone{}
		}
		parent.inner[z.id] = z
	}
	g.zones[name] = z
	return z
}

func (g *simGrid) declareZone(parent *zone, e *element) *zone {
	if e.name == "cluster" {
		return g.declareCluster(parent, e)
	}
	g.checkAttributes(e, "id!", "routing!")
	i := slices.IndexFunc(routings, func(s string) bool { return strings.EqualFold(s, e.attrs["routing"]) })
	if i < 0 {
		g.reportValue(e, "routing", "one of "+strings.Join(routings, ", "))
		return nil
	}
	z := g.newZone(parent, e, routings[i])
	var star *starTable
	switch z.routing {
	case "Full":
		z.table = &fullTable{}
	case "Floyd":
		z.table = &shortestTable{zone: z, floyd: true}
	case "Dijkstra", "DijkstraCache":
		z.table = &shortestTable{zone: z}
	case "Cluster", "Vivaldi":
		star = &starTable{}
		z.table = star
	case "None":
		z.table = noTable{}
	}
	g.deferred = append(g.deferred, &zoneWork{z, e})
	for _, child := range e.children {
		if !g.hasFailed() {
			g.declareMember(z, star, child)
		}
	}
	if z.routing == "Cluster" && !g.hasFailed() {
		g.fillCluster(z, star, e)
	}
	return z
}

func (g *simGrid) declareMember(z *zone, star *starTable, e *element) {
	inCluster := z.routing == "Cluster"
	switch {
	case e.name == "zone", e.name == "AS", e.name == "cluster":
		g.declareZone(z, e)
	case e.name == "host":
		g.declareHost(z, e)
	case e.name == "router":
		g.checkAttributes(e, "id!", "coordinates")
		id := g.addRouter(z, e.line, "<router> id", e.attrs["id"])
		g.readCoords(point{z, id}, e)
	case e.name == "peer" && z.routing == "Vivaldi":
		g.declarePeer(z, star, e)
	case e.name == "link":
		g.declareLink(e)
	case inCluster && (e.name == "backbone" || e.name == "cabinet" || e.name == "host_link"):
		// Read by fillCluster when all hosts and links are known.
	case e.name == "route", e.name == "zoneRoute", e.name == "ASroute", e.name == "prop":
		// Routes are read when everything is declared.
	case g.ignoreTraces(e):
	default:
		g.reportMisplaced(e, "zone "+z.name+" with routing "+z.routing, "zone", "cluster", "host", "router", "link", "route",
			"zoneRoute")
	}
}

func (g *simGrid) declareHost(z *zone, e *element) {
	g.checkAttributes(e, "id!", "speed!", "core", "pstate", "coordinates", "availability_file", "speed_file", "state_file")
	h := Host{Name: e.attrs["id"], Cores: g.readCores(e), Speed: g.readSpeed(e)}
	for _, child := range e.children {
		switch child.name {
		case "prop":
		case "disk":
			g.ignoreElement("<disk> is not imported: files are read and written at no cost")
		default:
			g.reportMisplaced(child, "<host>", "prop", "disk")
		}
	}
	g.ignoreProfiles(e)
	id := g.addHost(z, e.line, "<host> id", h)
	g.readCoords(point{z, id}, e)
}

func (g *simGrid) ignoreProfiles(e *element) {
	g.ignoreAttr(e, "load and failures come from scenarios", "availability_file", "speed_file", "state_file",
		"bandwidth_file", "latency_file")
}

func (g *simGrid) readCores(e *element) int {
	s, ok := e.attrs["core"]
	if !ok {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxCores {
		g.reportValue(e, "core", fmt.Sprintf("a whole number from 1 to %d", maxCores))
		return 1
	}
	return n
}

// readSpeed is relative to 1 Gf/s. Of several power states it takes the one that
// the host begins in.
func (g *simGrid) readSpeed(e *element) float64 {
	states := strings.Split(e.attrs["speed"], ",")
	state := 0
	if s, ok := e.attrs["pstate"]; ok {
		v, ok := yamlfile.ParseNumber(s)
		state = int(v)
		if !ok || v < 0 || v >= float64(len(states)) {
			g.reportValue(e, "pstate", fmt.Sprintf("a number from 0 to %d, one of the speeds given", len(states)-1))
			return 1
		}
	}
	if len(states) > 1 {
		g.ignoreElement("<" + e.name + "> speed: of several power states only the first in use is imported")
	}
	one := element{name: e.name, line: e.line, attrs: map[string]string{"speed": states[state]}}
	return g.readQuantity(&one, "speed", inGflops, false)
}

// declareLink reads a link; a SPLITDUPLEX one becomes two, named _UP and _DOWN.
func (g *simGrid) declareLink(e *element) {
	g.checkAttributes(e, "id!", "bandwidth!", "latency", "sharing_policy", "bandwidth_file", "latency_file", "state_file")
	g.ignoreProfiles(e)
	l := Link{Mbps: g.readQuantity(e, "bandwidth", inMbps, false)}
	if _, ok := e.attrs["latency"]; ok {
		l.Ms = g.readQuantity(e, "latency", inMs, true)
	}
	policy := g.readPolicy(e, "sharing_policy", "SHARED", "SHARED", "SPLITDUPLEX", "FATPIPE")
	l.Shared = policy != "FATPIPE"
	g.addLinks(e.line, 1, l, policy == "SPLITDUPLEX", func(int) string { return e.attrs["id"] })
}

// readPolicy reads how a link is shared; FULLDUPLEX is the old name of SPLITDUPLEX.
func (g *simGrid) readPolicy(e *element, attr, otherwise string, known ...string) string {
	s, ok := e.attrs[attr]
	if !ok {
		return otherwise
	}
	if s == "FULLDUPLEX" && slices.Contains(known, "SPLITDUPLEX") {
		return "SPLITDUPLEX"
	}
	if !slices.Contains(known, s) {
		g.reportValue(e, attr, "one of "+strings.Join(known, ", "))
	}
	return s
}
